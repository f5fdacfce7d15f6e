//! Phrases over fields whose postings have no positions.
//!
//! Source: Lucene 4.10's `PhraseQuery`, which fails on a segment that has the first term.

use crate::error::{Result, SearchError};
use crate::mapping::Mapping;
use crate::score::weight::{Weight, WeightKind};

impl Weight {
    /// Fails for a phrase of a field without positions, if documents have its first term.
    ///
    /// # Errors
    /// The failure of the shard.
    pub(crate) fn check_positions(&self, mapping: &Mapping) -> Result<()> {
        let check = |weight: &Weight| weight.check_positions(mapping);
        match &self.kind {
            WeightKind::Phrase {
                field, first, slots, ..
            } => {
                let mapped = mapping.exact_field(&field.name);
                let lacks_positions = mapped.is_some_and(|field| !field.field_type.has_positions());
                let infos = slots.first().into_iter().flat_map(|slot| &slot.terms);
                let mut segments = infos.flat_map(|(_, infos)| infos);
                if lacks_positions && segments.any(Option::is_some) {
                    let name = &field.name;
                    let reason = format!(
                        "field \"{name}\" was indexed without position data; cannot run PhraseQuery (term={first})"
                    );
                    return Err(SearchError::new(500, "IllegalStateException", reason));
                }
                Ok(())
            }
            WeightKind::Bool { clauses, .. } => clauses.iter().try_for_each(|(_, weight)| check(weight)),
            WeightKind::DisjunctionMax { weights, .. } => weights.iter().try_for_each(check),
            WeightKind::Boosting { positive, negative, .. } => check(positive).and_then(|()| check(negative)),
            WeightKind::Functions { query, functions, .. } => {
                let filters = functions.iter().filter_map(|(filter, _)| filter.as_ref());
                check(query).and_then(|()| filters.into_iter().try_for_each(check))
            }
            WeightKind::Nested { inner, .. } | WeightKind::Constant(inner) => check(inner),
            WeightKind::Filtered { query, filter } => check(query).and_then(|()| check(filter)),
            _ => Ok(()),
        }
    }
}
