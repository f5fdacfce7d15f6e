//! Scores: classic TF-IDF as Lucene 4.10 computes it, in single precision.
//!
//! Promises: term frequency, inverse document frequency, length norms as bytes, coord, query norm and boosts give the numbers that Lucene gives.
//! Source: Lucene 4.10's DefaultSimilarity and the weights of its queries; statistics are those of one shard, unless others are given.

mod boolean;
mod explain;
mod explain_function;
mod function;
mod join;
mod leaf;
mod matching;
mod phrase;
mod positions;
mod relatives;
mod sloppy;
mod span;
mod weigh;
mod weight;

pub(crate) use explain::explain;
pub(crate) use span::{Span, ordered, unordered};
pub(crate) use weigh::Statistics;
pub(crate) use weight::Weight;

/// After the last document.
pub(crate) const END: u32 = tantivy::TERMINATED;

/// Walks the matching documents of a segment in their order.
pub(crate) trait Scorer {
    /// The document that it stands on, or [`END`].
    fn doc(&self) -> u32;
    /// Goes to the next document.
    fn advance(&mut self) -> u32;
    /// Goes to the first document from `target` on; stays if it is there already.
    fn seek(&mut self, target: u32) -> u32;
    /// The score of the document that it stands on.
    fn score(&mut self) -> f32;
    /// Walks to the end. Gives every document that scores above the threshold to `sink`, which says the threshold from then on; returns how many documents there were.
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
    /// Walks to the end, and notes every document.
    fn fill(&mut self, docs: &mut Vec<u32>) {
        let mut doc = self.doc();
        while doc != END {
            docs.push(doc);
            doc = self.advance();
        }
    }
    /// How many documents come after the one that it stands on, if that takes no walking.
    fn remaining(&self) -> Option<u64> {
        None
    }
}

/// A score as JSON: the shortest number that is the same in single precision.
pub(crate) fn shown(score: f32) -> serde_json::Value {
    score
        .to_string()
        .parse::<f64>()
        .map_or(serde_json::Value::Null, serde_json::Value::from)
}

/// How rare a term is.
pub(crate) fn idf(doc_freq: u32, max_doc: u32) -> f32 {
    ((f64::from(max_doc) / (f64::from(doc_freq) + 1.0)).ln() + 1.0) as f32
}

/// The factor that makes scores of different queries comparable.
pub(crate) fn query_norm(sum_of_squares: f32) -> f32 {
    let norm = (1.0 / f64::from(sum_of_squares).sqrt()) as f32;
    if norm.is_finite() { norm } else { 1.0 }
}

/// The norm of a field of so many terms, as a byte.
pub(crate) fn norm_of_length(length: u32, boost: f32) -> u8 {
    to_byte(boost * (1.0 / f64::from(length).sqrt()) as f32)
}

/// A float in a byte: three bits of mantissa, five of exponent, zero exponent point 15.
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

/// The inverse of [`to_byte`].
pub(crate) fn norm_value(byte: u8) -> f32 {
    if byte == 0 {
        0.0
    } else {
        f32::from_bits((u32::from(byte) << 21) + ((63 - 15) << 24))
    }
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
    fn a_length_is_kept_as_coarsely_as_lucene_keeps_it(#[case] length: u32, #[case] norm: f32) {
        assert_eq!(norm_value(norm_of_length(length, 1.0)), norm);
    }

    #[test]
    fn every_byte_survives_the_way_there_and_back() {
        assert!((0..=255).all(|byte| to_byte(norm_value(byte)) == byte));
    }
}
