//! Token filters that read several tokens, or emit several for one.
//!
//! Source: Lucene 4.10's `CommonGramsFilter`, `ShingleFilter`, `SynonymFilter`, `UniqueTokenFilter`,
//! `LimitTokenCountFilter`, `PatternCaptureGroupTokenFilter`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use regex::Regex;

use super::cjk_bigram::bigrams;
use super::delimiter::WordDelimiter;
use super::lexeme::{Lexeme, token_type};

/// A filter of the whole token stream.
#[derive(Clone, Debug)]
pub(super) enum StreamFilter {
    Shingle(Shingle),
    Synonyms(Arc<Synonyms>),
    /// Drops duplicates. If true, only those at the same position.
    Unique(bool),
    /// Maximum number of tokens.
    Limit(usize),
    Delimiter(Box<WordDelimiter>),
    CommonGrams(CommonGrams),
    /// Adds the groups that patterns match. If true, keeps the original token.
    PatternCapture(Arc<[Regex]>, bool),
    /// Drops tokens of other types.
    KeepTypes(HashSet<String>),
    /// CJK bigrams. If true, also the single characters.
    CjkBigram(bool),
    Decompounder(Decompounder),
}

/// Settings of a dictionary decompounder, which adds the subwords of compound words.
#[derive(Clone, Debug)]
pub(super) struct Decompounder {
    pub(super) words: HashSet<String>,
    pub(super) min_word_size: usize,
    pub(super) min_subword_size: usize,
    pub(super) max_subword_size: usize,
    pub(super) only_longest_match: bool,
}

impl Decompounder {
    fn apply(&self, tokens: Vec<Lexeme>) -> Vec<Lexeme> {
        let mut made = Vec::new();
        for token in tokens {
            let bounds: Vec<usize> = token
                .text
                .char_indices()
                .map(|(at, _)| at)
                .chain([token.text.len()])
                .collect();
            let length = bounds.len() - 1;
            made.push(token.clone());
            if length < self.min_word_size {
                continue;
            }
            for start in 0..=length.saturating_sub(self.min_subword_size) {
                let sizes = self.min_subword_size..=self.max_subword_size.min(length - start);
                let parts = sizes.filter_map(|size| {
                    let part = token.text.get(*bounds.get(start)?..*bounds.get(start + size)?)?;
                    self.words.contains(&super::lowercase(part)).then_some(part)
                });
                let parts: Vec<&str> = parts.collect();
                let skipped = if self.only_longest_match {
                    parts.len().saturating_sub(1)
                } else {
                    0
                };
                made.extend(parts.into_iter().skip(skipped).map(|part| Lexeme {
                    text: part.to_owned(),
                    ..token.clone()
                }));
            }
        }
        made
    }
}

/// Settings of a shingle filter.
#[derive(Clone, Debug)]
pub(super) struct Shingle {
    pub(super) min: usize,
    pub(super) max: usize,
    pub(super) unigrams: bool,
    pub(super) unigrams_if_no_shingles: bool,
    pub(super) separator: String,
    /// Text for positions without a token.
    pub(super) filler: String,
}

/// Settings of a filter that adds bigrams of common words and their neighbours.
#[derive(Clone, Debug)]
pub(super) struct CommonGrams {
    pub(super) words: HashSet<String>,
    pub(super) ignore_case: bool,
    /// Whether words that are part of a bigram are dropped.
    pub(super) query_mode: bool,
}

/// Synonym rules by their input words.
#[derive(Clone, Debug, Default)]
pub(super) struct Synonyms {
    rules: HashMap<Vec<String>, Rule>,
    longest: usize,
    pub(super) ignore_case: bool,
}

#[derive(Clone, Debug, Default)]
struct Rule {
    outputs: Vec<Vec<String>>,
    keeps_original: bool,
}

impl StreamFilter {
    /// Returns the maximum shingle size, in tokens.
    pub(super) fn max_shingle_size(&self) -> Option<usize> {
        match self {
            StreamFilter::Shingle(shingle) => Some(shingle.max),
            _ => None,
        }
    }

