//! Queries whose terms are known before they are rewritten.
//!
//! Source: `Query.extractTerms` of Lucene 4.10, which queries that are rewritten do not support.

use super::{FrequencyQuery, Occur, Query, QueryKind, SpanQuery};
use crate::error::{Result, SearchError};
use crate::exception::Exception;

/// Returns the error of a query whose terms depend on the index.
fn unsupported() -> Result<()> {
    Err(SearchError::new(500, Exception::UnsupportedOperation, ""))
}

impl Query {
    /// Checks that the terms of the query are known before it is rewritten for an index.
    ///
    /// # Errors
    /// The error of the first query whose terms are not.
    pub(crate) fn check_terms_are_known(&self) -> Result<()> {
        match &self.kind {
            QueryKind::PhrasePrefix { .. }
            | QueryKind::MultiTerm { .. }
            | QueryKind::Range { .. }
            | QueryKind::IdPattern(_)
            | QueryKind::Boosting { .. } => unsupported(),
            QueryKind::Related(_) => Err(SearchError::null_pointer()),
            QueryKind::ByFrequency(FrequencyQuery::Common { .. }) => Ok(()),
            QueryKind::ByFrequency(_) => unsupported(),
            // The terms of a filter do not count.
            QueryKind::Constant { form: Some(_), .. } => Ok(()),
            QueryKind::Constant { query, form: None }
            | QueryKind::Filtered { query, .. }
            | QueryKind::Functions { query, .. } => query.check_terms_are_known(),
            QueryKind::Nested(nested) => nested.query.check_terms_are_known(),
            QueryKind::Bool { clauses, .. } => {
                let mut counted = clauses.iter().filter(|(occur, _)| *occur != Occur::MustNot);
                counted.try_for_each(|(_, query)| query.check_terms_are_known())
            }
            QueryKind::DisjunctionMax { queries, .. } => queries.iter().try_for_each(Query::check_terms_are_known),
            QueryKind::Span(span) => span.check_terms_are_known(),
            _ => Ok(()),
        }
    }
}

impl SpanQuery {
    fn check_terms_are_known(&self) -> Result<()> {
        match self {
            SpanQuery::MultiTerm { .. } => unsupported(),
            SpanQuery::Term { .. } => Ok(()),
            SpanQuery::Boosted(inner, _) | SpanQuery::Masked { inner, .. } | SpanQuery::First { inner, .. } => {
                inner.check_terms_are_known()
            }
            SpanQuery::Not { include, .. } => include.check_terms_are_known(),
            SpanQuery::Or(clauses) | SpanQuery::Near { clauses, .. } => {
                clauses.iter().try_for_each(SpanQuery::check_terms_are_known)
            }
        }
    }
}
