//! Statistics of terms and fields.

use std::sync::Arc;

use tantivy::DocSet;
use tantivy::postings::{Postings, TermInfo};
use tantivy::schema::IndexRecordOption;

use crate::budget::Budget;
use crate::error::Result;
use crate::index::{View, term_key};
use crate::mapping::{FieldOrdinal, Mapping};
use crate::query::QueryField;
use crate::score::END;

/// Statistics of a term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TermStatistics {
    /// Number of documents that have the term.
    pub(crate) doc_freq: u32,
    /// Number of documents.
    pub(crate) max_doc: u32,
    /// Number of its occurrences. If the similarity of the field does not use it, or the field has no frequencies: its
    /// document frequency.
    pub(crate) total: u64,
}

/// Statistics of all shards of a search together.
pub(crate) struct Statistics(Vec<(Arc<Mapping>, Arc<View>)>);

impl Statistics {
    /// Returns the statistics of shards, with the mappings of their indices.
    pub(crate) fn of(shards: impl IntoIterator<Item = (Arc<Mapping>, Arc<View>)>) -> Statistics {
        Statistics(shards.into_iter().collect())
    }

    fn shards<'a>(&'a self, field: &'a QueryField) -> impl Iterator<Item = (FieldOrdinal, &'a View)> {
        let mapped =
            |(mapping, view): &'a (Arc<Mapping>, Arc<View>)| Some((mapping.field(&field.name)?.ordinal, &**view));
        self.0.iter().filter_map(mapped)
    }

    /// Statistics of a term.
    pub(super) fn of_term(&self, field: &QueryField, text: &str, budget: &Budget) -> Result<TermStatistics> {
        let (mut doc_freq, mut total) = (0u32, 0u64);
        for (ordinal, view) in self.shards(field) {
            let infos = infos_at(view, ordinal, text)?;
            let own = of_infos(view, field, &infos, budget)?;
            doc_freq = doc_freq.saturating_add(own.doc_freq);
            total += own.total;
        }
        let max_doc = self.0.iter().map(|(_, view)| view.max_doc());
        Ok(TermStatistics {
            doc_freq,
            max_doc: max_doc.fold(0, u32::saturating_add),
            total,
        })
    }

    /// Number of terms in a field.
    pub(super) fn length(&self, field: &QueryField, budget: &Budget) -> Result<u64> {
        let lengths = self
            .shards(field)
            .map(|(ordinal, view)| length_at(view, ordinal, budget));
        lengths.sum()
    }
}

fn infos_at(view: &View, ordinal: FieldOrdinal, text: &str) -> Result<Vec<Option<TermInfo>>> {
    let key = term_key(ordinal, text);
    view.segments.iter().map(|view| view.segment.term_info(&key)).collect()
}

/// Returns the postings of a term by segment.
pub(super) fn term_infos(view: &View, field: &QueryField, text: &str) -> Result<Vec<Option<TermInfo>>> {
    match field.ordinal {
        Some(ordinal) => infos_at(view, ordinal, text),
        None => Ok(vec![None; view.segments.len()]),
    }
}

/// Returns the statistics of a term in a shard, from its postings.
pub(super) fn of_infos(
    view: &View,
    field: &QueryField,
    infos: &[Option<TermInfo>],
    budget: &Budget,
) -> Result<TermStatistics> {
    let doc_freq = infos.iter().flatten().map(|info| info.doc_freq).sum();
    let mut total = u64::from(doc_freq);
    if field.frequencies && field.similarity.model.uses_occurrences() {
        total = 0;
        for (view, info) in view.segments.iter().zip(infos) {
            budget.check()?;
            let Some(info) = info else { continue };
            let mut postings = view.segment.postings(info, IndexRecordOption::WithFreqs)?;
            while postings.doc() != END {
                total += u64::from(postings.term_freq());
                postings.advance();
            }
        }
    }
    Ok(TermStatistics {
        doc_freq,
        max_doc: view.max_doc(),
        total,
    })
}

fn length_at(view: &View, ordinal: FieldOrdinal, budget: &Budget) -> Result<u64> {
    let lengths = view
        .segments
        .iter()
        .map(|view| view.segment.occurrences(ordinal, budget));
    lengths.sum()
}

/// Number of terms in a field of a shard.
pub(super) fn length(view: &View, field: &QueryField, budget: &Budget) -> Result<u64> {
    field.ordinal.map_or(Ok(0), |ordinal| length_at(view, ordinal, budget))
}
