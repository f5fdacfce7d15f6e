//! The `word_delimiter` filter: splits words at changes of letter case, digits and delimiters, and catenates the
//! parts.
//!
//! Source: Lucene 4.10's `WordDelimiterFilter`.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use regex::Regex;

use super::lexeme::Lexeme;

/// Settings of a word delimiter filter.
#[derive(Clone, Debug)]
pub(super) struct WordDelimiter {
    pub(super) word_parts: bool,
    pub(super) number_parts: bool,
    pub(super) catenate_words: bool,
    pub(super) catenate_numbers: bool,
    pub(super) catenate_all: bool,
    pub(super) split_on_case_change: bool,
    pub(super) split_on_numerics: bool,
    pub(super) preserve_original: bool,
    pub(super) stem_english_possessive: bool,
    /// Words that are not split.
    pub(super) protected: HashSet<String>,
    /// Characters of other classes than by default.
    pub(super) classes: HashMap<char, CharClass>,
}

/// A class of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharClass {
    Lower,
    Upper,
    /// A letter without letter case.
    Letter,
    Digit,
    /// A letter and a digit: it is never separated from others.
    Alphanumeric,
    Delimiter,
}

impl CharClass {
    /// Returns a class by its name in the settings.
    pub(super) fn named(name: &str) -> Option<CharClass> {
        Some(match name {
            "LOWER" => CharClass::Lower,
            "UPPER" => CharClass::Upper,
            "ALPHA" => CharClass::Letter,
            "DIGIT" => CharClass::Digit,
            "ALPHANUM" => CharClass::Alphanumeric,
            "SUBWORD_DELIM" => CharClass::Delimiter,
            _ => return None,
        })
    }
}

/// General categories and their classes. The first that matches counts.
const CATEGORIES: [(&str, CharClass); 4] = [
    (r"\p{Lu}", CharClass::Upper),
    (r"\p{Ll}", CharClass::Lower),
    (r"[\p{L}\p{M}]", CharClass::Letter),
    (r"\p{N}", CharClass::Digit),
];

/// Returns the class of a character. Without a table of classes, Latin digits such as `½` are delimiters.
fn class_of(c: char, has_table: bool) -> CharClass {
    static COMPILED: OnceLock<Vec<(Regex, CharClass)>> = OnceLock::new();
    match c {
        c if c.is_lowercase() && c < '\u{100}' => CharClass::Lower,
        c if c.is_uppercase() && c < '\u{100}' => CharClass::Upper,
        c if c.is_ascii_digit() => CharClass::Digit,
        ..'\u{80}' => CharClass::Delimiter,
        ..'\u{100}' if !has_table => CharClass::Delimiter,
        _ => {
            let compiled = || {
                let compiled = CATEGORIES
                    .iter()
                    .map(|(category, class)| Some((Regex::new(category).ok()?, *class)));
                compiled.flatten().collect()
            };
            let mut text = [0; 4];
            let text = c.encode_utf8(&mut text);
            let mut classes = COMPILED.get_or_init(compiled).iter();
            let found = classes.find(|(category, _)| category.is_match(text));
            found.map_or(CharClass::Delimiter, |(_, class)| *class)
        }
    }
}

/// A part of a word: its byte range, and whether it is a word or a number. It can be both.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: usize,
    end: usize,
    is_word: bool,
    is_number: bool,
}

impl WordDelimiter {
    pub(super) fn apply(&self, tokens: Vec<Lexeme>) -> Vec<Lexeme> {
        let mut made = Made {
            tokens: Vec::new(),
            position: -1,
        };
        // The last position of the input, and the distance to the next token of the output.
        let (mut before, mut distance) = (-1, 0);
        for token in tokens {
            let increment = i64::from(token.position) - before;
            before = i64::from(token.position);
            distance += increment;
            let parts = self.parts(&token.text);
            let is_whole = matches!(parts.as_slice(), [only] if only.end - only.start == token.text.len());
            if is_whole || self.protected.contains(&token.text) {
                made.push(token, distance);
                distance = 0;
                continue;
            }
            if parts.is_empty() && !self.preserve_original {
                // A word of delimiters leaves no gap.
                distance -= i64::from(increment == 1 && !made.tokens.is_empty());
                continue;
            }
            if self.preserve_original {
                made.push(token.clone(), distance);
                distance = 0;
            }
            distance = self.split(&token, &parts, distance, &mut made);
        }
        made.tokens
    }

    fn class(&self, c: char) -> CharClass {
        let own = self.classes.get(&c).copied();
        own.unwrap_or_else(|| class_of(c, !self.classes.is_empty()))
    }

    /// Splits a word.
    fn parts(&self, text: &str) -> Vec<Part> {
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        let class = |at: usize| chars.get(at).map_or(CharClass::Delimiter, |(_, c)| self.class(*c));
        let place = |at: usize| chars.get(at).map_or(text.len(), |(place, _)| *place);
        let mut parts = Vec::new();
        let mut at = 0;
        while at < chars.len() {
            if class(at) == CharClass::Delimiter {
                at += 1;
                continue;
            }
            let start = at;
            at += 1;
            while at < chars.len() && class(at) != CharClass::Delimiter && !self.breaks(class(at - 1), class(at)) {
                at += 1;
            }
            parts.push(Part {
                start: place(start),
                end: place(at),
                is_word: class(start) != CharClass::Digit,
                is_number: matches!(class(start), CharClass::Digit | CharClass::Alphanumeric),
            });
            let quote = chars.get(at).is_some_and(|(_, c)| *c == '\'');
            let s = chars.get(at + 1).is_some_and(|(_, c)| matches!(c, 's' | 'S'));
            let is_letter = !matches!(class(at - 1), CharClass::Digit | CharClass::Delimiter);
            if self.stem_english_possessive && quote && s && is_letter && class(at + 2) == CharClass::Delimiter {
                at += 2;
            }
        }
        parts
    }