    pub(super) fn apply(&self, tokens: Vec<Lexeme>) -> Vec<Lexeme> {
        match self {
            StreamFilter::Shingle(shingle) => shingle.apply(&tokens),
            StreamFilter::Synonyms(synonyms) => synonyms.apply(tokens),
            StreamFilter::Unique(same_position) => unique(tokens, *same_position),
            StreamFilter::Limit(max) => tokens.into_iter().take(*max).collect(),
            StreamFilter::Delimiter(delimiter) => delimiter.apply(tokens),
            StreamFilter::CommonGrams(grams) => grams.apply(&tokens),
            StreamFilter::PatternCapture(patterns, keeps) => captured(tokens, patterns, *keeps),
            StreamFilter::KeepTypes(types) => {
                let kept = |token: &Lexeme| types.contains(token.kind.unwrap_or_else(|| token_type(&token.text)));
                tokens.into_iter().filter(kept).collect()
            }
            StreamFilter::CjkBigram(unigrams) => bigrams(tokens, *unigrams),
            StreamFilter::Decompounder(decompounder) => decompounder.apply(tokens),
        }
    }
}

fn unique(tokens: Vec<Lexeme>, same_position: bool) -> Vec<Lexeme> {
    let mut seen = HashSet::new();
    let mut removed = 0;
    let mut kept: Vec<Lexeme> = Vec::new();
    let mut position = None;
    for mut token in tokens {
        let own = same_position.then_some(token.position);
        if seen.insert((own, token.text.clone())) {
            position = Some(token.position);
            token.position -= removed;
            kept.push(token);
        } else if !same_position && position != Some(token.position) {
            // The position of a removed token is removed too.
            position = Some(token.position);
            removed += 1;
        }
    }
    kept
}

fn captured(tokens: Vec<Lexeme>, patterns: &[Regex], keeps: bool) -> Vec<Lexeme> {
    let mut captured = Vec::new();
    for token in tokens {
        let mut groups: Vec<(usize, usize)> = patterns
            .iter()
            .flat_map(|pattern| pattern.captures_iter(&token.text))
            .flat_map(|found| {
                let groups: Vec<_> = found
                    .iter()
                    .skip(1)
                    .flatten()
                    .map(|group| (group.start(), group.end()))
                    .collect();
                groups
            })
            .filter(|(start, end)| end > start && (!keeps || (*start, *end) != (0, token.text.len())))
            .collect();
        groups.sort_by_key(|(start, _)| *start);
        let parts: Vec<Lexeme> = groups
            .into_iter()
            .map(|(start, end)| Lexeme {
                text: token.text.get(start..end).unwrap_or("").to_owned(),
                ..token.clone()
            })
            .collect();
        if keeps || parts.is_empty() {
            captured.push(token);
        }
        captured.extend(parts);
    }
    captured
}

impl CommonGrams {
    fn is_common(&self, text: &str) -> bool {
        if self.ignore_case {
            self.words.contains(&super::lowercase(text))
        } else {
            self.words.contains(text)
        }
    }

    fn apply(&self, tokens: &[Lexeme]) -> Vec<Lexeme> {
        let mut made = Vec::new();
        let mut was_joined = false;
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1);
            let joined = next.filter(|next| self.is_common(&token.text) || self.is_common(&next.text));
            // In query mode, the last word is part of the previous bigram.
            let is_covered = joined.is_some() || next.is_none() && was_joined;
            if !(self.query_mode && is_covered) {
                made.push(token.clone());
            }
            made.extend(joined.map(|next| Lexeme {
                text: format!("{}_{}", token.text, next.text),
                end: next.end,
                kind: Some("gram"),
                ..token.clone()
            }));
            was_joined = joined.is_some();
        }
        made
    }
}

impl Shingle {
    fn apply(&self, tokens: &[Lexeme]) -> Vec<Lexeme> {
        // One slot per position; a slot without a token has a filler.
        let mut slots: Vec<(Lexeme, bool)> = Vec::new();
        for token in tokens {
            let mut next = slots.last().map_or(token.position, |(last, _)| last.position + 1);
            while next < token.position {
                let filler = Lexeme {
                    text: self.filler.clone(),
                    position: next,
                    start: token.start,
                    end: token.start,
                    kind: None,
                };
                slots.push((filler, true));
                next += 1;
            }
            slots.push((
                Lexeme {
                    position: next,
                    ..token.clone()
                },
                false,
            ));
        }
        let shingles = slots.len() >= self.min;
        let unigrams = self.unigrams || (self.unigrams_if_no_shingles && !shingles);
        let mut made = Vec::new();
        for (at, (first, filled)) in slots.iter().enumerate() {
            if unigrams && !filled {
                made.push(first.clone());
            }
            for size in self.min..=self.max {
                let Some(window) = slots.get(at..at + size) else {
                    break;
                };
                let (Some((last, _)), false) = (window.last(), window.iter().all(|(_, filled)| *filled)) else {
                    continue;
                };
                let texts: Vec<&str> = window.iter().map(|(token, _)| token.text.as_str()).collect();
                made.push(Lexeme {
                    text: texts.join(&self.separator),
                    position: first.position,
                    start: first.start,
                    end: last.end,
                    kind: Some("shingle"),
                });
            }
        }
        made
    }
}

