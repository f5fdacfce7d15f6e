//! Leaf scorers: a term, a set of documents, all documents.

use std::sync::Arc;

use tantivy::DocSet;
use tantivy::postings::{Postings, SegmentPostings};

use super::{END, Scorer, norm_value};
use crate::index::Bits;

/// Number of frequencies whose scores are precomputed.
const CACHED_FREQUENCIES: usize = 32;

/// Score of a term, from its frequency and the norm of the document.
pub(super) struct TermScore {
    value: f32,
    norms: Option<Arc<[u8]>>,
    cache: [f32; CACHED_FREQUENCIES],
}

impl TermScore {
    pub(super) fn new(value: f32, norms: Option<Arc<[u8]>>) -> TermScore {
        let mut cache = [0.0; CACHED_FREQUENCIES];
        for (frequency, slot) in (0u8..).zip(&mut cache) {
            *slot = f32::from(frequency).sqrt() * value;
        }
        TermScore { value, norms, cache }
    }

    #[inline]
    pub(super) fn of(&self, doc: u32, frequency: u32) -> f32 {
        let raw = self
            .cache
            .get(frequency as usize)
            .copied()
            .unwrap_or_else(|| (frequency as f32).sqrt() * self.value);
        self.normed(doc, raw)
    }

    /// Score for a fractional frequency, of a sloppy phrase or a span.
    pub(super) fn of_sloppy(&self, doc: u32, frequency: f32) -> f32 {
        self.normed(doc, frequency.sqrt() * self.value)
    }

    #[inline]
    fn normed(&self, doc: u32, raw: f32) -> f32 {
        match &self.norms {
            None => raw,
            Some(norms) => raw * norm_value(norms.get(doc as usize).copied().unwrap_or(0)),
        }
    }
}

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
