//! Tokens of a text, and spans of a query in them.

use crate::analysis::Analyzer;
use crate::error::Result;
use crate::highlight::clause::{Clause, ClauseKind};
use crate::mapping::Field;
use crate::query::{SpanQuery, TermTest};
use crate::score::{Span, ordered, unordered};

/// A token, with offsets in UTF-16 units.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) position: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A text as UTF-16 units, to which offsets refer.
pub(super) struct Units {
    units: Vec<u16>,
}

impl Units {
    pub(super) fn of(text: &str) -> Units {
        Units {
            units: text.encode_utf16().collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    /// Returns the unit at `at` as a character, unless it is a surrogate.
    pub(super) fn char_at(&self, at: usize) -> Option<char> {
        char::from_u32(u32::from(*self.units.get(at)?))
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> String {
        let end = end.min(self.units.len());
        String::from_utf16_lossy(self.units.get(start.min(end)..end).unwrap_or(&[]))
    }
}

/// Returns the tokens of a text in the order of the analyzer.
pub(super) fn tokens(analyzer: &Analyzer, text: &str) -> Vec<Token> {
    tokens_and_end(analyzer, text).0
}

/// Returns the tokens of a text in the order of the analyzer, and the position after the text.
fn tokens_and_end(analyzer: &Analyzer, text: &str) -> (Vec<Token>, u32) {
    let mut units = Vec::new();
    if !text.is_ascii() {
        let mut count = 0;
        units.resize(text.len() + 1, 0);
        for (at, c) in text.char_indices() {
            if let Some(slot) = units.get_mut(at) {
                *slot = count;
            }
            count += c.len_utf16();
        }
        if let Some(last) = units.last_mut() {
            *last = count;
        }
    }
    let unit = |at: usize| units.get(at).copied().unwrap_or(at);
    let mut found = Vec::new();
    let end = analyzer.analyze(text, &mut |token| {
        found.push(Token {
            text: token.text.to_owned(),
            position: token.position,
            start: unit(token.start),
            end: unit(token.end),
        });
    });
    (found, end)
}

/// Returns the tokens of the values of a field, as of one text in which one unit separates the values.
pub(super) fn tokens_of_values(field: &Field, values: &[String]) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let (mut base, mut length) = (0, 0);
    let analyzer = &field.index_analyzer;
    for value in values {
        let (tokens, end) = tokens_and_end(analyzer, value);
        found.extend(tokens.into_iter().map(|token| Token {
            position: base + token.position,
            start: length + token.start,
            end: length + token.end,
            ..token
        }));
        base = field.field_type.after_gap(analyzer, base + end);
        length += value.encode_utf16().count() + 1;
    }
    found
}

/// Returns the spans of a phrase or span clause. `None` for a clause of terms.
pub(super) fn spans_of(clause: &Clause, tokens: &[Token]) -> Result<Option<Vec<Span>>> {
    match &clause.kind {
        ClauseKind::Term(_) | ClauseKind::Test(_) => Ok(None),
        ClauseKind::Span(span, _) => spans(span, tokens).map(Some),
        ClauseKind::Phrase(slots, slop) => {
            let all: Vec<Vec<Span>> = slots
                .iter()
                .map(|(_, terms)| {
                    let matches = |token: &&Token| terms.iter().any(|term| term.accepts(&token.text));
                    positions(tokens.iter().filter(matches))
                })
                .collect();
            let gaps = slots.windows(2).filter_map(|pair| match pair {
                [(before, _), (after, _)] => after.checked_sub(*before),
                _ => None,
            });
            // Position gaps in the phrase increase the slop.
            let gap = gaps.max().filter(|gap| *gap > 1).unwrap_or(0);
            let slop = i64::from(*slop) + i64::from(gap);
            Ok(Some(if slop == 0 {
                ordered(&all, slop)
            } else {
                unordered(&all, slop)
            }))
        }
    }
}

fn positions<'a>(tokens: impl Iterator<Item = &'a Token>) -> Vec<Span> {
    let mut spans: Vec<Span> = tokens.map(|token| (token.position, token.position + 1)).collect();
    spans.sort_unstable();
    spans.dedup();
    spans
}

fn spans(span: &SpanQuery, tokens: &[Token]) -> Result<Vec<Span>> {
    let all = |clauses: &[SpanQuery]| {
        clauses
            .iter()
            .map(|clause| spans(clause, tokens))
            .collect::<Result<Vec<_>>>()
    };
    let mut found = match span {
        SpanQuery::Boosted(inner, _) | SpanQuery::Masked { inner, .. } => spans(inner, tokens)?,
        SpanQuery::Term { text, .. } => positions(tokens.iter().filter(|token| token.text == *text)),
        SpanQuery::MultiTerm { matcher, .. } => {
            let test = TermTest::new(matcher)?;
            positions(tokens.iter().filter(|token| test.accepts(&token.text)))
        }
        SpanQuery::Or(clauses) => all(clauses)?.into_iter().flatten().collect(),
        SpanQuery::Near {
            clauses,
            slop,
            in_order: true,
        } => ordered(&all(clauses)?, *slop),
        SpanQuery::Near { clauses, slop, .. } => unordered(&all(clauses)?, *slop),
        SpanQuery::First { inner, end } => {
            let mut inner = spans(inner, tokens)?;
            inner.retain(|span| span.1 <= *end);
            inner
        }
        SpanQuery::Not {
            include,
            exclude,
            before,
            after,
        } => {
            let excluded = spans(exclude, tokens)?;
            let mut kept = spans(include, tokens)?;
            kept.retain(|span| {
                let near =
                    |other: &Span| span.0.saturating_sub(*before) < other.1 && other.0 < span.1.saturating_add(*after);
                !excluded.iter().any(near)
            });
            kept
        }
    };
    found.sort_unstable();
    Ok(found)
}
