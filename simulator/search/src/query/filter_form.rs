//! The class that Elasticsearch 1.5 makes of a filter, and whether it is cached.

use serde_json::{Map, Value};

use crate::mapping::truth;

/// Class of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterClass {
    /// A filter that shows as its query.
    Plain,
    /// Several terms of one field, which show sorted and once each.
    Terms,
    Prefix,
    Regexp,
    /// A boolean filter of so many clauses. The query may have one more, which matches all documents.
    Boolean(usize),
    And,
    Or,
    Not,
    /// A query as a filter.
    Wrapper,
    /// A query that runs on a whole shard, as a filter.
    CustomWrapper,
    /// Documents that are no nested objects.
    Whole,
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
    /// The caching that `_cache` among a filter's settings asks for.
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
