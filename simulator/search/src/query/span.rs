//! Span queries: their matches are ranges of positions.
//!
//! Source: Lucene 4.10's span queries.

use crate::budget::Budget;
use crate::error::Result;
use crate::index::View;
use crate::json::java_number;
use crate::query::{Matcher, Query, QueryField, QueryKind, label, terms_of};

/// A span query over one field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SpanQuery {
    /// A query within another one, with a boost that prints and does not count.
    Boosted(Box<SpanQuery>, f32),
    /// A query whose spans count as those of another field.
    Masked {
        inner: Box<SpanQuery>,
        field: QueryField,
    },
    Term {
        field: QueryField,
        text: String,
    },
    MultiTerm {
        field: QueryField,
        matcher: Matcher,
        /// A boost that prints and does not count.
        boost: f32,
    },
    Or(Vec<SpanQuery>),
    Near {
        clauses: Vec<SpanQuery>,
        slop: i64,
        in_order: bool,
    },
    First {
        inner: Box<SpanQuery>,
        end: u32,
    },
    Not {
        include: Box<SpanQuery>,
        exclude: Box<SpanQuery>,
        before: u32,
        after: u32,
    },
}

impl SpanQuery {
    /// Field of the query.
    pub(crate) fn field(&self) -> Option<&QueryField> {
        match self {
            SpanQuery::Term { field, .. } | SpanQuery::MultiTerm { field, .. } | SpanQuery::Masked { field, .. } => {
                Some(field)
            }
            SpanQuery::Boosted(inner, _) => inner.field(),
            SpanQuery::Or(clauses) | SpanQuery::Near { clauses, .. } => clauses.first()?.field(),
            SpanQuery::First { inner, .. } => inner.field(),
            SpanQuery::Not { include, .. } => include.field(),
        }
    }

    /// Clauses whose terms are scored.
    pub(crate) fn clauses(&self) -> Vec<&SpanQuery> {
        match self {
            SpanQuery::Term { .. } | SpanQuery::MultiTerm { .. } => vec![],
            SpanQuery::Or(clauses) | SpanQuery::Near { clauses, .. } => clauses.iter().collect(),
            SpanQuery::First { inner, .. } | SpanQuery::Boosted(inner, _) | SpanQuery::Masked { inner, .. } => {
                vec![inner]
            }
            SpanQuery::Not { include, .. } => vec![include],
        }
    }

    /// Replaces patterns by their terms, and a query whose spans count as those of another field by its inner query,
    /// as a weight does.
    pub(crate) fn rewritten(&self, view: &View, budget: &Budget) -> Result<SpanQuery> {
        match self {
            SpanQuery::Masked { inner, .. } => inner.expanded(view, budget),
            other => other.expanded(view, budget),
        }
    }

    fn expanded(&self, view: &View, budget: &Budget) -> Result<SpanQuery> {
        let each = |clause: &SpanQuery| clause.expanded(view, budget);
        let all = |clauses: &[SpanQuery]| clauses.iter().map(each).collect::<Result<Vec<_>>>();
        let inside = |inner: &SpanQuery| each(inner).map(Box::new);
        Ok(match self {
            SpanQuery::Term { .. } => self.clone(),
            SpanQuery::MultiTerm { field, matcher, .. } => {
                let terms = terms_of(view, field, matcher, budget)?;
                let term = |text| SpanQuery::Term {
                    field: field.clone(),
                    text,
                };
                SpanQuery::Or(terms.into_iter().map(term).collect())
            }
            SpanQuery::Boosted(inner, boost) => SpanQuery::Boosted(inside(inner)?, *boost),
            SpanQuery::Masked { inner, field } => SpanQuery::Masked {
                inner: inside(inner)?,
                field: field.clone(),
            },
            SpanQuery::Or(clauses) => SpanQuery::Or(all(clauses)?),
            SpanQuery::Near {
                clauses,
                slop,
                in_order,
            } => SpanQuery::Near {
                clauses: all(clauses)?,
                slop: *slop,
                in_order: *in_order,
            },
            SpanQuery::First { inner, end } => SpanQuery::First {
                inner: inside(inner)?,
                end: *end,
            },
            SpanQuery::Not {
                include,
                exclude,
                before,
                after,
            } => SpanQuery::Not {
                include: inside(include)?,
                exclude: inside(exclude)?,
                before: *before,
                after: *after,
            },
        })
    }

    /// Prints the query as Lucene does.
    pub(crate) fn label(&self) -> String {
        let all = |clauses: &[SpanQuery]| clauses.iter().map(SpanQuery::label).collect::<Vec<_>>().join(", ");
        match self {
            SpanQuery::Term { field, text } => format!("{}:{text}", field.name),
            SpanQuery::MultiTerm { field, matcher, boost } => {
                let inner = QueryKind::MultiTerm {
                    field: field.clone(),
                    matcher: matcher.clone(),
                };
                format!(
                    "SpanMultiTermQueryWrapper({})",
                    label(&Query::from(inner).boosted(*boost))
                )
            }
            SpanQuery::Boosted(inner, boost) => format!("{}^{}", inner.label(), java_number(*boost)),
            SpanQuery::Masked { inner, field } => format!("mask({}) as {}", inner.label(), field.name),
            SpanQuery::Or(clauses) => format!("spanOr([{}])", all(clauses)),
            SpanQuery::Near {
                clauses,
                slop,
                in_order,
            } => format!("spanNear([{}], {slop}, {in_order})", all(clauses)),
            SpanQuery::First { inner, end } => format!("spanFirst({}, {end})", inner.label()),
            SpanQuery::Not {
                include,
                exclude,
                before,
                after,
            } => format!("spanNot({}, {}, {before}, {after})", include.label(), exclude.label()),
        }
    }
}