    /// Returns whether a word is split between two characters of these classes.
    fn breaks(&self, before: CharClass, after: CharClass) -> bool {
        let is_number = |class: CharClass| class == CharClass::Digit;
        if before == after || before == CharClass::Alphanumeric || after == CharClass::Alphanumeric {
            return false;
        }
        if is_number(before) || is_number(after) {
            return self.split_on_numerics;
        }
        // A word starts at an upper-case letter that follows a lower-case letter, but does not end at one.
        self.split_on_case_change && before == CharClass::Lower && after != CharClass::Letter
    }

    /// Adds the parts of a token and their catenations. Returns the distance to the next token.
    fn split(&self, token: &Lexeme, parts: &[Part], distance: i64, made: &mut Made) -> i64 {
        let is_generated = |part: &Part| part.is_word && self.word_parts || part.is_number && self.number_parts;
        let is_joined = |part: &Part| part.is_word && self.catenate_words || part.is_number && self.catenate_numbers;
        let mut places = Places {
            distance,
            has_token: false,
            is_after_original: !self.preserve_original,
        };
        if let [only] = parts
            && self.is_surrounded(&token.text, *only)
        {
            let distance = places.next(false);
            let mut own = joined(token, parts);
            // Unlike other parts, it starts after its delimiters even if the word has another length than in the text.
            own.start = Some(token.start + only.start)
                .filter(|start| *start <= own.end)
                .unwrap_or(own.start);
            made.push(own, distance);
            return places.distance;
        }
        // The tokens in the order in which they are found, with their distances to the previous one.
        let mut found: Vec<(Lexeme, i64)> = Vec::new();
        // Parts that are catenated.
        let mut run: Vec<Part> = Vec::new();
        let flush = |run: &mut Vec<Part>, places: &mut Places, found: &mut Vec<(Lexeme, i64)>| {
            // A single generated part is a token already.
            if run.len() > 1 || run.first().is_some_and(|only| !is_generated(only)) {
                found.push((joined(token, run), places.next(true)));
                places.distance = 0;
            }
            std::mem::take(run).len()
        };
        let mut count = 0;
        for part in parts {
            let is_other = |first: &Part| !(first.is_word && part.is_word || first.is_number && part.is_number);
            if run.first().is_some_and(is_other) {
                count = flush(&mut run, &mut places, &mut found);
                places.has_token = false;
            }
            if is_joined(part) {
                run.push(*part);
            }
            if is_generated(part) {
                found.push((joined(token, std::slice::from_ref(part)), places.next(false)));
            }
        }
        if !run.is_empty() {
            count = flush(&mut run, &mut places, &mut found);
        }
        if self.catenate_all && parts.len() > count {
            found.push((joined(token, parts), places.next(true)));
            places.distance = 0;
        }
        found.sort_by_key(|(own, distance)| (own.start, Reverse(*distance)));
        for (own, distance) in found {
            let is_first = made.tokens.is_empty();
            made.push(own, if is_first { distance.max(1) } else { distance });
        }
        places.distance
    }

    /// Returns whether a part is all of a word but the delimiters, and a possessive, around it.
    fn is_surrounded(&self, text: &str, part: Part) -> bool {
        let rest = text.get(part.end..).unwrap_or("");
        let is_delimiter = |c: char| self.class(c) == CharClass::Delimiter;
        let after = rest.strip_prefix("'s").or(rest.strip_prefix("'S")).unwrap_or(rest);
        after.chars().all(is_delimiter)
    }
}

/// The tokens of the output, and the position of the last one.
struct Made {
    tokens: Vec<Lexeme>,
    position: i64,
}

impl Made {
    fn push(&mut self, token: Lexeme, distance: i64) {
        self.position += distance;
        self.tokens.push(Lexeme {
            position: u32::try_from(self.position).unwrap_or(0),
            ..token
        });
    }
}

/// The places of the tokens of one word.
struct Places {
    /// Distance to the next token.
    distance: i64,
    has_token: bool,
    /// Whether no token of the word is at the position of the whole word.
    is_after_original: bool,
}

impl Places {
    /// Returns the distance of the next token to the one before it. `beside`: a catenation of others.
    fn next(&mut self, beside: bool) -> i64 {
        let has_token = std::mem::replace(&mut self.has_token, true);
        if !has_token && !std::mem::replace(&mut self.is_after_original, true) {
            return 0;
        }
        let distance = std::mem::take(&mut self.distance).max(1);
        if has_token && beside { 0 } else { distance }
    }
}

/// Returns the token of some parts of a word. If the word has another length than in the text, its offsets are those of
/// the word.
fn joined(token: &Lexeme, parts: &[Part]) -> Lexeme {
    let text = |part: &Part| token.text.get(part.start..part.end).unwrap_or("");
    let has_offsets = token.end.checked_sub(token.start) == Some(token.text.len());
    let (start, end) = match (has_offsets, parts) {
        (true, [first, .., last] | [first @ last]) => (token.start + first.start, token.start + last.end),
        _ => (token.start, token.end),
    };
    Lexeme {
        text: parts.iter().map(text).collect(),
        start,
        end,
        keyword: false,
        ..token.clone()
    }
}
