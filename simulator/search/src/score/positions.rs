//! Check of what fails on a shard: phrases and spans on fields without positions, and scripts of filters.
//!
//! Source: Lucene 4.10's `PhraseQuery`, which fails on a segment that has the first term, and `SpanTermQuery`.

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::mapping::{ALL, Mapping};
use crate::query::QueryField;
use crate::score::weight::{Weight, WeightKind};

/// Fails if a field has no positions and documents have `term` in it.
fn check_field(mapping: &Mapping, field: &QueryField, query: &str, term: Option<&str>) -> Result<()> {
    let lacks_positions = match mapping.exact_field(&field.name) {
        Some(field) => !field.field_type.has_positions(),
        // A metadata field, but not `_all`.
        None => field.ordinal.is_some_and(|ordinal| ordinal != ALL),
    };
    match term.filter(|_| lacks_positions) {
        None => Ok(()),
        Some(term) => {
            let name = &field.name;
            let reason =
                format!("field \"{name}\" was indexed without position data; cannot run {query} (term={term})");
            Err(SearchError::new(500, Exception::IllegalState, reason))
        }
    }
}

impl Weight {
    /// Checks that fields of phrases and spans have positions, which fails only if documents have the first term, and
    /// that no script of a filter reads the score.
    ///
    /// # Errors
    /// The failure of the shard.
    pub(crate) fn check(&self, mapping: &Mapping) -> Result<()> {
        let check = |weight: &Weight| weight.check(mapping);
        match &self.kind {
            WeightKind::Phrase {
                similarity,
                first,
                slots,
                ..
            } => {
                let infos = slots.first().into_iter().flat_map(|slot| &slot.terms);
                let is_found = infos.flat_map(|(_, infos)| infos).any(Option::is_some);
                let term = Some(first.as_str()).filter(|_| is_found);
                check_field(mapping, &similarity.field, "PhraseQuery", term)
            }
            WeightKind::Span { similarity, span } => {
                check_field(mapping, &similarity.field, "SpanTermQuery", span.first_term())
            }
            WeightKind::Bool { clauses, .. } => clauses.iter().try_for_each(|(_, weight)| check(weight)),
            WeightKind::DisjunctionMax { weights, .. } => weights.iter().try_for_each(check),
            WeightKind::Boosting { positive, negative, .. } => check(positive).and_then(|()| check(negative)),
            WeightKind::Functions { query, functions, .. } => {
                let filters = functions.iter().filter_map(|(filter, _)| filter.as_ref());
                check(query).and_then(|()| filters.into_iter().try_for_each(check))
            }
            WeightKind::Failing(error) => Err(error.clone()),
            WeightKind::Nested { inner, .. } | WeightKind::Constant(inner) => check(inner),
            WeightKind::Filtered { query, filter } => check(query).and_then(|()| check(filter)),
            _ => Ok(()),
        }
    }
}
