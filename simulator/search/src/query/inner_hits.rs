//! Inner hits of a search.
//!
//! Source: `inner_hits` of Elasticsearch 1.5.

use serde_json::{Map, Value};

use crate::query::Query;

/// Relation of inner hits to their hit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InnerRelation {
    /// Nested objects at `path`, within the nested objects at `outer` or the root document.
    Nested { path: String, outer: Option<String> },
    /// Documents of this type that are children of the hit, or its parent.
    Related(String),
}

/// Inner hits to find for each hit of a search.
#[derive(Clone, Debug)]
pub(crate) struct InnerHits {
    pub(crate) name: String,
    pub(crate) relation: InnerRelation,
    pub(crate) query: Query,
    /// Elements of a search request for the inner hits, such as `size` and `sort`.
    pub(crate) settings: Map<String, Value>,
    /// Inner hits of these inner hits.
    pub(crate) inner: Vec<InnerHits>,
}
