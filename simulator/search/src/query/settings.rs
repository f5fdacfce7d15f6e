//! Settings of a query string.

use super::{Occur, Rewrite};
use crate::analysis::Analyzer;

/// Default operator between clauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Operator {
    /// At least one clause must match.
    #[default]
    Or,
    /// All clauses must match.
    And,
}

impl Operator {
    /// Parses `and` or `or`, in any case.
    pub(crate) fn parse(text: &str) -> Option<Operator> {
        match text.to_ascii_lowercase().as_str() {
            "or" => Some(Operator::Or),
            "and" => Some(Operator::And),
            _ => None,
        }
    }

    pub(crate) fn occur(self) -> Occur {
        if self == Operator::And {
            Occur::Must
        } else {
            Occur::Should
        }
    }
}

/// Settings of a query string.
#[derive(Clone, Debug)]
pub(crate) struct StringSettings {
    /// Fields of terms without one, with their boosts. Default: the default field of the index.
    pub(crate) fields: Option<Vec<(String, f32)>>,
    pub(crate) operator: Operator,
    pub(crate) analyzer: Option<Analyzer>,
    /// Analyzer of quoted texts. Default: `analyzer`.
    pub(crate) quote_analyzer: Option<Analyzer>,
    /// Suffix of the field that a quoted text is searched in, if there is one.
    pub(crate) quote_field_suffix: String,
    pub(crate) lowercase_expanded_terms: bool,
    pub(crate) analyze_wildcard: bool,
    pub(crate) lenient: bool,
    pub(crate) allow_leading_wildcard: bool,
    pub(crate) auto_generate_phrase_queries: bool,
    pub(crate) phrase_slop: i32,
    /// Whether words that were removed from a phrase leave gaps.
    pub(crate) enable_position_increments: bool,
    /// Similarity, or number of edits from 1 on, of a fuzzy term without one. Default: 2 edits.
    pub(crate) fuzzy_similarity: f32,
    pub(crate) fuzzy_prefix_length: i64,
    pub(crate) fuzzy_max_expansions: i64,
    pub(crate) use_dis_max: bool,
    pub(crate) tie_breaker: f32,
    /// How patterns count in scores. Default: not.
    pub(crate) rewrite: Option<Rewrite>,
}

impl Default for StringSettings {
    fn default() -> StringSettings {
        StringSettings {
            fields: None,
            operator: Operator::Or,
            analyzer: None,
            quote_analyzer: None,
            quote_field_suffix: String::new(),
            lowercase_expanded_terms: true,
            analyze_wildcard: false,
            lenient: false,
            allow_leading_wildcard: true,
            auto_generate_phrase_queries: false,
            phrase_slop: 0,
            enable_position_increments: true,
            fuzzy_similarity: 2.0,
            fuzzy_prefix_length: 0,
            fuzzy_max_expansions: 50,
            use_dis_max: true,
            tie_breaker: 0.0,
            rewrite: None,
        }
    }
}
