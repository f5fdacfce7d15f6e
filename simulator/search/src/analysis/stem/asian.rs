//! Stemmers of Arabic, Hindi, Indonesian and Sorani.
//!
//! Source: A. Ramanathan and D. Rao, "A lightweight stemmer for Hindi"; F. Tala, "A study of stemming effects on
//! information retrieval in Bahasa Indonesia"; L. Larkey et al., "Light stemming for Arabic information
//! retrieval"; Lucene 4.10's Sorani stemmer.

use super::endings::{Endings, cut, ending, length, strip};

const HINDI: [Endings; 5] = [
    (6, "ाएंगी ाएंगे ाऊंगी ाऊंगा ाइयाँ ाइयों ाइयां"),
    (
        5,
        "ाएगी ाएगा ाओगी ाओगे एंगी ेंगी एंगे ेंगे ूंगी ूंगा ातीं नाओं नाएं ताओं ताएं ियाँ ियों ियां",
    ),
    (4, "ाकर ाइए ाईं ाया ेगी ेगा ोगी ोगे ाने ाना ाते ाती ाता तीं ाओं ाएं ुओं ुएं ुआं"),
    (3, "कर ाओ िए ाई ाए ने नी ना ते ीं ती ता ाँ ां ों ें"),
    (2, "ो े ू ु ी ि ा"),
];

pub(super) fn hindi(word: &str) -> String {
    let mut word = word.to_owned();
    strip(&mut word, &HINDI);
    word
}

pub(super) fn sorani(word: &str) -> String {
    let mut word = word.to_owned();
    if !strip(&mut word, &[(5, "دا")]) {
        if length(&word) > 4 && word.ends_with("نا") {
            word.pop();
        } else {
            strip(&mut word, &[(6, "ەوە")]);
        }
    }
    strip(&mut word, &[(6, "مان یان تان")]);
    let nouns = [
        (6, "ێکی"),
        (7, "یەکی"),
        (5, "ێک"),
        (6, "یەک"),
        (6, "ەکە"),
        (5, "کە"),
        (7, "ەکان"),
        (6, "کان"),
        (7, "یانی"),
        (6, "انی"),
        (6, "یان"),
        (5, "ان"),
        (7, "یانە"),
        (6, "انە"),
    ];
    if strip(&mut word, &nouns) {
        return word;
    }
    if ending(&word, &[(5, "ایە ەیە")]).is_some() {
        cut(&mut word, "یە".len());
    } else {
        strip(&mut word, &[(4, "ە ی")]);
    }
    word
}

/// Removes articles, conjunctions and endings of Arabic words; at least two letters remain.
pub(super) fn arabic(text: &str) -> String {
    const PREFIXES: [&str; 7] = ["ال", "وال", "بال", "كال", "فال", "لل", "و"];
    const SUFFIXES: [&str; 10] = ["ها", "ان", "ات", "ون", "ين", "يه", "ية", "ه", "ة", "ي"];
    let mut stem = text;
    let prefix = PREFIXES.iter().find_map(|prefix| {
        let min_length = if length(prefix) == 1 { 3 } else { 2 };
        stem.strip_prefix(prefix).filter(|rest| length(rest) >= min_length)
    });
    stem = prefix.unwrap_or(stem);
    for suffix in SUFFIXES {
        let rest = stem.strip_suffix(suffix).filter(|rest| length(rest) >= 2);
        stem = rest.unwrap_or(stem);
    }
    stem.to_owned()
}

/// An Indonesian word and what is removed from it. Every removal leaves at least two syllables.
struct Indonesian {
    word: String,
    syllables: usize,
    /// The prefix, which forbids some suffixes.
    prefix: &'static str,
}

pub(super) fn indonesian(word: &str) -> String {
    let syllables = word.chars().filter(|c| is_vowel(*c)).count();
    let mut own = Indonesian {
        word: word.to_owned(),
        syllables,
        prefix: "",
    };
    own.strip(&["kah", "lah", "pun"]);
    own.strip(&["ku", "mu", "nya"]);
    if own.first_prefix() {
        if own.suffix() {
            own.second_prefix();
        }
    } else {
        own.second_prefix();
        own.suffix();
    }
    own.word
}

fn is_vowel(c: char) -> bool {
    matches!(c, 'a' | 'e' | 'i' | 'o' | 'u')
}

impl Indonesian {
    fn strip(&mut self, endings: &[&str]) -> bool {
        let found = endings.iter().find(|ending| self.word.ends_with(**ending));
        let found = found.filter(|_| self.syllables > 2);
        cut(&mut self.word, found.map_or(0, |ending| ending.len()));
        self.syllables -= usize::from(found.is_some());
        found.is_some()
    }

    /// Replaces the first prefix that matches. The last value of a rule is the letters that must follow; an empty text
    /// is any.
    fn replace_prefix(&mut self, rules: &[(&'static str, &str, &'static str)]) -> bool {
        if self.syllables <= 2 {
            return false;
        }
        let follows = |rest: &str, letters: &str| letters.is_empty() || rest.starts_with(|c| letters.contains(c));
        let found = rules.iter().find_map(|(prefix, new, letters)| {
            let rest = self.word.strip_prefix(prefix).filter(|rest| follows(rest, letters))?;
            Some((*prefix, format!("{new}{rest}")))
        });
        let Some((prefix, word)) = found else {
            return false;
        };
        (self.prefix, self.word) = (prefix, word);
        self.syllables -= 1;
        true
    }

    fn first_prefix(&mut self) -> bool {
        self.replace_prefix(&[
            ("meng", "", ""),
            ("meny", "s", "aeiou"),
            ("men", "", ""),
            ("mem", "", ""),
            ("me", "", ""),
            ("peng", "", ""),
            ("peny", "s", "aeiou"),
            ("peny", "", ""),
            ("pen", "t", "aeiou"),
            ("pen", "", ""),
            ("pem", "", ""),
            ("di", "", ""),
            ("ter", "", ""),
            ("ke", "", ""),
        ])
    }

    fn second_prefix(&mut self) -> bool {
        if self.word == "belajar" || self.word == "pelajar" {
            return self.replace_prefix(&[("bel", "", ""), ("pel", "", "")]);
        }
        let letters: Vec<char> = self.word.chars().skip(2).take(3).collect();
        let is_short = matches!(letters.as_slice(), [c, 'e', 'r'] if !is_vowel(*c));
        self.replace_prefix(&[("ber", "", ""), ("per", "", ""), ("pe", "", "")])
            || is_short && self.replace_prefix(&[("be", "", "")])
    }

    fn suffix(&mut self) -> bool {
        let prefix = self.prefix;
        if prefix != "ke" && (prefix == "per" || !prefix.starts_with('p')) && self.strip(&["kan"]) {
            return true;
        }
        if !matches!(prefix, "di" | "ter") && !prefix.starts_with('m') && self.strip(&["an"]) {
            return true;
        }
        let forbidden = matches!(prefix, "ke" | "peng" | "peny" | "pen" | "pem") || prefix.starts_with('b');
        !forbidden && !self.word.ends_with("si") && self.strip(&["i"])
    }
}
