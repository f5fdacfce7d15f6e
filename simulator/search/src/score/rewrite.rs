//! Rewriting of queries, with the terms and the frequencies of a shard.
//!
//! Source: `Query.rewrite` of Lucene 4.10's queries.

use std::borrow::Cow;

use crate::budget::Budget;
use crate::error::Result;
use crate::index::{View, Within};
use crate::query::{
    Expansion, FrequencyQuery, Matcher, NestedQuery, Occur, Query, QueryField, QueryKind, Rewrite, ScoredTerm, expand,
    terms_with_prefix,
};

/// Rewriter of queries for one shard.
pub(crate) struct Rewriter<'a> {
    pub(crate) view: &'a View,
    pub(crate) budget: &'a Budget,
    /// Whether queries without scores are rewritten, too. That changes explanations, but no scores.
    pub(crate) explains: bool,
}

impl Rewriter<'_> {
    /// Rewrites a query. Filters are not rewritten.
    pub(crate) fn rewrite<'q>(&self, query: &'q Query) -> Result<Cow<'q, Query>> {
        let boost = query.boost;
        if let Some(only) = only_clause(&query.kind) {
            return self.rewrite_new(times(only.clone(), boost));
        }
        let kind = match &query.kind {
            QueryKind::ByFrequency(by_frequency) => {
                let resolved = by_frequency.resolve(self.view, self.budget)?;
                return self.rewrite_new(times(resolved, boost));
            }
            QueryKind::MultiTerm { field, matcher } if self.explains || matches!(matcher, Matcher::Fuzzy { .. }) => {
                let docs = match expand(self.view, field, matcher, self.budget)? {
                    Expansion::Scored(near) => return self.rewrite_new(any_term(field, near.into_iter(), boost)),
                    Expansion::Constant(infos) => infos.iter().flatten().map(|info| info.doc_freq).sum::<u32>(),
                };
                // Few documents are found with clauses, many with a filter.
                if docs == 0 || docs < self.view.max_doc() / 1_000 {
                    let rewritten = FrequencyQuery::Rewritten {
                        field: field.clone(),
                        matcher: matcher.clone(),
                        rewrite: Rewrite::Constant,
                    };
                    return Ok(Cow::Owned(times(rewritten.resolve(self.view, self.budget)?, boost)));
                }
                constant(query.clone())
            }
            QueryKind::Range { field, range } if self.explains => {
                let (lower, upper) = range.ends();
                let mut found = false;
                for view in &self.view.segments {
                    if let Some(ordinal) = field.ordinal {
                        let docs = view.segment.values(ordinal)?;
                        found |= !matches!(docs.within(lower, upper, view.segment.max_doc()), Within::Nothing);
                    }
                }
                constant(if found { query.clone() } else { Query::bool(vec![]) })
            }
            QueryKind::PhrasePrefix {
                field,
                slots,
                slop,
                last,
                expansions,
            } => {
                let mut slots = slots.clone();
                if let Some((position, prefixes)) = last {
                    let mut texts = Vec::new();
                    for prefix in prefixes {
                        let most = expansions.saturating_sub(texts.len());
                        texts.extend(terms_with_prefix(self.view, field, prefix, most)?);
                    }
                    if texts.is_empty() {
                        return Ok(Cow::Owned(QueryKind::Nothing.into()));
                    }
                    if slots.is_empty() {
                        let near = texts.into_iter().map(|text| ScoredTerm { text, boost: 1.0 });
                        return self.rewrite_new(any_term(field, near, 1.0));
                    }
                    slots.push((*position, texts));
                }
                // Elasticsearch forgets the boost.
                return self.rewrite_new(Query::from(QueryKind::Phrase {
                    field: field.clone(),
                    slots,
                    slop: *slop,
                }));
            }
            QueryKind::Bool {
                clauses,
                minimum_should_match,
                coord,
            } => {
                let rewritten = self.all(clauses.iter().map(|(_, clause)| clause))?;
                let Some(rewritten) = rewritten else {
                    return Ok(Cow::Borrowed(query));
                };
                QueryKind::Bool {
                    clauses: clauses.iter().map(|(occur, _)| *occur).zip(rewritten).collect(),
                    minimum_should_match: *minimum_should_match,
                    coord: *coord,
                }
            }
            QueryKind::DisjunctionMax { queries, tie } => {
                let Some(queries) = self.all(queries.iter())? else {
                    return Ok(Cow::Borrowed(query));
                };
                QueryKind::DisjunctionMax { queries, tie: *tie }
            }
            QueryKind::Boosting {
                positive,
                negative,
                factor,
                ..
            } => QueryKind::Boosting {
                is_rewritten: true,
                positive: Box::new(self.rewrite(positive)?.into_owned()),
                negative: Box::new(self.rewrite(negative)?.into_owned()),
                factor: *factor,
            },
            QueryKind::Functions {
                query: inner,
                functions,
                settings,
            } => match self.rewrite(inner)? {
                Cow::Borrowed(_) => return Ok(Cow::Borrowed(query)),
                Cow::Owned(inner) => QueryKind::Functions {
                    query: Box::new(inner),
                    functions: functions.clone(),
                    settings: settings.clone(),
                },
            },
            QueryKind::Nested(nested) => match self.rewrite(&nested.query)? {
                Cow::Borrowed(_) => return Ok(Cow::Borrowed(query)),
                Cow::Owned(inner) => QueryKind::Nested(Box::new(NestedQuery {
                    query: inner,
                    ..NestedQuery::clone(nested)
                })),
            },
            QueryKind::Constant {
                query: inner,
                form: None,
            } => match self.rewrite(inner)? {
                Cow::Borrowed(_) => return Ok(Cow::Borrowed(query)),
                Cow::Owned(inner) => QueryKind::Constant {
                    query: Box::new(inner),
                    form: None,
                },
            },
            QueryKind::Filtered { query: inner, filter } => match (self.rewrite(inner)?, &inner.kind) {
                (_, QueryKind::AllDocs) if self.explains => {
                    return Ok(Cow::Owned(Query::clone(filter).constant().boosted(boost * inner.boost)));
                }
                (Cow::Borrowed(_), _) => return Ok(Cow::Borrowed(query)),
                (Cow::Owned(inner), _) => QueryKind::Filtered {
                    query: Box::new(inner),
                    filter: filter.clone(),
                },
            },
            _ => return Ok(Cow::Borrowed(query)),
        };
        Ok(Cow::Owned(Query { kind, boost }))
    }

    /// Rewrites a query that is the result of rewriting.
    fn rewrite_new<'q>(&self, query: Query) -> Result<Cow<'q, Query>> {
        Ok(Cow::Owned(match self.rewrite(&query)? {
            Cow::Owned(query) => query,
            Cow::Borrowed(_) => query,
        }))
    }

    /// Rewrites several queries. Returns `None` if no query changes.
    fn all<'q>(&self, queries: impl Iterator<Item = &'q Query>) -> Result<Option<Vec<Query>>> {
        let rewritten = queries.map(|query| self.rewrite(query)).collect::<Result<Vec<_>>>()?;
        let is_changed = rewritten.iter().any(|query| matches!(query, Cow::Owned(_)));
        Ok(is_changed.then(|| rewritten.into_iter().map(Cow::into_owned).collect()))
    }
}

fn times(query: Query, boost: f32) -> Query {
    let boost = query.boost * boost;
    query.boosted(boost)
}

/// Returns the disjunction of terms, each with a boost of its own.
fn any_term(field: &QueryField, near: impl Iterator<Item = ScoredTerm>, boost: f32) -> Query {
    Query::any_without_coord(near.map(|near| {
        let (field, text) = (field.clone().without_boosts(), near.text);
        Query::from(QueryKind::Term { field, text }).boosted(boost * near.boost)
    }))
}

fn constant(query: Query) -> QueryKind {
    QueryKind::Constant {
        query: Box::new(query),
        form: None,
    }
}

/// Returns the only clause of a query that has one.
fn only_clause(kind: &QueryKind) -> Option<&Query> {
    match kind {
        QueryKind::Bool {
            clauses,
            minimum_should_match: 0,
            ..
        } => match clauses.as_slice() {
            [(Occur::Must | Occur::Should, only)] => Some(only),
            _ => None,
        },
        QueryKind::DisjunctionMax { queries, .. } => match queries.as_slice() {
            [only] => Some(only),
            _ => None,
        },
        _ => None,
    }
}
