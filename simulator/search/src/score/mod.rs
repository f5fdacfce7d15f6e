//! Scoring as in Lucene 4.10, in single precision: TF-IDF, unless a field has another similarity.
//!
//! Guarantees: scores are equal to Lucene's, including term frequency, inverse document frequency, length norms as
//! bytes, coord, query norm and boosts.
//!
//! Source: Lucene 4.10's similarities and query weights. Statistics are per shard, unless others are passed in.

mod all_boosts;
mod blended;
mod boolean;
mod corpus;
mod explain;
mod explain_function;
mod explanation;
mod frequent_phrase;
mod function;
mod join;
mod leaf;
mod limit;
mod listed_term;
mod match_scorer;
mod phrase;
mod positions;
mod relatives;
mod rewrite;
mod similarity;
mod sloppy;
mod span;
mod statistics;
mod term_score;
mod weight;
mod weight_builder;
mod weight_properties;

pub(crate) use corpus::Corpus;
pub(crate) use explain::Explained;
pub(crate) use explanation::Explanation;
pub(crate) use rewrite::Rewriter;
pub(crate) use span::{Span, ordered, unordered};
pub(crate) use statistics::Statistics;
pub(crate) use weight::Weight;

/// Document number after the last document.
pub(crate) const END: u32 = tantivy::TERMINATED;

/// Iterator over the matching documents of a segment, in ascending order, with their scores.
pub(crate) trait Scorer {
    /// Current document, or [`END`].
    fn doc(&self) -> u32;
    /// Advances to the next document and returns it.
    fn advance(&mut self) -> u32;
    /// Advances to the first document from `target` on and returns it. Does not move if the current document is at or
    /// after `target`.
    fn seek(&mut self, target: u32) -> u32;
    /// Computes the score of the current document.
    fn score(&mut self) -> f32;
    /// Consumes all documents. Calls `sink` for each that scores above the threshold; `sink` returns the new threshold.
    /// Returns the number of documents.
    fn best(&mut self, mut threshold: f32, sink: &mut dyn FnMut(u32, f32) -> f32) -> u64 {
        let mut count = 0;
        let mut doc = self.doc();
        while doc != END {
            count += 1;
            let score = self.score();
            if score > threshold {
                threshold = sink(doc, score);
            }
            doc = self.advance();
        }
        count
    }
    /// Consumes all documents and appends them to `docs`.
    fn fill(&mut self, docs: &mut Vec<u32>) {
        let mut doc = self.doc();
        while doc != END {
            docs.push(doc);
            doc = self.advance();
        }
    }
    /// Number of documents after the current one, if it is known without iterating.
    fn remaining(&self) -> Option<u64> {
        None
    }
}

/// Converts a score to JSON: the shortest number that is equal in single precision.
pub(crate) fn score_json(score: f32) -> serde_json::Value {
    match score.to_string().parse::<f64>() {
        Ok(score) if !score.is_nan() => crate::json::floating(score),
        _ => serde_json::Value::Null,
    }
}

/// Computes the inverse document frequency of a term for TF-IDF.
pub(crate) fn idf(doc_freq: u32, max_doc: u32) -> f32 {
    ((f64::from(max_doc) / (f64::from(doc_freq) + 1.0)).ln() + 1.0) as f32
}

/// Computes the query norm.
pub(crate) fn query_norm(sum_of_squares: f32) -> f32 {
    let norm = (1.0 / f64::from(sum_of_squares).sqrt()) as f32;
    if norm.is_finite() { norm } else { 1.0 }
}

/// Computes the norm of a field with `length` terms, encoded as a byte.
pub(crate) fn norm_of_length(length: u32, boost: f32) -> u8 {
    to_byte(boost * (1.0 / f64::from(length).sqrt()) as f32)
}

/// Encodes a float to a byte (Lucene's `SmallFloat.floatToByte315`): three bits of mantissa, five of exponent, zero
/// exponent 15.
fn to_byte(value: f32) -> u8 {
    let bits = value.to_bits() as i32;
    let small = bits >> 21;
    let zero = (63 - 15) << 3;
    if small <= zero {
        u8::from(bits > 0)
    } else if small >= zero + 0x100 {
        255
    } else {
        u8::try_from(small - zero).unwrap_or(255)
    }
}

/// Decodes a norm: the inverse of [`to_byte`].
pub(crate) fn norm_value(byte: u8) -> f32 {
    if byte == 0 {
        0.0
    } else {
        f32::from_bits((u32::from(byte) << 21) + ((63 - 15) << 24))
    }
}

/// Length of a field that a norm stands for: the norm is its inverse square root.
fn length_of(norm: u8) -> f32 {
    let value = norm_value(norm);
    1.0 / (value * value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(1, 1.0)]
    #[case(2, 0.625)]
    #[case(3, 0.5)]
    #[case(4, 0.5)]
    #[case(5, 0.4375)]
    #[case(10, 0.3125)]
    #[case(100, 0.09375)]
    fn norms_have_the_precision_of_lucene(#[case] length: u32, #[case] norm: f32) {
        assert_eq!(norm_value(norm_of_length(length, 1.0)), norm);
    }

    #[test]
    fn every_byte_round_trips() {
        assert!((0..=255).all(|byte| to_byte(norm_value(byte)) == byte));
    }
}
