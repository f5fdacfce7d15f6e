//! Class and caching of filters, as shown in explanations and validations.
//!
//! Source: the filter classes of Elasticsearch 1.5.

use serde_json::{Map, Value};

use crate::mapping::truth;

/// Class of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterClass {
    /// A filter that prints as its query.
    Plain,
    /// Several terms of one field, which print sorted and distinct.
    Terms,
    Prefix,
    Regexp,
    /// A boolean filter with this many clauses. The query may have one more, which matches all documents.
    Boolean(usize),
    And,
    Or,
    Not,
    /// A query wrapped in a filter.
    Wrapper,
    /// A wrapped query that runs on a whole shard.
    CustomWrapper,
    /// Root documents.
    NonNested,
}

/// Caching of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caching {
    Cached,
    Uncached,
    /// Excluded from caching, alone and within other filters.
    Never,
}

impl Caching {
    /// Parses `_cache` of a filter's settings.
    pub(super) fn of(settings: &Map<String, Value>, default: bool) -> Caching {
        match settings.get("_cache").map_or(default, truth) {
            true => Caching::Cached,
            false => Caching::Uncached,
        }
    }
}

/// Class and caching of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterForm {
    pub(crate) class: FilterClass,
    pub(crate) caching: Caching,
}
