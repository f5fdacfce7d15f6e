//! Hits inside of hits, as a search wants them.
//!
//! Source: `inner_hits` of Elasticsearch 1.5.

use serde_json::{Map, Value};

use crate::query::Query;

/// Where inner hits come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InnerRelation {
    /// Nested objects at a path, of the nested objects at another or of the whole document.
    Nested { path: String, outer: Option<String> },
    /// Documents of a type that are children of the hit, or its parent.
    Related(String),
}

/// Hits to be found for each hit of a search.
#[derive(Clone, Debug)]
pub(crate) struct InnerHits {
    pub(crate) name: String,
    pub(crate) relation: InnerRelation,
    pub(crate) query: Query,
    /// What of a search request applies to them.
    pub(crate) settings: Map<String, Value>,
    /// Hits inside of these hits.
    pub(crate) inner: Vec<InnerHits>,
}
