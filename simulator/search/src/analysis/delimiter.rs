//! The `word_delimiter` filter: splits words at changes of letter case, digits and delimiters, and catenates the
//! parts.
//!
//! Source: Lucene 4.10's `WordDelimiterFilter`.

use std::collections::{HashMap, HashSet};

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

fn class_of(c: char) -> CharClass {
    match c {
        c if c.is_lowercase() => CharClass::Lower,
        c if c.is_uppercase() => CharClass::Upper,
        c if c.is_alphabetic() => CharClass::Letter,
        c if c.is_numeric() => CharClass::Digit,
        _ => CharClass::Delimiter,
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
        let mut made = Vec::new();
        // Additional positions of the parts of previous tokens.
        let mut shift = 0;
        for mut token in tokens {
            token.position += shift;
            let parts = self.parts(&token.text);
            let is_whole = matches!(parts.as_slice(), [only] if only.end - only.start == token.text.len());
            if is_whole || self.protected.contains(&token.text) {
                made.push(token);
                continue;
            }
            if self.preserve_original {
                made.push(token.clone());
            }
            shift += self.split(&token, &parts, &mut made);
        }
        made
    }

    /// Splits a word.
    fn parts(&self, text: &str) -> Vec<Part> {
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        let class = |at: usize| {
            let letter = chars.get(at).map(|(_, c)| *c);
            letter.map_or(CharClass::Delimiter, |c| {
                self.classes.get(&c).copied().unwrap_or_else(|| class_of(c))
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

    /// Adds the parts of a token and their catenations. Returns the number of additional positions.
    fn split(&self, token: &Lexeme, parts: &[Part], made: &mut Vec<Lexeme>) -> u32 {
        let has_offsets = token.end - token.start == token.text.len();
        let lexeme = |text: String, first: Part, last: Part, position: u32| Lexeme {
            text,
            position,
            start: if has_offsets {
                token.start + first.start
            } else {
                token.start
            },
            end: if has_offsets { token.start + last.end } else { token.end },
            kind: token.kind,
        };
        let text = |part: &Part| token.text.get(part.start..part.end).unwrap_or("");
        let is_generated = |part: &Part| {
            if part.is_number {
                self.number_parts
            } else {
                self.word_parts
            }
        };
        let mut found: Vec<Lexeme> = Vec::new();
        let mut positions = Vec::new();
        let mut next = token.position;
        for part in parts {
            positions.push(next);
            if is_generated(part) {
                found.push(lexeme(text(part).to_owned(), *part, *part, next));
                next += 1;
            }
        }
        let mut join = |from: usize, to: usize| {
            let own = parts.get(from..to).unwrap_or(&[]);
            let (Some(first), Some(last)) = (own.first(), own.last()) else {
                return;
            };
            // A single generated part is a token already.
            if own.len() > 1 || !is_generated(first) {
                let position = positions.get(from).copied().unwrap_or(token.position);
                let joined = lexeme(own.iter().map(text).collect(), *first, *last, position);
                if !found.contains(&joined) {
                    found.push(joined);
                }
            }
        };
        let mut from = 0;
        for at in 1..=parts.len() {
            let kind = parts.get(from).is_some_and(|part| part.is_number);
            if parts.get(at).is_none_or(|part| part.is_number != kind) {
                let catenates = if kind {
                    self.catenate_numbers
                } else {
                    self.catenate_words
                };
                if catenates {
                    join(from, at);
                }
                from = at;
            }
        }
        if self.catenate_all {
            join(0, parts.len());
        }
        found.sort_by_key(|part| (part.position, part.start));
        let last = found.last().map_or(token.position, |part| part.position);
        made.extend(found);
        last - token.position
    }
}