impl Synonyms {
    /// Adds one line of rules: `a, b => c` or `a, b, c`.
    pub(super) fn add(&mut self, line: &str, expand: bool, words: &dyn Fn(&str) -> Vec<String>) {
        let list = |text: &str| -> Vec<Vec<String>> {
            let parts = text.split(',').map(|part| words(part.trim()));
            parts.filter(|part| !part.is_empty()).collect()
        };
        match line.split_once("=>") {
            Some((inputs, outputs)) => {
                let outputs = list(outputs);
                for input in list(inputs) {
                    self.rule(input, outputs.clone(), false);
                }
            }
            None => {
                let all = list(line);
                for (at, input) in all.iter().enumerate() {
                    if expand {
                        let others = all.iter().enumerate().filter(|(other, _)| *other != at);
                        self.rule(input.clone(), others.map(|(_, other)| other.clone()).collect(), true);
                    } else {
                        self.rule(input.clone(), all.first().cloned().into_iter().collect(), false);
                    }
                }
            }
        }
    }

    fn rule(&mut self, input: Vec<String>, outputs: Vec<Vec<String>>, keeps_original: bool) {
        self.longest = self.longest.max(input.len());
        let rule = self.rules.entry(input).or_default();
        for output in outputs {
            if !rule.outputs.contains(&output) {
                rule.outputs.push(output);
            }
        }
        rule.keeps_original |= keeps_original;
    }

    /// Returns the longest rule that matches the tokens from `at`, and its number of tokens.
    fn find(&self, keys: &[String], at: usize) -> Option<(usize, &Rule)> {
        let max = self.longest.min(keys.len().saturating_sub(at));
        (1..=max)
            .rev()
            .find_map(|length| Some((length, self.rules.get(keys.get(at..at + length)?)?)))
    }

    fn apply(&self, tokens: Vec<Lexeme>) -> Vec<Lexeme> {
        let key = |text: &String| {
            if self.ignore_case {
                super::lowercase(text)
            } else {
                text.clone()
            }
        };
        let keys: Vec<String> = tokens.iter().map(|token| key(&token.text)).collect();
        let mut made: Vec<Lexeme> = Vec::new();
        // Number of positions removed where an output has fewer words than its input.
        let mut closed = 0;
        let mut at = 0;
        while let Some(first) = tokens.get(at) {
            let Some((length, rule)) = self.find(&keys, at) else {
                made.push(Lexeme {
                    position: first.position - closed,
                    ..first.clone()
                });
                at += 1;
                continue;
            };
            let matched = tokens.get(at..at + length).unwrap_or(&[]);
            let base = first.position - closed;
            if rule.keeps_original {
                made.extend(matched.iter().map(|token| Lexeme {
                    position: token.position - closed,
                    ..token.clone()
                }));
            }
            for output in &rule.outputs {
                for (offset, word) in output.iter().enumerate() {
                    let beside = tokens.get(at + offset).or(tokens.last()).unwrap_or(first);
                    let end = match (output.len(), matched.last()) {
                        (1, Some(last)) => last.end,
                        _ => beside.end,
                    };
                    made.push(Lexeme {
                        text: word.clone(),
                        position: base + u32::try_from(offset).unwrap_or(0),
                        start: beside.start,
                        end,
                        kind: Some("SYNONYM"),
                    });
                }
            }
            if !rule.keeps_original {
                let longest = rule.outputs.iter().map(Vec::len).max().unwrap_or(0).max(1);
                closed += u32::try_from(length.saturating_sub(longest)).unwrap_or(0);
            }
            at += length;
        }
        made.sort_by_key(|token| token.position);
        made
    }
}
