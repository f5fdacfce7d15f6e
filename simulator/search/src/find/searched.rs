//! A shard while it is searched.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::budget::Budget;
use crate::cluster::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::index::{Condition, Shard, Stored, View};
use crate::mapping::Mapping;
use crate::query::Query;
use crate::score::{Scorer, Weight};

/// Finds the hits inside of a hit.
pub(crate) trait InnerSearch: Send + Sync {
    /// The hits inside of the document at a place (segment and document), as an answer shows them.
    ///
    /// # Errors
    /// A search that fails.
    fn hits(&self, cluster: &Cluster, place: (usize, u32), stored: &Stored) -> Result<Value>;
}

/// A shard with the query that it is searched with.
pub(crate) struct Searched {
    pub(crate) index: Arc<Index>,
    /// Its mapping, as searches of the types of the request have it.
    pub(crate) mapping: Arc<Mapping>,
    /// Number of the shard.
    pub(crate) number: u32,
    pub(crate) view: Arc<View>,
    pub(crate) weight: Weight,
    pub(crate) query: Query,
    pub(crate) post_filter: Option<Weight>,
    /// Queries that have a name.
    pub(crate) named: Vec<(String, Weight)>,
    /// Which nested objects count for each criterion of the order.
    pub(crate) sort_filters: Vec<Option<Weight>>,
    /// Hits inside of its hits.
    pub(crate) inner: Vec<(String, Box<dyn InnerSearch>)>,
}

/// The filter of the hits of a segment: none, or one that may match nothing.
pub(super) struct PostFilter(Option<Option<Box<dyn Scorer>>>);

impl PostFilter {
    /// Returns whether a document passes. Documents must not fall.
    pub(super) fn passes(&mut self, doc: u32) -> bool {
        match &mut self.0 {
            None => true,
            Some(None) => false,
            Some(Some(scorer)) => scorer.seek(doc) == doc,
        }
    }
}

impl Searched {
    /// The shard.
    pub(crate) fn shard(&self) -> Option<&Shard> {
        self.index.shards.get(self.number as usize)
    }

    /// The documents of a segment that pass the filter of its hits.
    pub(super) fn filter(&self, at: usize, budget: &Budget) -> Result<PostFilter> {
        let scorer = match (&self.post_filter, self.view.segments.get(at)) {
            (Some(weight), Some(view)) => Some(weight.scorer(at, view, budget)?),
            _ => None,
        };
        Ok(PostFilter(scorer))
    }

    /// Deletes a document of the shard.
    pub(crate) fn delete(&self, type_name: &str, id: &str, now: Duration) -> Result<()> {
        let shard = self.shard().ok_or_else(|| SearchError::engine("a hit of no shard"))?;
        let began = Instant::now();
        shard.delete(type_name, id, Condition::default(), now)?;
        shard.counters.deleted(type_name, began);
        Ok(())
    }
}
