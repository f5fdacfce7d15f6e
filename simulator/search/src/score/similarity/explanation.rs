//! Explanations of the scores of terms, phrases and spans.
//!
//! Source: the explanations of Lucene 4.10's similarities.

use super::SimilarityWeight;
use super::basic::{Basic, BasicStatistics, dirichlet_norm, dirichlet_weight};
use crate::error::Result;
use crate::index::SegmentView;
use crate::json::java_number;
use crate::query::boost_label;
use crate::score::explanation::Explanation;
use crate::score::statistics::TermStatistics;
use crate::score::{length_of, norm_value};
use crate::similarity::{AfterEffect, BasicModel, Model, Normalization};

/// A match in a document, to explain.
pub(in crate::score) struct Found {
    /// The query.
    pub(in crate::score) name: String,
    pub(in crate::score) doc: u32,
    pub(in crate::score) frequency: f32,
    /// What the frequency counts.
    pub(in crate::score) frequency_name: &'static str,
    /// Boost of the query.
    pub(in crate::score) boost: f32,
    pub(in crate::score) score: f32,
}

fn leaf(value: f32, name: impl Into<String>) -> Explanation {
    Explanation::new(value, name, vec![])
}

impl Found {
    fn frequency(&self) -> Explanation {
        let shown = java_number(self.frequency);
        leaf(self.frequency, format!("{}={shown}", self.frequency_name))
    }
}

impl SimilarityWeight {
    /// Explains the score of a match.
    pub(in crate::score) fn explanation(&self, found: Found, view: &SegmentView) -> Result<Explanation> {
        let norms = self.norms(&view.segment)?;
        let norm = norms.map(|norms| norms.get(found.doc as usize).copied().unwrap_or(0));
        let inner = match self.model() {
            Model::Classic => self.classic(&found, norm),
            Model::Bm25 { k1, b } => self.bm25(&found, norm, (k1, b)),
            _ => self.basic().explanation(&found, norm.map_or(1.0, length_of)),
        };
        let (name, doc) = (found.name + &boost_label(found.boost), found.doc);
        let what = format!("weight({name} in {doc}) [PerFieldSimilarity], result of:");
        Ok(Explanation::new(found.score, what, vec![inner]))
    }

    /// Explains the inverse document frequency of the terms.
    fn idf_explanation(&self) -> Explanation {
        let shown = |term: &TermStatistics| format!("idf(docFreq={}, maxDocs={})", term.doc_freq, term.max_doc);
        match self.terms.as_slice() {
            [only] => leaf(self.idf, shown(only)),
            several => {
                let parts = several.iter().map(|term| leaf(self.idf_of(term), shown(term)));
                Explanation::new(self.idf, "idf(), sum of:", parts.collect())
            }
        }
    }

    fn classic(&self, found: &Found, norm: Option<u8>) -> Explanation {
        let (frequency, boost, doc) = (found.frequency, found.boost, found.doc);
        let (tf, norm) = (frequency.sqrt(), norm.map_or(1.0, norm_value));
        let idf = self.idf_explanation();
        let tf_part = Explanation::new(
            tf,
            format!("tf(freq={}), with freq of:", java_number(frequency)),
            vec![found.frequency()],
        );
        let field_weight = Explanation::new(
            tf * self.idf * norm,
            format!("fieldWeight in {doc}, product of:"),
            vec![tf_part, idf.clone(), leaf(norm, format!("fieldNorm(doc={doc})"))],
        );
        let query_weight = boost * self.idf * self.query_norm;
        if query_weight == 1.0 {
            return field_weight;
        }
        let mut query_parts = vec![idf, leaf(self.query_norm, "queryNorm")];
        if boost != 1.0 {
            query_parts.insert(0, leaf(boost, "boost"));
        }
        let query_weight = Explanation::new(query_weight, "queryWeight, product of:", query_parts);
        let what = format!("score(doc={doc},freq={}), product of:", java_number(frequency));
        Explanation::new(found.score, what, vec![query_weight, field_weight])
    }

    fn bm25(&self, found: &Found, norm: Option<u8>, (k1, b): (f32, f32)) -> Explanation {
        let (frequency, average) = (found.frequency, self.average_length());
        let mut parts = vec![found.frequency(), leaf(k1, "parameter k1")];
        let tf = match norm.map(length_of) {
            None => {
                parts.push(leaf(0.0, "parameter b (norms omitted for field)"));
                (frequency * (k1 + 1.0)) / (frequency + k1)
            }
            Some(length) => {
                parts.push(leaf(b, "parameter b"));
                parts.push(leaf(average, "avgFieldLength"));
                parts.push(leaf(length, "fieldLength"));
                (frequency * (k1 + 1.0)) / (frequency + k1 * (1.0 - b + b * length / average))
            }
        };
        let mut factors = vec![
            self.idf_explanation(),
            Explanation::new(tf, "tfNorm, computed from:", parts),
        ];
        if self.boost != 1.0 {
            factors.insert(0, leaf(self.boost, "boost"));
        }
        // The frequency is printed as an explanation, which ends with a line end.
        let shown = java_number(frequency);
        let name = found.frequency_name;
        let what = format!("score(doc={},freq={shown} = {name}={shown}\n), product of:", found.doc);
        Explanation::new(self.boost * self.idf * tf, what, factors)
    }
}

