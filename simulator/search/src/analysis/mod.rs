//! Analysis: from text to terms.
//!
//! Promises: the same text gives the same terms at index and at query time; linear in the text.
//! Limits: the analyzers are those that Elasticsearch 1.5 has built in and that need no language data, and custom ones made of their parts.
//! Source: Elasticsearch 1.5's analysis module.

mod analyzer;
mod filter;
mod word_class;
mod words;

pub use analyzer::{Analyzer, Token};
pub(crate) use filter::lowercase;
