//! Search context of one shard.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::budget::Budget;
use crate::cluster::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::index::{Shard, Stored, View};
use crate::mapping::Mapping;
use crate::query::{Context, Query};
use crate::score::{Corpus, Explained, Scorer, Weight};

/// Search for the inner hits of a hit.
pub(crate) trait InnerSearch: Send + Sync {
    /// Finds the inner hits of the document at `place` (segment and document), and renders them.
    ///
    /// # Errors
    /// A search that fails.
    fn hits(&self, cluster: &Cluster, place: (usize, u32), stored: &Stored) -> Result<Value>;
}

/// A shard with the prepared query of a search.
pub(crate) struct Searched {
    pub(crate) index: Arc<Index>,
    /// Mapping of the index, restricted to the types of the request.
    pub(crate) mapping: Arc<Mapping>,
    /// Types of the request. Empty: all.
    pub(crate) types: Vec<String>,
    /// Shard number.
    pub(crate) number: u32,
    pub(crate) view: Arc<View>,
    pub(crate) weight: Weight,
    pub(crate) query: Query,
    /// The query for the explanations of hits, if they are requested.
    pub(crate) explained: Option<Explained>,
    /// Filter of the types and aliases of the search, for `global` aggregations and facets. `None`: without them.
    pub(crate) scope: Option<Weight>,
    pub(crate) post_filter: Option<Weight>,
    /// Named queries.
    pub(crate) named: Vec<(String, Weight)>,
    /// By sort criterion: the filter of the nested objects whose values count.
    pub(crate) sort_filters: Vec<Option<Weight>>,
    /// Searches for inner hits, by name.
    pub(crate) inner: Vec<(String, Box<dyn InnerSearch>)>,
}

/// Post filter of a segment. Outer `None`: no filter. Inner `None`: a filter that matches nothing.
pub(super) struct PostFilter(Option<Option<Box<dyn Scorer>>>);

impl PostFilter {
    /// Returns whether a document passes. Must be called with ascending document numbers.
    pub(super) fn passes(&mut self, doc: u32) -> bool {
        match &mut self.0 {
            None => true,
            Some(None) => false,
            Some(Some(scorer)) => scorer.seek(doc) == doc,
        }
    }
}

impl Searched {
    /// Returns the context for parsing further queries of the search.
    pub(crate) fn context<'a>(&'a self, cluster: &'a Cluster) -> Context<'a> {
        Context {
            types: &self.types,
            ..self.index.context(&self.mapping, cluster)
        }
    }

    pub(crate) fn shard(&self) -> Option<&Shard> {
        self.index.shards.get(self.number as usize)
    }

    /// The documents of the shard, with the statistics of the shard.
    pub(crate) fn corpus(&self) -> Option<Corpus<'_>> {
        Some(Corpus::of(&self.mapping, &self.view, self.shard()?))
    }

    /// Returns the post filter of a segment.
    pub(super) fn filter(&self, at: usize, budget: &Budget) -> Result<PostFilter> {
        let scorer = match (&self.post_filter, self.view.segments.get(at)) {
            (Some(weight), Some(view)) => Some(weight.scorer(at, view, budget)?),
            _ => None,
        };
        Ok(PostFilter(scorer))
    }

    /// Deletes a document of the shard, and forgets its version.
    pub(crate) fn forget(&self, type_name: &str, id: &str, now: Duration) -> Result<()> {
        let shard = self.shard().ok_or_else(|| SearchError::engine("a hit of no shard"))?;
        let began = Instant::now();
        shard.forget(type_name, id, now)?;
        shard.counters.deleted(type_name, began);
        Ok(())
    }
}
