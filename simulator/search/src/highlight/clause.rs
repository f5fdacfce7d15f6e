//! Extraction of the clauses of a query that are highlighted.
//!
//! Source: Lucene 4.10's `WeightedSpanTermExtractor` and `FieldQuery`. Filters and prohibited clauses are not
//! highlighted.

use crate::error::Result;
use crate::query::{FrequencyQuery, Matcher, Occur, Query, QueryField, QueryKind, Rewrite, SpanQuery, TermTest};
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
    /// Returns the term, unless it is a prefix.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            PhraseTerm::Term(text) => Some(text),
            PhraseTerm::Prefix(_) => None,
        }
    }

    pub(super) fn accepts(&self, text: &str) -> bool {
        match self {
            PhraseTerm::Term(term) => term == text,
            PhraseTerm::Prefix(prefix) => text.starts_with(prefix.as_str()),
        }
    }
}

/// Extracts the clauses of a query in order. `field`: only those of this field. `expansions`: patterns become so many
/// terms of the index at most, in the order of the dictionary; `None`: they remain patterns.
///
/// # Errors
/// A pattern that cannot be parsed.
pub(super) fn clauses(
    query: &Query,
    rewriter: &Rewriter<'_>,
    expansions: Option<usize>,
    field: Option<&str>,
) -> Result<Vec<Clause>> {
    let mut found = Vec::new();
    let extraction = Extraction { rewriter, expansions };
    extraction.collect(query, false, &mut found)?;
    found.retain(|clause| field.is_none_or(|field| *clause.field.name == *field));
    Ok(found)
}

/// Extraction of clauses.
struct Extraction<'a> {
    rewriter: &'a Rewriter<'a>,
    expansions: Option<usize>,
}

/// Adds a clause for a query, if it is of a field that is highlighted.
fn push(found: &mut Vec<Clause>, query: &Query, field: &QueryField, kind: ClauseKind) {
    if !matches!(&*field.name, "_type" | "_field_names" | "_parent") {
        found.push(Clause {
            field: field.clone(),
            boost: query.boost,
            kind,
        });
    }
}

impl Extraction<'_> {
    fn collect(&self, query: &Query, in_constant: bool, found: &mut Vec<Clause>) -> Result<()> {
        let mut push = |field: &QueryField, kind: ClauseKind| push(found, query, field, kind);
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
                if let Some((position, prefixes)) = last {
                    let prefixes = prefixes.iter().cloned().map(PhraseTerm::Prefix);
                    slots.push((*position, prefixes.collect()));
                }
                push(field, ClauseKind::Phrase(slots, *slop));
            }
            QueryKind::MultiTerm { field, matcher } => self.pattern(query, field, matcher, found)?,
            QueryKind::ByFrequency(own) => match own {
                FrequencyQuery::Rewritten { field, matcher, .. } => self.pattern(query, field, matcher, found)?,
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
                    for words in of_documents.iter().flatten().chain(of_texts) {
                        let fields = words.fields.iter();
                        let terms = fields.flat_map(|field| words.counts.iter().map(move |(term, _)| (field, term)));
                        terms.for_each(|(field, term)| push(field, ClauseKind::Term(term.clone())));
                    }
                }
                FrequencyQuery::Similar { .. } => {}
                // The terms are those of the index, as of the search.
                FrequencyQuery::Fuzzy { .. } => {
                    let terms = own.resolve(self.rewriter.view, self.rewriter.budget)?;
                    self.collect(&terms, in_constant, found)?;
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
                    self.collect(query, in_constant, found)?;
                }
            }
            QueryKind::DisjunctionMax { queries, .. } => {
                queries
                    .iter()
                    .try_for_each(|query| self.collect(query, in_constant, found))?;
            }
            // A filter is a constant query within a constant query: not highlighted.
            QueryKind::Constant { query, .. } if !in_constant => self.collect(query, true, found)?,
            QueryKind::Functions { query, .. } | QueryKind::Filtered { query, .. } => {
                self.collect(query, in_constant, found)?
            }
            QueryKind::Boosting { positive, negative, .. } => {
                self.collect(positive, in_constant, found)?;
                self.collect(negative, in_constant, found)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Collects the clauses of a pattern.
    fn pattern(&self, query: &Query, field: &QueryField, matcher: &Matcher, found: &mut Vec<Clause>) -> Result<()> {
        let Some(expansions) = self.expansions else {
            push(found, query, field, ClauseKind::Test(TermTest::new(matcher)?));
            return Ok(());
        };
        let pattern = FrequencyQuery::Rewritten {
            field: field.clone(),
            matcher: matcher.clone(),
            rewrite: Rewrite::Top(expansions),
        };
        let terms = pattern.resolve(self.rewriter.view, self.rewriter.budget)?;
        let first = found.len();
        self.collect(&terms, false, found)?;
        found
            .iter_mut()
            .skip(first)
            .for_each(|clause| clause.boost *= query.boost);
        Ok(())
    }
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
        self.similarity(text).is_some()
    }

    /// Returns the boost of a single term that is part of the clause: less than 1 if it is only similar.
    pub(super) fn similarity(&self, text: &str) -> Option<f32> {
        let is_part = match self {
            ClauseKind::Term(term) => term == text,
            ClauseKind::Test(test) => return test.similarity(text),
            ClauseKind::Phrase(slots, _) => {
                let mut phrase_terms = slots.iter().flat_map(|(_, phrase_terms)| phrase_terms);
                phrase_terms.any(|phrase_terms| phrase_terms.accepts(text))
            }
            ClauseKind::Span(_, leaves) => leaves.iter().any(|leaf| leaf.accepts(text)),
        };
        is_part.then_some(1.0)
    }
}