impl Basic {
    fn explanation(&self, found: &Found, length: f32) -> Explanation {
        match self.terms.as_slice() {
            [only] => self.explanation_of(only, found, length),
            terms => {
                let parts = terms.iter().map(|term| self.explanation_of(term, found, length));
                let parts: Vec<Explanation> = parts.collect();
                Explanation::new(self.score(found.frequency, length), "sum of:", parts)
            }
        }
    }

    fn explanation_of(&self, term: &BasicStatistics, found: &Found, length: f32) -> Explanation {
        let frequency = found.frequency;
        let mut parts = vec![found.frequency()];
        if self.boost != 1.0 {
            parts.push(leaf(self.boost, "boost"));
        }
        let name = match self.model {
            Model::Divergence {
                basic,
                effect,
                normalization,
            } => {
                let normalized = normalization.explained(term, frequency, length);
                parts.push(normalization.explanation(term, frequency, length));
                parts.push(basic.explanation(term, normalized));
                parts.push(effect.explanation(term, normalized));
                "DFRSimilarity"
            }
            Model::Information {
                distribution,
                lambda,
                normalization,
            } => {
                let normalized = normalization.explained(term, frequency, length);
                let value = lambda.value(term);
                parts.push(normalization.explanation(term, frequency, length));
                let mut numbers = vec![
                    leaf(term.doc_freq as f32, "docFreq"),
                    leaf(term.documents as f32, "numberOfDocuments"),
                ];
                if lambda == crate::similarity::Lambda::TotalFrequency {
                    numbers[0] = leaf(term.total as f32, "totalTermFreq");
                }
                parts.push(computed(value, lambda.name(), numbers));
                parts.push(leaf(distribution.score(normalized, value), distribution.name()));
                "IBSimilarity"
            }
            Model::Dirichlet { mu } => {
                parts.push(leaf(mu, "mu"));
                parts.push(leaf(dirichlet_weight(mu, term, frequency) as f32, "term weight"));
                parts.push(leaf(dirichlet_norm(mu, length) as f32, "document norm"));
                parts.push(leaf(term.collection_probability(), "collection probability"));
                "LMDirichletSimilarity"
            }
            Model::JelinekMercer { lambda } => {
                parts.push(leaf(lambda, "lambda"));
                parts.push(leaf(term.collection_probability(), "collection probability"));
                "LMJelinekMercerSimilarity"
            }
            Model::Classic | Model::Bm25 { .. } => "",
        };
        let shown = java_number(frequency);
        let what = format!("score({name}, doc={}, freq={shown}), computed from:", found.doc);
        Explanation::new(self.score_of(term, frequency, length), what, parts)
    }
}

/// Explains a value that is computed from numbers.
fn computed(value: f32, name: &str, numbers: Vec<Explanation>) -> Explanation {
    Explanation::new(value, format!("{name}, computed from: "), numbers)
}

impl Normalization {
    /// The frequency in explanations. Without normalization, it is always 1 there.
    fn explained(self, term: &BasicStatistics, frequency: f32, length: f32) -> f32 {
        match self {
            Normalization::None => 1.0,
            _ => self.frequency(term, frequency, length),
        }
    }

    fn explanation(self, term: &BasicStatistics, frequency: f32, length: f32) -> Explanation {
        let value = self.explained(term, frequency, length);
        if self == Normalization::None {
            return leaf(value, self.name());
        }
        let numbers = vec![
            leaf(frequency, "tf"),
            leaf(term.average_length, "avgFieldLength"),
            leaf(length, "len"),
        ];
        computed(value, self.name(), numbers)
    }
}

impl BasicModel {
    fn explanation(self, term: &BasicStatistics, frequency: f32) -> Explanation {
        let counted = match self {
            BasicModel::InverseDocumentFrequency => leaf(term.doc_freq as f32, "docFreq"),
            _ => leaf(term.total as f32, "totalTermFreq"),
        };
        let numbers = vec![
            leaf(frequency, "tfn"),
            leaf(term.documents as f32, "numberOfDocuments"),
            counted,
        ];
        computed(self.score(term, frequency), self.name(), numbers)
    }
}

impl AfterEffect {
    fn explanation(self, term: &BasicStatistics, frequency: f32) -> Explanation {
        let value = self.score(term, frequency);
        let mut numbers = vec![leaf(frequency, "tfn")];
        match self {
            AfterEffect::None => return leaf(value, self.name()),
            AfterEffect::Laplace => {}
            AfterEffect::Bernoulli => {
                numbers.push(leaf(term.total as f32, "totalTermFreq"));
                numbers.push(leaf(term.doc_freq as f32, "docFreq"));
            }
        }
        computed(value, self.name(), numbers)
    }
}
