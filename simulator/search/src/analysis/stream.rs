//! Token filters that read several tokens, or emit several for one.
//!
//! Source: Lucene 4.10's `CommonGramsFilter`, `ShingleFilter`, `UniqueTokenFilter`, `LimitTokenCountFilter`,
//! `PatternCaptureGroupTokenFilter`.

use std::collections::HashSet;
use std::sync::Arc;

use crate::java_pattern::JavaPattern;

use super::cjk_bigram::{CjkBigram, bigrams};
use super::delimiter::WordDelimiter;
use super::lexeme::{Lexeme, WORD};
use super::synonyms::Synonyms;
use super::word_set::WordSet;

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
    PatternCapture(Arc<[JavaPattern]>, bool),
    /// Drops tokens of other types.
    KeepTypes(HashSet<String>),
    CjkBigram(CjkBigram),
    /// Removes positions without a token.
    ClosedGaps,
    /// Drops these words, except at the very end of the text.
    InnerStop(WordSet),
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
                    self.words.contains(part).then_some(part)
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
    pub(super) words: WordSet,
    /// Whether words that are part of a bigram are dropped.
    pub(super) query_mode: bool,
}

impl StreamFilter {
    /// Returns the maximum shingle size, in tokens.
    pub(super) fn max_shingle_size(&self) -> Option<usize> {
        match self {
            StreamFilter::Shingle(shingle) => Some(shingle.max),
            _ => None,
        }
    }

    /// Returns the position after the text, which was `end` before the filter. `before` and `after` are those after the
    /// last token, before and after the filter.
    pub(super) fn end(&self, end: u32, before: u32, after: u32) -> u32 {
        match self {
            StreamFilter::Limit(_) | StreamFilter::Shingle(_) | StreamFilter::ClosedGaps => after,
            // The positions of removed tokens remain.
            StreamFilter::KeepTypes(_) | StreamFilter::InnerStop(_) => end,
            _ => after + end.saturating_sub(before),
        }
    }

    /// Applies the filter to the tokens of a text that has this length and this number of positions.
    pub(super) fn apply(&self, tokens: Vec<Lexeme>, length: usize, positions: u32) -> Vec<Lexeme> {
        match self {
            StreamFilter::Shingle(shingle) => shingle.apply(&tokens, length, positions),
            StreamFilter::Synonyms(synonyms) => synonyms.apply(tokens),
            StreamFilter::Unique(same_position) => unique(tokens, *same_position),
            StreamFilter::Limit(max) => tokens.into_iter().take(*max).collect(),
            StreamFilter::Delimiter(delimiter) => delimiter.apply(tokens),
            StreamFilter::CommonGrams(grams) => grams.apply(&tokens),
            StreamFilter::PatternCapture(patterns, keeps) => captured(tokens, patterns, *keeps),
            StreamFilter::KeepTypes(types) => {
                let kept = |token: &Lexeme| types.contains(token.kind);
                tokens.into_iter().filter(kept).collect()
            }
            StreamFilter::CjkBigram(settings) => bigrams(tokens, settings),
            StreamFilter::ClosedGaps => tokens
                .into_iter()
                .zip(0..)
                .map(|(token, position)| Lexeme { position, ..token })
                .collect(),
            StreamFilter::InnerStop(words) => {
                let is_kept = |token: &Lexeme| token.end == length || !words.contains(&token.text);
                tokens.into_iter().filter(is_kept).collect()
            }
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

fn captured(tokens: Vec<Lexeme>, patterns: &[JavaPattern], keeps: bool) -> Vec<Lexeme> {
    let mut captured = Vec::new();
    for token in tokens {
        let mut groups: Vec<(usize, usize)> = patterns
            .iter()
            .flat_map(|pattern| pattern.groups(&token.text))
            .flat_map(|groups| groups.into_iter().skip(1).flatten())
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
    fn apply(&self, tokens: &[Lexeme]) -> Vec<Lexeme> {
        let mut made = Vec::new();
        let mut was_joined = false;
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1);
            let joined = next.filter(|next| self.words.contains(&token.text) || self.words.contains(&next.text));
            // In query mode, the last word is part of the previous bigram.
            let is_covered = joined.is_some() || next.is_none() && was_joined;
            if !(self.query_mode && is_covered) {
                made.push(token.clone());
            }
            made.extend(joined.map(|next| Lexeme {
                text: format!("{}_{}", token.text, next.text),
                end: next.end,
                kind: "gram",
                ..token.clone()
            }));
            was_joined = joined.is_some();
        }
        made
    }
}

impl Shingle {
    fn apply(&self, tokens: &[Lexeme], length: usize, positions: u32) -> Vec<Lexeme> {
        // One slot per position; a slot without a token has a filler.
        let mut slots: Vec<(Lexeme, bool)> = Vec::new();
        let filler = |offset: usize| Lexeme {
            text: self.filler.clone(),
            position: 0,
            start: offset,
            end: offset,
            kind: WORD,
            keyword: false,
        };
        // The position after the previous token.
        let mut next = 0;
        for token in tokens {
            let gap = token.position.saturating_sub(next);
            slots.extend((0..gap).map(|_| (filler(token.start), true)));
            slots.push((token.clone(), false));
            next = token.position + 1;
        }
        if !slots.is_empty() {
            let gap = (next..positions).take(self.max - 1);
            slots.extend(gap.map(|_| (filler(length), true)));
        }
        let shingles = slots.len() >= self.min;
        let unigrams = self.unigrams || (self.unigrams_if_no_shingles && !shingles);
        let mut made: Vec<Lexeme> = Vec::new();
        // A slot that starts no shingle has no position.
        let mut position = 0;
        for (at, (first, filled)) in slots.iter().enumerate() {
            let before = made.len();
            if unigrams && !filled {
                made.push(Lexeme {
                    position,
                    ..first.clone()
                });
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
                    position,
                    start: first.start,
                    end: last.end,
                    kind: "shingle",
                    keyword: first.keyword,
                });
            }
            position += u32::from(made.len() > before);
        }
        made
    }
}
