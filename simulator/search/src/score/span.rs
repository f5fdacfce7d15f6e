//! Spans: ranges of positions in which a span query matches.
//!
//! Source: Lucene 4.10's `SpanScorer` and spans.

use tantivy::DocSet;
use tantivy::postings::{Postings, SegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;

use crate::error::Result;
use crate::index::Segment;
use crate::score::END;
use crate::score::match_scorer::{DocMatcher, MatchScorer};
use crate::score::term_score::TermScore;

/// A span query with the postings of its terms, by segment.
pub(super) enum SpanWeight {
    /// Alternative terms.
    Terms(Vec<(String, Vec<Option<TermInfo>>)>),
    Or(Vec<SpanWeight>),
    Near {
        clauses: Vec<SpanWeight>,
        slop: i64,
        in_order: bool,
    },
    First {
        inner: Box<SpanWeight>,
        end: u32,
    },
    Not {
        include: Box<SpanWeight>,
        exclude: Box<SpanWeight>,
        before: u32,
        after: u32,
    },
}

/// Start and end (exclusive) of a match, in positions.
pub(crate) type Span = (u32, u32);

/// Matcher of a span query in one segment.
enum Matcher {
    Terms(Vec<SegmentPostings>),
    Or(Vec<Matcher>),
    Near {
        clauses: Vec<Matcher>,
        slop: i64,
        in_order: bool,
    },
    First {
        inner: Box<Matcher>,
        end: u32,
    },
    Not {
        include: Box<Matcher>,
        exclude: Box<Matcher>,
        before: u32,
        after: u32,
    },
}

impl SpanWeight {
    /// Returns the first term that occurs in documents.
    pub(super) fn first_term(&self) -> Option<&str> {
        let is_found = |infos: &[Option<TermInfo>]| infos.iter().any(Option::is_some);
        match self {
            SpanWeight::Terms(terms) => {
                let mut found = terms.iter().filter(|(_, infos)| is_found(infos));
                found.next().map(|(text, _)| text.as_str())
            }
            SpanWeight::Or(weights) | SpanWeight::Near { clauses: weights, .. } => {
                weights.iter().find_map(SpanWeight::first_term)
            }
            SpanWeight::First { inner, .. } => inner.first_term(),
            SpanWeight::Not { include, exclude, .. } => include.first_term().or_else(|| exclude.first_term()),
        }
    }

    fn matcher(&self, at: usize, segment: &Segment) -> Result<Matcher> {
        let all = |weights: &[SpanWeight]| {
            weights
                .iter()
                .map(|weight| weight.matcher(at, segment))
                .collect::<Result<Vec<_>>>()
        };
        Ok(match self {
            SpanWeight::Terms(terms) => Matcher::Terms(
                terms
                    .iter()
                    .filter_map(|(_, infos)| infos.get(at).and_then(Option::as_ref))
                    .map(|info| segment.postings(info, IndexRecordOption::WithFreqsAndPositions))
                    .collect::<Result<_>>()?,
            ),
            SpanWeight::Or(weights) => Matcher::Or(all(weights)?),
            SpanWeight::Near {
                clauses,
                slop,
                in_order,
            } => match clauses.as_slice() {
                // The distance to nothing does not count.
                [only] => only.matcher(at, segment)?,
                _ => Matcher::Near {
                    clauses: all(clauses)?,
                    slop: *slop,
                    in_order: *in_order,
                },
            },
            SpanWeight::First { inner, end } => Matcher::First {
                inner: Box::new(inner.matcher(at, segment)?),
                end: *end,
            },
            SpanWeight::Not {
                include,
                exclude,
                before,
                after,
            } => Matcher::Not {
                include: Box::new(include.matcher(at, segment)?),
                exclude: Box::new(exclude.matcher(at, segment)?),
                before: *before,
                after: *after,
            },
        })
    }
}

impl Matcher {
    /// Returns the first document from `target` on that may match.
    fn candidate(&mut self, target: u32) -> u32 {
        match self {
            Matcher::Terms(terms) => terms
                .iter_mut()
                .map(|postings| {
                    if postings.doc() < target {
                        postings.seek(target)
                    } else {
                        postings.doc()
                    }
                })
                .min()
                .unwrap_or(END),
            Matcher::Or(clauses) => clauses
                .iter_mut()
                .map(|clause| clause.candidate(target))
                .min()
                .unwrap_or(END),
            Matcher::Near { clauses, .. } => {
                let mut doc = target;
                loop {
                    let next = clauses
                        .iter_mut()
                        .map(|clause| clause.candidate(doc))
                        .max()
                        .unwrap_or(END);
                    if next == doc || next == END {
                        return next;
                    }
                    doc = next;
                }
            }
            Matcher::First { inner, .. } => inner.candidate(target),
            Matcher::Not { include, .. } => include.candidate(target),
        }
    }

    /// Returns the matches in a document, sorted by start and end.
    fn spans(&mut self, doc: u32) -> Vec<Span> {
        let mut spans: Vec<Span> = match self {
            Matcher::Terms(terms) => {
                let mut positions = Vec::new();
                for postings in terms {
                    if postings.doc() < doc {
                        postings.seek(doc);
                    }
                    if postings.doc() == doc {
                        postings.append_positions_with_offset(0, &mut positions);
                    }
                }
                positions.into_iter().map(|position| (position, position + 1)).collect()
            }
            Matcher::Or(clauses) => clauses.iter_mut().flat_map(|clause| clause.spans(doc)).collect(),
            Matcher::Near {
                clauses,
                slop,
                in_order,
            } => {
                let all: Vec<Vec<Span>> = clauses.iter_mut().map(|clause| clause.spans(doc)).collect();
                if *in_order {
                    ordered(&all, *slop)
                } else {
                    unordered(&all, *slop)
                }
            }
            Matcher::First { inner, end } => {
                let mut spans = inner.spans(doc);
                spans.retain(|span| span.1 <= *end);
                spans
            }
            Matcher::Not {
                include,
                exclude,
                before,
                after,
            } => {
                let excluded = exclude.candidate(doc) == doc;
                let excluded = if excluded { exclude.spans(doc) } else { vec![] };
                let mut spans = include.spans(doc);
                spans.retain(|span| {
                    !excluded.iter().any(|other| {
                        span.0.saturating_sub(*before) < other.1 && other.0 < span.1.saturating_add(*after)
                    })
                });
                spans
            }
        };
        spans.sort_unstable();
        spans
    }
}

/// Finds the matches of clauses in order, each as close to the next one as possible.
pub(crate) fn ordered(all: &[Vec<Span>], slop: i64) -> Vec<Span> {
    let Some((first, rest)) = all.split_first() else {
        return vec![];
    };
    let mut found: Vec<Span> = Vec::new();
    for start in first {
        let mut chain = vec![*start];
        for spans in rest {
            let end = chain.last().map_or(0, |span| span.1);
            match spans.iter().find(|span| span.0 >= end) {
                Some(span) => chain.push(*span),
                None => return found,
            }
        }
        // Minimize the match: from the last clause back, use the latest span of each clause.
        let mut limit = chain.last().map_or(0, |span| span.0);
        for (span, spans) in chain.iter_mut().rev().skip(1).zip(all.iter().rev().skip(1)) {
            if let Some(later) = spans.iter().rev().find(|other| other.1 <= limit) {
                *span = *later;
            }
            limit = span.0;
        }
        let (Some(begin), Some(end)) = (chain.first(), chain.last()) else {
            continue;
        };
        let covered: i64 = chain.iter().map(|span| i64::from(span.1 - span.0)).sum();
        let whole = (begin.0, end.1);
        if i64::from(whole.1 - whole.0) - covered <= slop && found.last() != Some(&whole) {
            found.push(whole);
        }
    }
    found
}

/// Finds the matches of clauses in any order.
pub(crate) fn unordered(all: &[Vec<Span>], slop: i64) -> Vec<Span> {
    let mut at = vec![0usize; all.len()];
    let mut found = Vec::new();
    loop {
        let current: Option<Vec<Span>> = at.iter().zip(all).map(|(at, spans)| spans.get(*at).copied()).collect();
        let Some(current) = current else { return found };
        let (Some(start), Some(end)) = (
            current.iter().map(|span| span.0).min(),
            current.iter().map(|span| span.1).max(),
        ) else {
            return found;
        };
        let covered: i64 = current.iter().map(|span| i64::from(span.1 - span.0)).sum();
        if i64::from(end - start) - covered <= slop {
            found.push((start, end));
        }
        let first = current
            .iter()
            .enumerate()
            .min_by_key(|(_, span)| **span)
            .map_or(0, |(at, _)| at);
        match at.get_mut(first) {
            Some(at) => *at += 1,
            None => return found,
        }
    }
}

/// Scorer of a span query.
pub(super) type SpanScorer = MatchScorer<Spans>;

/// Matcher of a span query, with its frequency in the current document.
pub(super) struct Spans {
    matcher: Matcher,
    score: TermScore,
    frequency: f32,
}

impl SpanScorer {
    pub(super) fn new(weight: &SpanWeight, at: usize, segment: &Segment, score: TermScore) -> Result<SpanScorer> {
        Ok(MatchScorer::of(Spans {
            matcher: weight.matcher(at, segment)?,
            score,
            frequency: 0.0,
        }))
    }

    /// Frequency of the query in the current document.
    pub(super) fn frequency(&self) -> f32 {
        self.matcher.frequency
    }
}

impl DocMatcher for Spans {
    fn next_match(&mut self, mut target: u32) -> u32 {
        loop {
            let doc = self.matcher.candidate(target);
            if doc == END {
                return END;
            }
            let spans = self.matcher.spans(doc);
            if !spans.is_empty() {
                self.frequency = spans.iter().map(|(start, end)| 1.0 / (end - start + 1) as f32).sum();
                return doc;
            }
            target = doc + 1;
        }
    }

    fn score(&mut self, doc: u32) -> f32 {
        self.score.of_sloppy(doc, self.frequency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_clauses_can_have_gaps_up_to_the_slop() {
        let all = [vec![(1, 2), (5, 6)], vec![(3, 4), (9, 10)]];
        assert_eq!(ordered(&all, 0), []);
        assert_eq!(ordered(&all, 1), [(1, 4)]);
        assert_eq!(ordered(&all, 3), [(1, 4), (5, 10)]);
    }

    #[test]
    fn unordered_clauses_match_in_any_order() {
        let all = [vec![(5, 6)], vec![(3, 4)]];
        assert_eq!(ordered(&all, 5), []);
        assert_eq!(unordered(&all, 1), [(3, 6)]);
    }
}
