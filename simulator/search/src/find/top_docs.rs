//! Collection of the best hits.

use std::cmp::Ordering;

use crate::find::sort::{SortSpec, SortValue, compare};

/// A document that matched.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Position of its shard among the searched shards.
    pub(crate) index: usize,
    /// Number of its segment in the view.
    pub(crate) segment: usize,
    /// Document number in the segment.
    pub(crate) doc: u32,
    pub(crate) score: f32,
    /// Sort values; empty if hits are sorted by score only.
    pub(crate) sort: Vec<SortValue>,
}

impl Candidate {
    /// Creates a candidate without sort values.
    pub(crate) fn new(index: usize, segment: usize, doc: u32, score: f32) -> Candidate {
        Candidate {
            index,
            segment,
            doc,
            score,
            sort: vec![],
        }
    }
}

/// Collector of the best `limit` candidates. Candidates must be pushed in the order of shard, segment and document.
pub(crate) struct TopDocs {
    specs: Vec<SortSpec>,
    limit: usize,
    kept: Vec<Candidate>,
    /// Score that a further candidate must exceed, once there are `limit` candidates.
    threshold: f32,
    /// Candidates up to this one in the order are skipped.
    after: Option<Candidate>,
}

impl TopDocs {
    pub(crate) fn new(specs: &[SortSpec], limit: usize) -> TopDocs {
        TopDocs {
            specs: specs.to_vec(),
            limit,
            kept: Vec::new(),
            // With a limit of 0, no candidate is collected.
            threshold: if limit == 0 { f32::INFINITY } else { f32::NEG_INFINITY },
            after: None,
        }
    }

    /// Collects only candidates that come after `after` in the order.
    pub(crate) fn after(self, after: Candidate) -> TopDocs {
        TopDocs {
            after: Some(after),
            ..self
        }
    }

    /// Returns whether a candidate with this score can be among the best. Valid only if hits are sorted by score only.
    #[inline]
    pub(crate) fn is_competitive(&self, score: f32) -> bool {
        score > self.threshold
    }

    /// Score that a further candidate must exceed.
    pub(crate) fn threshold(&self) -> f32 {
        self.threshold
    }

    pub(crate) fn push(&mut self, candidate: Candidate) {
        let is_done = |after: &Candidate| TopDocs::order(&self.specs, &candidate, after) != Ordering::Greater;
        if self.limit == 0 || self.after.as_ref().is_some_and(is_done) {
            return;
        }
        self.kept.push(candidate);
        if self.kept.len() >= self.limit.saturating_mul(2).max(64) {
            self.shrink();
        }
    }

    fn order(specs: &[SortSpec], a: &Candidate, b: &Candidate) -> Ordering {
        let first = if specs.is_empty() {
            b.score.total_cmp(&a.score)
        } else {
            compare(specs, &a.sort, &b.sort)
        };
        first.then_with(|| (a.index, a.segment, a.doc).cmp(&(b.index, b.segment, b.doc)))
    }

    fn shrink(&mut self) {
        if self.kept.len() > self.limit {
            let specs = &self.specs;
            self.kept
                .select_nth_unstable_by(self.limit - 1, |a, b| TopDocs::order(specs, a, b));
            self.kept.truncate(self.limit);
            if self.specs.is_empty()
                && let Some(last) = self.kept.last()
            {
                self.threshold = last.score;
            }
        }
    }

    /// Returns the best candidates in order.
    pub(crate) fn finish(mut self) -> Vec<Candidate> {
        self.shrink();
        let specs = &self.specs;
        self.kept.sort_unstable_by(|a, b| TopDocs::order(specs, a, b));
        self.kept
    }
}
