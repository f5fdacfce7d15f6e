//! Analysis: converts text to terms.
//!
//! Guarantees: the same text has the same terms at index and at query time; time is linear in the text, but for
//! patterns with look-around or references, whose matches are bounded in steps.
//! Limits: some stemmers differ (see `language.rs` and `stem`).
//! Source: Elasticsearch 1.5's analysis module.

mod addresses;
mod analyzer;
mod chars;
mod checks;
mod cjk_bigram;
mod configured;
mod delimiter;
mod entities;
mod filter;
mod filter_settings;
mod filtered_text;
mod grams;
mod html;
mod indic;
mod language;
mod letter_case;
mod lexeme;
mod names;
mod normalize;
mod patterns;
mod runs;
mod settings;
mod stem;
mod stream;
mod stream_settings;
mod synonyms;
mod tokenizer_settings;
mod word_class;
mod word_set;
mod words;

pub use analyzer::{Analyzer, Token};
pub(crate) use checks::check as check_analysis;
pub(crate) use configured::aliased;
pub(crate) use letter_case::lowercase;
