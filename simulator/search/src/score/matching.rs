//! Scorers whose documents are found by trying one candidate after the other.

use super::{END, Scorer};

/// Tries candidates until one matches.
pub(super) trait Matching {
    /// The first document from `target` on that matches, or [`END`].
    fn settle(&mut self, target: u32) -> u32;

    /// The score of the document that was found last.
    fn score(&mut self, doc: u32) -> f32;
}

/// The documents that a [`Matching`] finds.
pub(super) struct MatchScorer<M> {
    pub(super) matching: M,
    doc: u32,
}

impl<M: Matching> MatchScorer<M> {
    /// A scorer on the first document.
    pub(super) fn on(mut matching: M) -> MatchScorer<M> {
        let doc = matching.settle(0);
        MatchScorer { matching, doc }
    }
}

impl<M: Matching> Scorer for MatchScorer<M> {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn advance(&mut self) -> u32 {
        if self.doc != END {
            self.doc = self.matching.settle(self.doc + 1);
        }
        self.doc
    }

    fn seek(&mut self, target: u32) -> u32 {
        if self.doc < target {
            self.doc = self.matching.settle(target);
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        self.matching.score(self.doc)
    }
}
