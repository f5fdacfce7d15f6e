//! Analysis: from text to terms.
//!
//! Guarantees: the same text gives the same terms at index and at query time; linear in the text.
//! Limits: no stop words but the English ones and those of settings; patterns without look-around.
//! Source: Elasticsearch 1.5's analysis module.

mod addresses;
mod analyzer;
mod chars;
mod checks;
mod configured;
mod delimiter;
mod filter;
mod grams;
mod language;
mod lexeme;
mod light;
mod normalize;
mod pairs;
mod porter;
mod stream;
mod stream_settings;
mod word_class;
mod words;

pub use analyzer::{Analyzer, Token};
pub(crate) use checks::check as check_analysis;
pub(crate) use filter::lowercase;
pub(crate) use lexeme::token_type;
