//! Score of a match of a term, a phrase or a span in a document of a segment.

use std::sync::Arc;

use super::similarity::Basic;
use super::{length_of, norm_value};

/// Number of frequencies whose scores are precomputed.
const CACHED_FREQUENCIES: usize = 32;

/// Score of a match, from its frequency and the norm of the document.
pub(super) struct TermScore {
    model: Model,
    /// Norms of the documents. `None`: the field has none.
    norms: Option<Arc<[u8]>>,
}

enum Model {
    Classic {
        value: f32,
        cache: [f32; CACHED_FREQUENCIES],
    },
    Bm25 {
        value: f32,
        k1: f32,
        /// Length norms by encoded norm.
        lengths: Box<[f32; 256]>,
    },
    Basic(Arc<Basic>),
}

impl TermScore {
    /// `value` is the score of a match with a frequency and a norm of 1.
    pub(super) fn classic(value: f32, norms: Option<Arc<[u8]>>) -> TermScore {
        let mut cache = [0.0; CACHED_FREQUENCIES];
        for (frequency, slot) in (0u8..).zip(&mut cache) {
            *slot = f32::from(frequency).sqrt() * value;
        }
        let model = Model::Classic { value, cache };
        TermScore { model, norms }
    }

    /// `value` is the product of boosts and inverse document frequencies.
    pub(super) fn bm25(value: f32, (k1, b): (f32, f32), average: f32, norms: Option<Arc<[u8]>>) -> TermScore {
        let mut lengths = Box::new([0.0; 256]);
        for (norm, slot) in (0u8..=255).zip(&mut *lengths) {
            *slot = k1 * ((1.0 - b) + b * length_of(norm) / average);
        }
        let model = Model::Bm25 {
            value: value * (k1 + 1.0),
            k1,
            lengths,
        };
        TermScore { model, norms }
    }

    pub(super) fn basic(basic: Arc<Basic>, norms: Option<Arc<[u8]>>) -> TermScore {
        let model = Model::Basic(basic);
        TermScore { model, norms }
    }

    #[inline]
    pub(super) fn of(&self, doc: u32, frequency: u32) -> f32 {
        match &self.model {
            Model::Classic { cache, .. } if (frequency as usize) < CACHED_FREQUENCIES => {
                self.normed(doc, cache[frequency as usize])
            }
            _ => self.of_sloppy(doc, frequency as f32),
        }
    }

    /// Score for a fractional frequency, of a sloppy phrase or a span.
    pub(super) fn of_sloppy(&self, doc: u32, frequency: f32) -> f32 {
        match &self.model {
            Model::Classic { value, .. } => self.normed(doc, frequency.sqrt() * value),
            Model::Bm25 { value, k1, lengths } => {
                let norm = self.norm(doc).map_or(*k1, |norm| lengths[usize::from(norm)]);
                value * frequency / (frequency + norm)
            }
            Model::Basic(basic) => basic.score(frequency, self.norm(doc).map_or(1.0, length_of)),
        }
    }

    #[inline]
    fn normed(&self, doc: u32, raw: f32) -> f32 {
        self.norm(doc).map_or(raw, |norm| raw * norm_value(norm))
    }

    #[inline]
    fn norm(&self, doc: u32) -> Option<u8> {
        let norms = self.norms.as_ref()?;
        Some(norms.get(doc as usize).copied().unwrap_or(0))
    }
}
