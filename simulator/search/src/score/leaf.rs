//! Leaf scorers: a term, a set of documents, all documents.

use tantivy::DocSet;
use tantivy::postings::{Postings, SegmentPostings};

use super::term_score::TermScore;
use super::{END, Scorer};
use crate::index::Bits;

/// Scorer of a term.
pub(super) struct TermScorer {
    pub(super) postings: SegmentPostings,
    pub(super) score: TermScore,
}

impl Scorer for TermScorer {
    #[inline]
    fn doc(&self) -> u32 {
        self.postings.doc()
    }

    #[inline]
    fn advance(&mut self) -> u32 {
        self.postings.advance()
    }

    #[inline]
    fn seek(&mut self, target: u32) -> u32 {
        if self.postings.doc() >= target {
            self.postings.doc()
        } else {
            self.postings.seek(target)
        }
    }

    #[inline]
    fn score(&mut self) -> f32 {
        self.score.of(self.postings.doc(), self.postings.term_freq())
    }
}

/// Scorer of a set of documents, with a constant score.
pub(super) struct BitsScorer {
    bits: Bits,
    doc: u32,
    score: f32,
}

impl BitsScorer {
    pub(super) fn new(bits: Bits, score: f32) -> BitsScorer {
        let doc = bits.next(0).unwrap_or(END);
        BitsScorer { bits, doc, score }
    }
}

impl Scorer for BitsScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn advance(&mut self) -> u32 {
        if self.doc != END {
            self.doc = self.bits.next(self.doc + 1).unwrap_or(END);
        }
        self.doc
    }

    fn seek(&mut self, target: u32) -> u32 {
        if self.doc < target {
            self.doc = self.bits.next(target).unwrap_or(END);
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        self.score
    }

    fn remaining(&self) -> Option<u64> {
        Some(u64::from(self.bits.count_above(self.doc)))
    }
}

/// Scorer of the documents of a term, each of which has it once.
pub(super) struct ListedTermScorer {
    docs: BitsScorer,
    score: TermScore,
}

impl ListedTermScorer {
    pub(super) fn new(docs: Bits, score: TermScore) -> ListedTermScorer {
        ListedTermScorer {
            docs: BitsScorer::new(docs, 0.0),
            score,
        }
    }
}

impl Scorer for ListedTermScorer {
    fn doc(&self) -> u32 {
        self.docs.doc()
    }

    fn advance(&mut self) -> u32 {
        self.docs.advance()
    }

    fn seek(&mut self, target: u32) -> u32 {
        self.docs.seek(target)
    }

    fn score(&mut self) -> f32 {
        self.score.of(self.docs.doc(), 1)
    }
}

/// Scorer of all documents, with a constant score.
pub(super) struct AllScorer {
    doc: u32,
    max_doc: u32,
    score: f32,
}

impl AllScorer {
    pub(super) fn new(max_doc: u32, score: f32) -> AllScorer {
        AllScorer {
            doc: if max_doc == 0 { END } else { 0 },
            max_doc,
            score,
        }
    }
}

impl Scorer for AllScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn advance(&mut self) -> u32 {
        self.seek(self.doc.saturating_add(1))
    }

    fn seek(&mut self, target: u32) -> u32 {
        if self.doc < target {
            self.doc = if target < self.max_doc { target } else { END };
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        self.score
    }

    fn remaining(&self) -> Option<u64> {
        Some(u64::from(self.max_doc.saturating_sub(self.doc + 1)))
    }
}

/// Scorer that replaces the scores of another one by a constant.
pub(super) struct ConstantScorer {
    pub(super) inner: Box<dyn Scorer>,
    pub(super) score: f32,
}

impl Scorer for ConstantScorer {
    fn doc(&self) -> u32 {
        self.inner.doc()
    }

    fn advance(&mut self) -> u32 {
        self.inner.advance()
    }

    fn seek(&mut self, target: u32) -> u32 {
        self.inner.seek(target)
    }

    fn score(&mut self) -> f32 {
        self.score
    }

    fn remaining(&self) -> Option<u64> {
        self.inner.remaining()
    }
}
