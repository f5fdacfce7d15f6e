//! Properties of a weight that are known without iterating its documents.

use crate::budget::Budget;
use crate::error::Result;
use crate::index::{SegmentView, Within};
use crate::query::{Function, Occur, ScoreFunction};
use crate::score::weight::{Weight, WeightKind};

/// Number of terms above which a query is costly.
const COSTLY_TERMS: usize = 64;

impl Weight {
    /// Whether Lucene has a scorer for a segment: whether the terms that must match are in the segment.
    pub(super) fn has_scorer(&self, at: usize, view: &SegmentView, budget: &Budget) -> Result<bool> {
        let has = |weight: &Weight| weight.has_scorer(at, view, budget);
        match &self.kind {
            WeightKind::Phrase { .. } => Ok(self.phrase_scorer(at, &view.segment)?.is_some()),
            WeightKind::Span { .. } => Ok(true),
            WeightKind::Constant(query)
            | WeightKind::Boosting { positive: query, .. }
            | WeightKind::Functions { query, .. }
            | WeightKind::Filtered { query, .. } => has(query),
            WeightKind::DisjunctionMax { weights, .. } => {
                let found = weights.iter().map(has).collect::<Result<Vec<_>>>()?;
                Ok(found.contains(&true))
            }
            WeightKind::Bool {
                clauses,
                minimum_should_match,
                ..
            } => {
                let (mut required, mut optional) = (0usize, 0usize);
                for (occur, weight) in clauses {
                    match occur {
                        Occur::Must if !has(weight)? => return Ok(false),
                        Occur::Must => required += 1,
                        Occur::Should => optional += usize::from(has(weight)?),
                        Occur::MustNot => {}
                    }
                }
                Ok(optional >= *minimum_should_match && required + optional > 0)
            }
            _ => Ok(self.scorer(at, view, budget)?.is_some()),
        }
    }

    /// Whether iterating is slow enough to require checks of the deadline.
    pub(crate) fn is_costly(&self) -> bool {
        self.leaves() > COSTLY_TERMS
    }

    fn leaves(&self) -> usize {
        match &self.kind {
            WeightKind::Bool { clauses, .. } => clauses.iter().map(|(_, weight)| weight.leaves()).sum(),
            WeightKind::DisjunctionMax { weights, .. } => weights.iter().map(Weight::leaves).sum(),
            WeightKind::Boosting { positive, negative, .. } => positive.leaves() + negative.leaves(),
            WeightKind::Functions { query, functions, .. } => {
                let filters = functions.iter().filter_map(|(filter, _)| filter.as_ref());
                query.leaves() + filters.map(Weight::leaves).sum::<usize>()
            }
            WeightKind::Constant(inner) => inner.leaves(),
            WeightKind::Filtered { query, filter } => query.leaves() + filter.leaves(),
            WeightKind::Phrase { slots, .. } => slots.len(),
            _ => 1,
        }
    }

    /// Whether scoring a document can fail.
    pub(crate) fn can_fail(&self) -> bool {
        match &self.kind {
            WeightKind::Functions { query, functions, .. } => {
                let reads_field = |function: &ScoreFunction| matches!(function.function, Function::FieldValue { .. });
                query.can_fail() || functions.iter().any(|(_, function)| reads_field(function))
            }
            WeightKind::Bool { clauses, .. } => clauses.iter().any(|(_, weight)| weight.can_fail()),
            WeightKind::DisjunctionMax { weights, .. } => weights.iter().any(Weight::can_fail),
            WeightKind::Boosting { positive: query, .. }
            | WeightKind::Nested { inner: query, .. }
            | WeightKind::Filtered { query, .. } => query.can_fail(),
            _ => false,
        }
    }

    /// Score of every match, if it is constant.
    pub(crate) fn constant(&self) -> Option<f32> {
        match &self.kind {
            WeightKind::All
            | WeightKind::MultiTerm { .. }
            | WeightKind::Range { .. }
            | WeightKind::Docs { .. }
            | WeightKind::Constant(_) => Some(self.value),
            _ => None,
        }
    }

    /// Number of matches in a segment, if it is known without iterating.
    pub(crate) fn count(&self, at: usize, view: &SegmentView) -> Option<u64> {
        if view.deleted.is_some() {
            return None;
        }
        match &self.kind {
            WeightKind::Nothing | WeightKind::Failing(_) => Some(0),
            WeightKind::All => Some(u64::from(view.segment.max_doc())),
            WeightKind::Term { infos, .. } => infos
                .get(at)
                .map(|info| info.as_ref().map_or(0, |info| u64::from(info.doc_freq))),
            WeightKind::Constant(inner) => inner.count(at, view),
            WeightKind::Range { docs, .. } => match docs.get(at) {
                Some(Within::Some(docs)) => Some(u64::from(docs.len())),
                Some(Within::Everything) => Some(u64::from(view.segment.max_doc())),
                _ => Some(0),
            },
            WeightKind::MultiTerm { infos, .. } => match infos.get(at).map(Vec::as_slice) {
                None | Some([]) => Some(0),
                Some([only]) => Some(u64::from(only.doc_freq)),
                _ => None,
            },
            _ => None,
        }
    }
}
