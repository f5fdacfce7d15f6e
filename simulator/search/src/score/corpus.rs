//! The documents that a query is scored against.

use crate::index::{Shard, View};
use crate::mapping::Mapping;
use crate::score::statistics::Statistics;
use crate::similarity::Similarity;

/// The documents of a shard, with what scores depend on.
#[derive(Clone, Copy)]
pub(crate) struct Corpus<'a> {
    pub(crate) view: &'a View,
    pub(crate) shard: &'a Shard,
    /// Default: the statistics of the shard.
    pub(crate) statistics: Option<&'a Statistics>,
    /// The similarity of the index that decides whether queries have coordination factors and norms.
    pub(crate) base: Similarity,
}

impl<'a> Corpus<'a> {
    /// The documents of a shard, with the statistics of the shard.
    pub(crate) fn of(mapping: &Mapping, view: &'a View, shard: &'a Shard) -> Corpus<'a> {
        Corpus {
            view,
            shard,
            statistics: None,
            base: mapping.similarities().base(),
        }
    }
}
