//! Scores of the similarities that are sums over terms: divergence from randomness, information based, and language
//! models.
//!
//! Source: Lucene 4.10's `SimilarityBase` and `LMSimilarity`; C. Zhai and J. Lafferty, "A study of smoothing methods
//! for language models applied to ad hoc information retrieval".

use crate::score::statistics::TermStatistics;
use crate::similarity::Model;

/// Statistics of a term and of its field.
#[derive(Clone, Copy, Debug)]
pub(super) struct BasicStatistics {
    /// Number of documents.
    pub(super) documents: u32,
    /// Number of documents that have the term.
    pub(super) doc_freq: u32,
    /// Number of occurrences of the term.
    pub(super) total: u64,
    /// Number of terms in the field.
    pub(super) length: u64,
    /// Average length of the field in a document.
    pub(super) average_length: f32,
}

impl BasicStatistics {
    fn new(term: &TermStatistics, length: Option<u64>) -> BasicStatistics {
        let known = length.filter(|length| *length > 0);
        BasicStatistics {
            documents: term.max_doc,
            doc_freq: term.doc_freq,
            total: term.total,
            length: known.unwrap_or(u64::from(term.doc_freq)),
            average_length: known.map_or(1.0, |length| length as f32 / term.max_doc as f32),
        }
    }

    /// Probability of the term in the field of any document.
    pub(super) fn collection_probability(&self) -> f32 {
        (self.total as f32 + 1.0) / (self.length as f32 + 1.0)
    }
}

/// Weights of terms.
pub(in crate::score) struct Basic {
    pub(super) model: Model,
    pub(super) boost: f32,
    pub(super) terms: Vec<BasicStatistics>,
}

/// Part of a score with Dirichlet priors that depends on the frequency.
pub(super) fn dirichlet_weight(mu: f32, term: &BasicStatistics, frequency: f32) -> f64 {
    f64::from(1.0 + frequency / (mu * term.collection_probability())).ln()
}

/// Part of a score with Dirichlet priors that depends on the length.
pub(super) fn dirichlet_norm(mu: f32, length: f32) -> f64 {
    f64::from(mu / (length + mu)).ln()
}

impl Basic {
    pub(super) fn new(model: Model, boost: f32, terms: &[TermStatistics], length: Option<u64>) -> Basic {
        let terms = terms.iter().map(|term| BasicStatistics::new(term, length));
        Basic {
            model,
            boost,
            terms: terms.collect(),
        }
    }

    /// Score of a match with a frequency, in a field with a length.
    pub(in crate::score) fn score(&self, frequency: f32, length: f32) -> f32 {
        let scores = self.terms.iter().map(|term| self.score_of(term, frequency, length));
        scores.fold(0.0, |sum, score| sum + score)
    }

    /// Score of one of the terms.
    pub(super) fn score_of(&self, term: &BasicStatistics, frequency: f32, length: f32) -> f32 {
        match self.model {
            Model::Divergence {
                basic,
                effect,
                normalization,
            } => {
                let normalized = normalization.frequency(term, frequency, length);
                self.boost * basic.score(term, normalized) * effect.score(term, normalized)
            }
            Model::Information {
                distribution,
                lambda,
                normalization,
            } => {
                let normalized = normalization.frequency(term, frequency, length);
                self.boost * distribution.score(normalized, lambda.value(term))
            }
            Model::Dirichlet { mu } => {
                let score = dirichlet_weight(mu, term, frequency) + dirichlet_norm(mu, length);
                (self.boost * score as f32).max(0.0)
            }
            Model::JelinekMercer { lambda } => {
                let weight = ((1.0 - lambda) * frequency / length) / (lambda * term.collection_probability());
                self.boost * f64::from(1.0 + weight).ln() as f32
            }
            // These are not sums over terms.
            Model::Classic | Model::Bm25 { .. } => 0.0,
        }
    }
}
