//! The `synonym` filter: words and their alternatives.
//!
//! Source: Lucene 4.10's `SynonymFilter`, `SynonymMap` and `SolrSynonymParser`.

use std::collections::HashMap;

use crate::error::{Result, SearchError};
use crate::exception::Exception;

use super::letter_case::lowercase;
use super::lexeme::Lexeme;

/// Synonym rules by their input words.
#[derive(Clone, Debug, Default)]
pub(super) struct Synonyms {
    rules: HashMap<Vec<String>, Vec<Vec<String>>>,
    longest: usize,
    pub(super) ignore_case: bool,
}

impl Synonyms {
    /// Adds one line of rules: `a, b => c` or `a, b, c`. `words` analyzes one side of a rule.
    ///
    /// # Errors
    /// More than one `=>`, a word that is analyzed to nothing, a line without words.
    pub(super) fn add(&mut self, line: &str, expand: bool, words: &dyn Fn(&str) -> Result<Vec<String>>) -> Result<()> {
        let list = |text: &str| -> Result<Vec<Vec<String>>> {
            let parts = unescaped_parts(text, ",").into_iter();
            parts.map(|part| words(without_escapes(&part).trim())).collect()
        };
        match unescaped_parts(line, "=>").as_slice() {
            [inputs, outputs] => {
                let (inputs, outputs) = (list(inputs)?, list(outputs)?);
                inputs.into_iter().for_each(|input| self.rule(input, &outputs));
            }
            // Without a right side, the arrow is part of the last word.
            [] | [_] => {
                let all = list(line)?;
                if all.is_empty() && !expand {
                    let reason = "Index 0 out of bounds for length 0";
                    return Err(SearchError::new(400, Exception::ArrayIndexOutOfBounds, reason));
                }
                self.add_equal(&all, expand);
            }
            _ => {
                let reason = "more than one explicit mapping specified on the same line";
                return Err(SearchError::argument(reason));
            }
        }
        Ok(())
    }

    /// Adds words that are replaced by all of them, or else by the first.
    pub(super) fn add_equal(&mut self, all: &[Vec<String>], expand: bool) {
        let outputs = if expand { all } else { all.get(..1).unwrap_or(&[]) };
        all.iter().for_each(|input| self.rule(input.clone(), outputs));
    }

    fn rule(&mut self, input: Vec<String>, outputs: &[Vec<String>]) {
        self.longest = self.longest.max(input.len());
        let rule = self.rules.entry(input).or_default();
        for output in outputs {
            if !rule.contains(output) {
                rule.push(output.clone());
            }
        }
    }

    /// Returns the longest rule that matches the tokens from `at`, and its number of tokens.
    fn find(&self, keys: &[String], at: usize) -> Option<(usize, &[Vec<String>])> {
        let max = self.longest.min(keys.len().saturating_sub(at));
        (1..=max)
            .rev()
            .find_map(|length| Some((length, self.rules.get(keys.get(at..at + length)?)?.as_slice())))
    }

    pub(super) fn apply(&self, tokens: Vec<Lexeme>) -> Vec<Lexeme> {
        let key = |text: &String| {
            if self.ignore_case {
                lowercase(text)
            } else {
                text.clone()
            }
        };
        let keys: Vec<String> = tokens.iter().map(|token| key(&token.text)).collect();
        let mut made: Vec<Lexeme> = Vec::new();
        // The outputs beside each token and after the last, each with its end if it stands for several tokens.
        let mut outputs: Vec<Vec<(&str, Option<usize>)>> = vec![Vec::new(); tokens.len()];
        let mut unmatched = 0;
        // The last position of the output, and of the input.
        let (mut position, mut before) = (-1, -1);
        for (at, token) in tokens.iter().enumerate() {
            let found = self.find(&keys, at).filter(|_| at >= unmatched);
            if let Some((length, rule)) = found {
                unmatched = at + length;
                let end = tokens.get(unmatched - 1).map(|last| last.end);
                for output in rule {
                    outputs.resize_with(outputs.len().max(at + output.len()), Vec::new);
                    for (word, beside) in output.iter().zip(outputs.iter_mut().skip(at)) {
                        beside.push((word, end.filter(|_| output.len() == 1)));
                    }
                }
            }
            let own = outputs.get(at).map_or(&[][..], Vec::as_slice);
            let is_kept = at >= unmatched;
            let increment = i64::from(token.position) - before;
            before = i64::from(token.position);
            position += if is_kept { increment } else { i64::from(!own.is_empty()) };
            let place = u32::try_from(position).unwrap_or(0);
            if is_kept {
                made.push(Lexeme {
                    position: place,
                    ..token.clone()
                });
            }
            made.extend(own.iter().map(|output| synonym(token, output, place)));
        }
        let next = u32::try_from(position + 1).unwrap_or(0);
        let rest = outputs.iter().skip(tokens.len());
        for (own, position) in rest.zip(next..) {
            made.extend(
                tokens
                    .last()
                    .into_iter()
                    .flat_map(|last| own.iter().map(move |output| synonym(last, output, position))),
            );
        }
        made
    }
}

/// Splits a text at separators before which there is no backslash. Empty parts are left out.
fn unescaped_parts(text: &str, separator: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(separator) {
            parts.push(String::new());
            rest = after;
            continue;
        }
        let length = match c {
            '\\' => rest.chars().take(2).map(char::len_utf8).sum(),
            _ => c.len_utf8(),
        };
        let (taken, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        parts
            .iter_mut()
            .last()
            .into_iter()
            .for_each(|part| part.push_str(taken));
        rest = after;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns a text without the backslashes that escape its characters.
fn without_escapes(text: &str) -> String {
    let mut made = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        made.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    made
}

/// Returns an output of a synonym rule, at a token.
fn synonym(token: &Lexeme, (word, end): &(&str, Option<usize>), position: u32) -> Lexeme {
    Lexeme {
        text: (*word).to_owned(),
        position,
        start: token.start,
        end: end.unwrap_or(token.end),
        kind: "SYNONYM",
        keyword: false,
    }
}
