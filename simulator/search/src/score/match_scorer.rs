//! Scorers that verify candidate documents.

use super::{END, Scorer};

/// Search for matching documents.
pub(super) trait DocMatcher {
    /// Returns the first matching document from `target` on, or [`END`].
    fn next_match(&mut self, target: u32) -> u32;

    /// Score of the document that was found last.
    fn score(&mut self, doc: u32) -> f32;
}

/// Scorer of the documents that a [`DocMatcher`] finds.
pub(super) struct MatchScorer<M> {
    pub(super) matcher: M,
    doc: u32,
}

impl<M: DocMatcher> MatchScorer<M> {
    /// Creates a scorer that is positioned on the first match.
    pub(super) fn of(mut matcher: M) -> MatchScorer<M> {
        let doc = matcher.next_match(0);
        MatchScorer { matcher, doc }
    }
}

impl<M: DocMatcher> Scorer for MatchScorer<M> {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn advance(&mut self) -> u32 {
        if self.doc != END {
            self.doc = self.matcher.next_match(self.doc + 1);
        }
        self.doc
    }

    fn seek(&mut self, target: u32) -> u32 {
        if self.doc < target {
            self.doc = self.matcher.next_match(target);
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        self.matcher.score(self.doc)
    }
}
