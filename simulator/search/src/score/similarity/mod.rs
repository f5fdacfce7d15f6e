//! Weights of terms, phrases and spans by the similarity of their field.
//!
//! Source: the similarities of Lucene 4.10 and their weights.

mod basic;
mod divergence;
mod explanation;

pub(super) use basic::Basic;
pub(super) use explanation::Found;

use std::sync::Arc;

use crate::error::Result;
use crate::index::Segment;
use crate::query::QueryField;
use crate::score::idf;
use crate::score::statistics::TermStatistics;
use crate::score::term_score::TermScore;
use crate::similarity::Model;

impl Model {
    /// Whether scores depend on how often a term occurs in all documents.
    pub(super) fn uses_occurrences(self) -> bool {
        !matches!(self, Model::Classic | Model::Bm25 { .. })
    }
}

/// Computes the inverse document frequency of a term for BM25.
fn bm25_idf(doc_freq: u32, max_doc: u32) -> f32 {
    let (doc_freq, max_doc) = (f64::from(doc_freq), f64::from(max_doc));
    (1.0 + (max_doc - doc_freq + 0.5) / (doc_freq + 0.5)).ln() as f32
}

/// Weight of the terms of a query in a field.
pub(super) struct SimilarityWeight {
    pub(super) field: QueryField,
    /// Statistics of the terms.
    terms: Vec<TermStatistics>,
    /// Number of terms in the field. `None`: it is unknown, or the similarity does not use it.
    length: Option<u64>,
    /// Sum of the inverse document frequencies.
    idf: f32,
    /// Norm of the query and boosts of the queries around it, once normalized.
    query_norm: f32,
    /// Product of its boost and those of the queries around it, once normalized.
    boost: f32,
}

impl SimilarityWeight {
    pub(super) fn new(field: &QueryField, terms: Vec<TermStatistics>, length: Option<u64>) -> SimilarityWeight {
        let mut weight = SimilarityWeight {
            field: field.clone(),
            terms,
            length,
            idf: 0.0,
            query_norm: 1.0,
            boost: 1.0,
        };
        weight.idf = weight.terms.iter().fold(0.0, |sum, term| sum + weight.idf_of(term));
        weight
    }

    fn model(&self) -> Model {
        self.field.similarity.model
    }

    fn idf_of(&self, term: &TermStatistics) -> f32 {
        match self.model() {
            Model::Bm25 { .. } => bm25_idf(term.doc_freq, term.max_doc),
            _ => idf(term.doc_freq, term.max_doc),
        }
    }

    /// What the weight adds to the sum of squares of the query.
    pub(super) fn sum_of_squares(&self, boost: f32) -> f32 {
        match self.model() {
            Model::Classic | Model::Bm25 { .. } => (self.idf * boost) * (self.idf * boost),
            _ => boost * boost,
        }
    }

    /// Normalizes the weight. Returns the factor of its scores.
    pub(super) fn normalize(&mut self, boost: f32, norm: f32, top_boost: f32) -> f32 {
        self.query_norm = norm * top_boost;
        self.boost = boost * top_boost;
        match self.model() {
            Model::Classic => self.idf * boost * self.query_norm * self.idf,
            Model::Bm25 { .. } => self.idf * boost * top_boost,
            _ => self.boost,
        }
    }

    /// Average length of the field in a document.
    fn average_length(&self) -> f32 {
        let documents = self.terms.first().map_or(0, |term| term.max_doc);
        match self.length.filter(|length| *length > 0) {
            Some(length) => (length as f64 / f64::from(documents)) as f32,
            None => 1.0,
        }
    }

    fn norms(&self, segment: &Segment) -> Result<Option<Arc<[u8]>>> {
        let ordinal = self.field.ordinal.filter(|_| self.field.norms);
        ordinal.map(|ordinal| segment.norms(ordinal)).transpose()
    }

    fn basic(&self) -> Basic {
        Basic::new(self.model(), self.boost, &self.terms, self.length)
    }

    /// Returns the scores in a segment. `value` is what [`SimilarityWeight::normalize`] returned.
    pub(super) fn term_score(&self, value: f32, segment: &Segment) -> Result<TermScore> {
        let norms = self.norms(segment)?;
        Ok(match self.model() {
            Model::Classic => TermScore::classic(value, norms),
            Model::Bm25 { k1, b } => TermScore::bm25(value, (k1, b), self.average_length(), norms),
            _ => TermScore::basic(Arc::new(self.basic()), norms),
        })
    }
}
