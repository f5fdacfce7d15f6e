//! Extraction of the clauses of a query that are highlighted.
//!
//! Source: Lucene 4.10's `WeightedSpanTermExtractor` and `FieldQuery`. Filters and prohibited clauses are not
//! highlighted.

use crate::error::Result;
use crate::query::{FrequencyQuery, Matcher, Occur, Query, QueryField, QueryKind, SpanQuery, TermTest};
use crate::score::Rewriter;

/// A highlighted clause.
pub(super) struct Clause {
    /// Field of the clause.
    pub(super) field: QueryField,
    pub(super) boost: f32,
    pub(super) kind: ClauseKind,
}

pub(super) enum ClauseKind {
    Term(String),
    /// Terms that pass the test.
    Test(TermTest),
    /// Terms by position, and slop. Several terms at one position are alternatives.
    Phrase(Vec<(u32, Vec<PhraseTerm>)>, u32),
    /// A span query, with its terms and patterns.
    Span(SpanQuery, Vec<ClauseKind>),
}

/// Term of a phrase.
pub(super) enum PhraseTerm {
    Term(String),
    Prefix(String),
}

impl PhraseTerm {
    pub(super) fn accepts(&self, text: &str) -> bool {
        match self {
            PhraseTerm::Term(term) => term == text,
            PhraseTerm::Prefix(prefix) => text.starts_with(prefix.as_str()),
        }
    }
}

/// Extracts the clauses of a query in order. `field`: only those of this field.
///
/// # Errors
/// A pattern that cannot be parsed.
pub(super) fn clauses(query: &Query, rewriter: &Rewriter<'_>, field: Option<&str>) -> Result<Vec<Clause>> {
    let mut found = Vec::new();
    collect(query, rewriter, false, &mut found)?;
    found.retain(|clause| field.is_none_or(|field| *clause.field.name == *field));
    Ok(found)
}

fn collect(query: &Query, rewriter: &Rewriter<'_>, in_constant: bool, found: &mut Vec<Clause>) -> Result<()> {
    let mut push = |field: &QueryField, kind: ClauseKind| {
        if !matches!(&*field.name, "_type" | "_field_names" | "_parent") {
            found.push(Clause {
                field: field.clone(),
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
        QueryKind::Phrase { field, slots, slop } => push(field, ClauseKind::Phrase(phrase_terms(slots), *slop)),
        QueryKind::PhrasePrefix {
            field,
            slots,
            slop,
            last,
            ..
        } => {
            let mut slots = phrase_terms(slots);
            if let Some((position, prefix)) = last {
                slots.push((*position, vec![PhraseTerm::Prefix(prefix.clone())]));
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
            // Elasticsearch computes the frequencies from the highlighted document alone, so they are 1.
            FrequencyQuery::Similar {
                of_documents,
                of_texts,
                settings,
                ..
            } if settings.min_doc_freq <= 1 => {
                for words in of_documents.iter().chain(of_texts) {
                    let fields = words.fields.iter();
                    let terms = fields.flat_map(|field| words.counts.iter().map(move |(term, _)| (field, term)));
                    terms.for_each(|(field, term)| push(field, ClauseKind::Term(term.clone())));
                }
            }
            FrequencyQuery::Similar { .. } => {}
            // The terms are those of the index, as of the search.
            FrequencyQuery::Fuzzy { .. } => {
                let terms = query.resolve(rewriter.view, rewriter.budget)?;
                collect(&terms, rewriter, in_constant, found)?;
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
                collect(query, rewriter, in_constant, found)?;
            }
        }
        QueryKind::DisjunctionMax { queries, .. } => {
            queries
                .iter()
                .try_for_each(|query| collect(query, rewriter, in_constant, found))?;
        }
        // A filter is a constant query within a constant query: not highlighted.
        QueryKind::Constant { query, .. } if !in_constant => collect(query, rewriter, true, found)?,
        QueryKind::Functions { query, .. } | QueryKind::Filtered { query, .. } => {
            collect(query, rewriter, in_constant, found)?
        }
        QueryKind::Boosting { positive, negative, .. } => {
            collect(positive, rewriter, in_constant, found)?;
            collect(negative, rewriter, in_constant, found)?;
        }
        _ => {}
    }
    Ok(())
}

fn phrase_terms(slots: &[(u32, Vec<String>)]) -> Vec<(u32, Vec<PhraseTerm>)> {
    let of = |texts: &Vec<String>| texts.iter().cloned().map(PhraseTerm::Term).collect();
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
    /// Returns whether a single term is part of the clause.
    pub(super) fn accepts(&self, text: &str) -> bool {
        match self {
            ClauseKind::Term(term) => term == text,
            ClauseKind::Test(test) => test.accepts(text),
            ClauseKind::Phrase(slots, _) => {
                let mut phrase_terms = slots.iter().flat_map(|(_, phrase_terms)| phrase_terms);
                phrase_terms.any(|phrase_terms| phrase_terms.accepts(text))
            }
            ClauseKind::Span(_, leaves) => leaves.iter().any(|leaf| leaf.accepts(text)),
        }
    }
}
