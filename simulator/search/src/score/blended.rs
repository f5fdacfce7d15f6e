//! Statistics of a term that is searched in several fields at once.
//!
//! Source: Elasticsearch 1.5's `BlendedTermQuery`.

use crate::budget::Budget;
use crate::error::Result;
use crate::index::{View, field_prefix};
use crate::query::QueryField;
use crate::score::statistics;

/// Returns the number of documents that bounds the blended document frequencies: at most the number of terms in the
/// field with the fewest ones. Fields without term frequencies do not bound it.
pub(super) fn max_doc<'a>(
    view: &View,
    fields: impl Iterator<Item = &'a QueryField>,
    max_doc: u32,
    budget: &Budget,
) -> Result<u32> {
    let mut bound = max_doc;
    for field in fields {
        let count = occurrences(view, field, bound, budget)?;
        if count > 0 && !field.frequencies {
            return Ok(max_doc);
        }
        bound = bound.min(count);
    }
    Ok(bound)
}

/// Number of terms in a field, those of deleted documents included. Counts to `limit`.
fn occurrences(view: &View, field: &QueryField, limit: u32, budget: &Budget) -> Result<u32> {
    let Some(ordinal) = field.ordinal else { return Ok(0) };
    let (from, to) = (field_prefix(ordinal).to_string(), field_prefix(ordinal + 1).to_string());
    // The sum of the document frequencies is less, but needs no postings.
    let mut count = 0u32;
    for view in &view.segments {
        let mut stream = view.segment.terms().terms().range().ge(&from).lt(&to).into_stream()?;
        while count < limit && stream.advance() {
            budget.check()?;
            count = count.saturating_add(stream.value().doc_freq);
        }
    }
    if count >= limit {
        return Ok(limit);
    }
    let exact = statistics::length(view, field, budget)?;
    Ok(u32::try_from(exact).unwrap_or(limit).min(limit))
}
