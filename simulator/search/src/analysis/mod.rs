//! Analysis: converts text to terms.
//!
//! Guarantees: the same text has the same terms at index and at query time; time is linear in the text.
//! Limits: stop words of languages other than English differ from Lucene's (see `language.rs`); patterns have no
//! look-around.
//! Source: Elasticsearch 1.5's analysis module.

mod addresses;
mod analyzer;
mod chars;
mod checks;
mod cjk_bigram;
mod configured;
mod delimiter;
mod filter;
mod grams;
mod language;
mod lexeme;
mod light;
mod normalize;
mod porter;
mod stream;
mod stream_settings;
mod word_class;
mod words;

pub use analyzer::{Analyzer, Token};
pub(crate) use checks::check as check_analysis;
pub(crate) use filter::lowercase;
pub(crate) use lexeme::token_type;
