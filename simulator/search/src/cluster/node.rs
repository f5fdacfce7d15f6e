//! The simulated nodes and the allocation of shard copies to them.
//!
//! Limits: all data is in one process; shard copies are allocated as in a cluster with this many nodes.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Cluster, Index};
use crate::index::Shard;

/// The simulated version of Elasticsearch.
pub(crate) const VERSION: &str = "1.5.2";
/// The simulated version of Lucene.
pub(crate) const LUCENE: &str = "4.10.4";
/// The build hash of that version.
pub(crate) const BUILD: &str = "62ff9868b4c8a0c45860bebb259e21980778ab1c";

/// The JVM version that the nodes report, as the recorded server did.
pub(crate) const JVM: &str = "17.0.15";
pub(crate) const JVM_BUILD: &str = "17.0.15+6-Debian-1deb12u1";

/// Returns the id of a node.
pub(crate) fn id_of(ordinal: u32) -> String {
    crate::ids::text_id(0x5d0c_8b1a_94e3_77f2_u128 << 64 | u128::from(ordinal + 1) << 32 | 0x2f)
}

/// Returns the transport address of a node.
pub(crate) fn address(ordinal: u32) -> String {
    format!("10.244.{}.{}", ordinal / 200, ordinal % 200 + 3)
}

/// Counts of shard copies.
#[derive(Default)]
pub(crate) struct Health {
    pub(crate) primaries: u32,
    pub(crate) active: u32,
    pub(crate) unassigned: u32,
}

impl Health {
    /// Green if every copy is assigned, else yellow. Primaries are always assigned.
    pub(crate) fn status(&self) -> &'static str {
        if self.unassigned == 0 { "green" } else { "yellow" }
    }
}

/// An assigned copy of a shard.
#[derive(Clone, Copy)]
pub(crate) struct ShardCopy<'a> {
    pub(crate) index: &'a Index,
    pub(crate) shard: &'a Shard,
    /// Ordinal of its node.
    pub(crate) node: u32,
    pub(crate) primary: bool,
}

impl Cluster {
    /// Returns the nodes with their ordinals.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (u32, &String)> {
        (0u32..).zip(&self.options.nodes)
    }

    /// Number of nodes, at least 1.
    pub(crate) fn node_count(&self) -> u32 {
        u32::try_from(self.options.nodes.len()).unwrap_or(1).max(1)
    }

    /// Returns the nodes with names and addresses, by id.
    pub(crate) fn node_addresses(&self) -> Map<String, Value> {
        self.nodes()
            .map(|(ordinal, name)| {
                let node = json!({
                    "name": name,
                    "transport_address": format!("inet[/{}:9300]", address(ordinal)),
                    "attributes": {},
                });
                (id_of(ordinal), node)
            })
            .collect()
    }

    /// Returns the id of the node that has the primary of a shard. For a missing index, its first shard is on the
    /// first node.
    pub(crate) fn node_of(&self, index: &str, shard: u32) -> String {
        let first = self.index(index).map_or(0, |index| index.first_node);
        id_of(self.ordinal_of(first, shard, 0).unwrap_or(0))
    }

    /// Returns whether the node that answers requests, the first one, has a copy of a shard.
    pub(crate) fn is_local(&self, index: &Index, shard: u32) -> bool {
        let mut copies = (0..=index.replicas()).map_while(|copy| self.ordinal_of(index.first_node, shard, copy));
        copies.any(|node| node == 0)
    }

    /// Returns the ordinal of the node that has a copy of a shard. Copy 0 is the primary; `first` is the node of
    /// shard 0.
    fn ordinal_of(&self, first: u32, shard: u32, copy: u32) -> Option<u32> {
        let nodes = self.node_count();
        (copy < nodes).then(|| (first % nodes + shard + copy) % nodes)
    }

    /// Returns the ordinal of the node with the fewest shard copies.
    pub(super) fn least_loaded_node(&self) -> u32 {
        let mut shards: Vec<(usize, u32)> = (0..self.node_count()).map(|ordinal| (0, ordinal)).collect();
        for copy in self
            .copies(&self.indices())
            .iter()
            .filter(|copy| !copy.index.is_closed())
        {
            if let Some((count, _)) = shards.get_mut(copy.node as usize) {
                *count += 1;
            }
        }
        shards.into_iter().min().map_or(0, |(_, ordinal)| ordinal)
    }

    /// Returns the assigned shard copies of an index, by shard. The first copy of each shard is the primary.
    pub(crate) fn copies_of<'a>(&self, index: &'a Index) -> impl Iterator<Item = ShardCopy<'a>> {
        let replicas = index.replicas();
        index.shards.iter().flat_map(move |shard| {
            (0..=replicas).map_while(move |copy| {
                let ordinal = self.ordinal_of(index.first_node, shard.number(), copy)?;
                Some(ShardCopy {
                    index,
                    shard,
                    node: ordinal,
                    primary: copy == 0,
                })
            })
        })
    }

    /// Returns the assigned shard copies of some indices.
    pub(crate) fn copies<'a>(&self, indices: &'a [Arc<Index>]) -> Vec<ShardCopy<'a>> {
        indices.iter().flat_map(|index| self.copies_of(index)).collect()
    }

    /// Number of assigned shard copies of an index.
    pub(crate) fn assigned(&self, index: &Index) -> u32 {
        index.shard_count() * (index.replicas() + 1).min(self.node_count())
    }

    /// Returns the JSON of all shard copies of an index, by shard number. The first copy of each shard is the
    /// primary.
    pub(crate) fn routing(&self, index: &Index) -> Vec<(u32, Vec<Value>)> {
        (0..index.shard_count())
            .map(|shard| {
                let copies = (0..=index.replicas()).map(|copy| {
                    let node = self.ordinal_of(index.first_node, shard, copy).map(id_of);
                    let state = if node.is_some() { "STARTED" } else { "UNASSIGNED" };
                    json!({
                        "state": state,
                        "primary": copy == 0,
                        "node": node,
                        "relocating_node": null,
                        "shard": shard,
                        "index": index.name,
                    })
                });
                (shard, copies.collect())
            })
            .collect()
    }

    /// Returns the health of some indices, without closed ones.
    pub(crate) fn health(&self, indices: &[Arc<Index>]) -> Health {
        let mut health = Health::default();
        for index in indices.iter().filter(|index| !index.is_closed()) {
            let active = self.assigned(index);
            health.primaries += index.shard_count();
            health.active += active;
            health.unassigned += index.shard_count() * (index.replicas() + 1) - active;
        }
        health
    }

    /// Returns `_shards` of an operation on all shards of some indices.
    pub(crate) fn shards_json(&self, indices: &[Arc<Index>]) -> Value {
        let total: u32 = indices
            .iter()
            .map(|index| index.shard_count() * (index.replicas() + 1))
            .sum();
        let successful: u32 = indices.iter().map(|index| self.assigned(index)).sum();
        json!({"total": total, "successful": successful, "failed": 0})
    }
}
