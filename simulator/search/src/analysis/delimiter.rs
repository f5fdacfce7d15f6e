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

/// A part of a word: its byte range, and whether it is a number.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: usize,
    end: usize,
    is_number: bool,
}

impl WordDelimiter {
    pub(super) fn apply(&self, tokens: Vec<Lexeme>) -> Vec<Lexeme> {
        let mut made: Vec<Lexeme> = Vec::new();
        // The last positions of the output and of the input, and the distance to the next output.
        let (mut last, mut before, mut distance) = (-1, -1, 0);
        for mut token in tokens {
            let increment = i64::from(token.position) - before;
            before = i64::from(token.position);
            distance += increment;
            let parts = self.parts(&token.text);
            let is_whole = matches!(parts.as_slice(), [only] if only.end - only.start == token.text.len());
            let is_kept = is_whole || self.protected.contains(&token.text);
            if parts.is_empty() && !is_kept && !self.preserve_original {
                // A word of delimiters leaves no gap.
                distance -= i64::from(increment == 1 && !made.is_empty());
                continue;
            }
            let first = made.len();
            // Parts never share the position of a previous token.
            let is_original = is_kept || self.preserve_original;
            let place = last + if is_original { distance } else { distance.max(1) };
            token.position = u32::try_from(place).unwrap_or(0);
            if is_original {
                made.push(token.clone());
            }
            if !is_kept {
                self.split(&token, &parts, &mut made);
            }
            if let Some(end) = made.get(first..).and_then(<[_]>::last) {
                (last, distance) = (i64::from(end.position), 0);
            }
        }
        made
    }

    /// Splits a word.
    fn parts(&self, text: &str) -> Vec<Part> {
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        let class = |at: usize| {
            let letter = chars.get(at).map(|(_, c)| *c);
            letter.map_or(CharClass::Delimiter, |c| {
                self.classes
                    .get(&c)
                    .copied()
                    .unwrap_or_else(|| class_of(c, !self.classes.is_empty()))
            })
        };
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
                is_number: class(start) == CharClass::Digit,
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

    /// Adds the parts of a token and their catenations.
    fn split(&self, token: &Lexeme, parts: &[Part], made: &mut Vec<Lexeme>) {
        let has_offsets = token.end - token.start == token.text.len();
        let lexeme = |text: String, first: Part, last: Part| Lexeme {
            text,
            position: token.position,
            start: if has_offsets {
                token.start + first.start
            } else {
                token.start
            },
            end: if has_offsets { token.start + last.end } else { token.end },
            kind: token.kind,
            keyword: token.keyword,
        };
        let text = |part: &Part| token.text.get(part.start..part.end).unwrap_or("");
        let is_generated = |part: &Part| {
            if part.is_number {
                self.number_parts
            } else {
                self.word_parts
            }
        };
        // The tokens in the order in which they are found, with their distances to the previous one.
        let mut found: Vec<(Lexeme, u32)> = Vec::new();
        let first = u32::from(!self.preserve_original);
        let add = |found: &mut Vec<(Lexeme, u32)>, own: Lexeme, is_part: bool| {
            let is_new = |(other, _): &(Lexeme, u32)| (&other.text, other.start) != (&own.text, own.start);
            if is_part || found.iter().all(is_new) {
                let distance = if found.is_empty() { first } else { u32::from(is_part) };
                found.push((own, distance));
            }
        };
        let join = |found: &mut Vec<(Lexeme, u32)>, own: &[Part]| {
            let (Some(first), Some(last)) = (own.first(), own.last()) else {
                return;
            };
            // A single generated part is a token already.
            if own.len() > 1 || !is_generated(first) {
                add(found, lexeme(own.iter().map(text).collect(), *first, *last), false);
            }
        };
        for run in parts.chunk_by(|before, after| before.is_number == after.is_number) {
            for part in run.iter().filter(|part| is_generated(part)) {
                add(&mut found, lexeme(text(part).to_owned(), *part, *part), true);
            }
            let is_number = run.first().is_some_and(|part| part.is_number);
            if is_number && self.catenate_numbers || !is_number && self.catenate_words {
                join(&mut found, run);
            }
        }
        if self.catenate_all {
            join(&mut found, parts);
        }
        found.sort_by_key(|(own, distance)| (own.start, Reverse(*distance)));
        let mut position = token.position;
        for (at, (own, distance)) in found.into_iter().enumerate() {
            position = (position + distance).saturating_sub(if at == 0 { first } else { 0 });
            made.push(Lexeme { position, ..own });
        }
    }
}
