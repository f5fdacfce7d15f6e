//! Analysis: from text to terms.
//!
//! Guarantees: the same text gives the same terms at index and at query time; linear in the text.
//! Limits: no stop words but the English ones; no synonyms, shingles and character filters.
//! Source: Elasticsearch 1.5's analysis module.

mod analyzer;
mod filter;
mod grams;
mod language;
mod porter;
mod word_class;
mod words;

pub use analyzer::{Analyzer, Token};
pub(crate) use filter::lowercase;
