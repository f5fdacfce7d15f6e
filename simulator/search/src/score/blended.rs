//! Statistics of a term that is searched in several fields at once.
//!
//! Source: Elasticsearch 1.5's `BlendedTermQuery`.

use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

use crate::budget::Budget;
use crate::error::Result;
use crate::index::{View, field_prefix};
use crate::query::QueryField;
use crate::score::END;

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
    for exact in [false, true] {
        let mut count = 0u32;
        for view in &view.segments {
            let mut stream = view.segment.terms().terms().range().ge(&from).lt(&to).into_stream()?;
            while count < limit && stream.advance() {
                budget.check()?;
                if !exact {
                    count = count.saturating_add(stream.value().doc_freq);
                    continue;
                }
                let mut postings = view.segment.postings(stream.value(), IndexRecordOption::WithFreqs)?;
                while count < limit && postings.doc() != END {
                    count = count.saturating_add(postings.term_freq());
                    postings.advance();
                }
            }
        }
        if exact || count >= limit {
            return Ok(count.min(limit));
        }
    }
    Ok(limit)
}
