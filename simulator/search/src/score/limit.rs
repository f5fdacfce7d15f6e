//! The `limit` filter: the first documents of a segment that it is asked for.
//!
//! Source: `LimitFilter` of Elasticsearch 1.5, which counts the documents that a query has found before it, and all
//! documents if there is no other query.

use super::{END, Scorer};
use crate::index::{Bits, SegmentView};

/// Scorer of the first documents that are asked for.
pub(super) struct LimitScorer {
    docs: Bits,
    view: SegmentView,
    doc: u32,
    /// Whether the document counts already.
    is_counted: bool,
    /// How many more documents pass.
    left: u32,
}

impl LimitScorer {
    pub(super) fn new(docs: Bits, view: &SegmentView, limit: u32) -> LimitScorer {
        let first = docs.next(0).filter(|_| limit > 0);
        LimitScorer {
            view: view.clone(),
            doc: first.unwrap_or(END),
            docs,
            is_counted: false,
            left: limit,
        }
    }

    /// Counts the current document, unless none more passes.
    fn count(&mut self) {
        if self.doc == END || self.is_counted {
            return;
        }
        match self.left.checked_sub(1) {
            Some(left) => (self.left, self.is_counted) = (left, true),
            None => self.doc = END,
        }
    }

    fn move_to(&mut self, target: u32) {
        self.doc = self.docs.next(target).unwrap_or(END);
        self.is_counted = false;
    }
}

impl Scorer for LimitScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn advance(&mut self) -> u32 {
        self.count();
        if self.doc != END {
            self.move_to(self.doc + 1);
            self.count();
        }
        self.doc
    }

    fn seek(&mut self, target: u32) -> u32 {
        if self.doc < target {
            self.move_to(target);
        }
        // Queries do not find deleted documents.
        if self.doc == target && self.view.is_live(target) {
            self.count();
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        1.0
    }
}
