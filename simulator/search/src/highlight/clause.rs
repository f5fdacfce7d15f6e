//! What a query looks for, clause by clause.
//!
//! Source: Lucene 4.10's `WeightedSpanTermExtractor` and `FieldQuery`: filters and prohibited clauses look for nothing.

use std::sync::Arc;

use crate::error::Result;
use crate::query::{FrequencyQuery, Matcher, Occur, Query, QueryField, QueryKind, SpanQuery, TermTest};

/// What a part of a query looks for.
pub(super) struct Clause {
    /// The field that is searched; several for spans.
    field: Arc<str>,
    pub(super) boost: f32,
    pub(super) kind: ClauseKind,
}

pub(super) enum ClauseKind {
    Term(String),
    /// Any term that passes.
    Test(TermTest),
    /// Terms at positions; several at one position are alternatives.
    Phrase(Vec<(u32, Vec<Wanted>)>, u32),
    /// A span query, with the terms and patterns in it.
    Span(SpanQuery, Vec<ClauseKind>),
}

/// A term of a phrase.
pub(super) enum Wanted {
    Term(String),
    Prefix(String),
}

impl Wanted {
    pub(super) fn accepts(&self, text: &str) -> bool {
        match self {
            Wanted::Term(term) => term == text,
            Wanted::Prefix(prefix) => text.starts_with(prefix.as_str()),
        }
    }
}

/// The clauses of a query, in order; with a field, those that search it.
///
/// # Errors
/// A pattern that cannot be parsed.
pub(super) fn clauses(query: &Query, field: Option<&str>) -> Result<Vec<Clause>> {
    let mut found = Vec::new();
    collect(query, false, &mut found)?;
    found.retain(|clause| field.is_none_or(|field| *clause.field == *field));
    Ok(found)
}

fn collect(query: &Query, in_constant: bool, found: &mut Vec<Clause>) -> Result<()> {
    let mut push = |field: &QueryField, kind: ClauseKind| {
        if !matches!(&*field.name, "_type" | "_field_names" | "_parent") {
            found.push(Clause {
                field: field.name.clone(),
                boost: query.boost,
                kind,
            });
        }
    };
    let test = |matcher: &Matcher| TermTest::new(matcher).map(ClauseKind::Test);
    match &query.kind {
        QueryKind::Term { field, text } | QueryKind::RareTerm { field, text } => {
            push(field, ClauseKind::Term(text.clone()));
        }
        QueryKind::Phrase { field, slots, slop } => push(field, ClauseKind::Phrase(wanted(slots), *slop)),
        QueryKind::PhrasePrefix {
            field,
            slots,
            slop,
            last,
            ..
        } => {
            let mut slots = wanted(slots);
            if let Some((position, prefix)) = last {
                slots.push((*position, vec![Wanted::Prefix(prefix.clone())]));
            }
            push(field, ClauseKind::Phrase(slots, *slop));
        }
        QueryKind::MultiTerm { field, matcher } => push(field, test(matcher)?),
        QueryKind::ByFrequency(query) => match query {
            FrequencyQuery::Rewritten { field, matcher, .. } => push(field, test(matcher)?),
            FrequencyQuery::Common { field, terms, .. } => {
                terms
                    .iter()
                    .for_each(|term| push(field, ClauseKind::Term(term.clone())));
            }
            // One document is all that the frequencies are of.
            FrequencyQuery::Similar {
                terms, min_doc_freq, ..
            } if *min_doc_freq <= 1 => {
                let terms = terms.iter();
                terms.for_each(|(field, term, _)| push(field, ClauseKind::Term(term.clone())));
            }
            FrequencyQuery::Similar { .. } => {}
            FrequencyQuery::Fuzzy {
                texts, edits, prefix, ..
            } => {
                for (field, term) in texts {
                    let matcher = Matcher::Fuzzy {
                        term: term.clone(),
                        edits: *edits,
                        prefix: *prefix,
                        expansions: 0,
                        transpositions: true,
                    };
                    push(field, test(&matcher)?);
                }
            }
        },
        QueryKind::Blended { fields, text, .. } => {
            fields
                .iter()
                .for_each(|(field, _)| push(field, ClauseKind::Term(text.clone())));
        }
        QueryKind::Span(span) => {
            if let Some(field) = span.field() {
                let mut leaves = Vec::new();
                collect_leaves(span, &mut leaves)?;
                push(field, ClauseKind::Span(span.clone(), leaves));
            }
        }
        QueryKind::Bool { clauses, .. } => {
            let clauses = clauses.iter().filter(|(occur, _)| *occur != Occur::MustNot);
            for (_, query) in clauses {
                collect(query, in_constant, found)?;
            }
        }
        QueryKind::DisjunctionMax { queries, .. } => {
            queries
                .iter()
                .try_for_each(|query| collect(query, in_constant, found))?;
        }
        // A filter is constant by itself, within a query that is.
        QueryKind::Constant { query, .. } if !in_constant => collect(query, true, found)?,
        QueryKind::Functions { query, .. } | QueryKind::Filtered { query, .. } => collect(query, in_constant, found)?,
        QueryKind::Boosting { positive, .. } => collect(positive, in_constant, found)?,
        _ => {}
    }
    Ok(())
}

fn wanted(slots: &[(u32, Vec<String>)]) -> Vec<(u32, Vec<Wanted>)> {
    let of = |texts: &Vec<String>| texts.iter().cloned().map(Wanted::Term).collect();
    slots.iter().map(|(position, texts)| (*position, of(texts))).collect()
}

/// Collects the terms and patterns of a span query.
fn collect_leaves(span: &SpanQuery, found: &mut Vec<ClauseKind>) -> Result<()> {
    match span {
        SpanQuery::Term { text, .. } => found.push(ClauseKind::Term(text.clone())),
        SpanQuery::MultiTerm { matcher, .. } => found.push(ClauseKind::Test(TermTest::new(matcher)?)),
        _ => {
            for clause in span.clauses() {
                collect_leaves(clause, found)?;
            }
        }
    }
    Ok(())
}

impl ClauseKind {
    /// Returns whether a term by itself is one that the clause looks for.
    pub(super) fn accepts(&self, text: &str) -> bool {
        match self {
            ClauseKind::Term(term) => term == text,
            ClauseKind::Test(test) => test.accepts(text),
            ClauseKind::Phrase(slots, _) => {
                let mut wanted = slots.iter().flat_map(|(_, wanted)| wanted);
                wanted.any(|wanted| wanted.accepts(text))
            }
            ClauseKind::Span(_, leaves) => leaves.iter().any(|leaf| leaf.accepts(text)),
        }
    }
}
