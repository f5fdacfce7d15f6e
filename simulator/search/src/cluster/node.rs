//! The nodes that the cluster is said to have, and which of them has which shard.
//!
//! Limits: all data is in one process; nodes, shards and copies are as a cluster of that many nodes would have them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Cluster, Index};
use crate::index::Shard;

/// The version that the backend stands in for.
pub(crate) const VERSION: &str = "1.5.2";
pub(crate) const LUCENE: &str = "4.10.4";
pub(crate) const BUILD: &str = "62ff9868b4c8a0c45860bebb259e21980778ab1c";

/// The Java virtual machine that the nodes report: the one of the recorded server.
pub(crate) const JVM: &str = "17.0.15";
pub(crate) const JVM_BUILD: &str = "17.0.15+6-Debian-1deb12u1";

/// The id of a node by its place among the nodes.
pub(crate) fn id_of(place: u32) -> String {
    crate::ids::text_id(0x5d0c_8b1a_94e3_77f2_u128 << 64 | u128::from(place + 1) << 32 | 0x2f)
}

/// The transport address of a node by its place.
pub(crate) fn address(place: u32) -> String {
    format!("10.244.{}.{}", place / 200, place % 200 + 3)
}

/// Counts of the copies of shards.
#[derive(Default)]
pub(crate) struct Health {
    pub(crate) primaries: u32,
    pub(crate) active: u32,
    pub(crate) unassigned: u32,
}

impl Health {
    /// Green if every copy has a node. Every primary has one.
    pub(crate) fn status(&self) -> &'static str {
        if self.unassigned == 0 { "green" } else { "yellow" }
    }
}

/// A copy of a shard that has a node.
#[derive(Clone, Copy)]
pub(crate) struct ShardCopy<'a> {
    pub(crate) index: &'a Index,
    pub(crate) shard: &'a Shard,
    /// Place of its node.
    pub(crate) place: u32,
    pub(crate) primary: bool,
}

impl Cluster {
    /// The nodes with their places.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (u32, &String)> {
        (0u32..).zip(&self.options.nodes)
    }

    /// Number of nodes; at least 1.
    pub(crate) fn node_count(&self) -> u32 {
        u32::try_from(self.options.nodes.len()).unwrap_or(1).max(1)
    }

    /// The nodes with their names and addresses, as states and shard lists show them.
    pub(crate) fn node_addresses(&self) -> Map<String, Value> {
        self.nodes()
            .map(|(place, name)| {
                let shown = json!({"name": name, "transport_address": format!("inet[/{}:9300]", address(place)), "attributes": {}});
                (id_of(place), shown)
            })
            .collect()
    }

    /// The id of the node that has the primary of a shard of an index. A missing index counts as one on the first node.
    pub(crate) fn node_of(&self, index: &str, shard: u32) -> String {
        let first = self.index(index).map_or(0, |index| index.first_node);
        id_of(self.place_of(first, shard, 0).unwrap_or(0))
    }

    /// The place of the node that has a copy of a shard; copy 0 is the primary. `first` is the place of the first shard.
    fn place_of(&self, first: u32, shard: u32, copy: u32) -> Option<u32> {
        let nodes = self.node_count();
        (copy < nodes).then(|| (first % nodes + shard + copy) % nodes)
    }

    /// The place of the node that has the fewest shards.
    pub(super) fn emptiest_node(&self) -> u32 {
        let mut shards: Vec<(usize, u32)> = (0..self.node_count()).map(|place| (0, place)).collect();
        for copy in self
            .copies(&self.indices())
            .iter()
            .filter(|copy| !copy.index.is_closed())
        {
            if let Some((count, _)) = shards.get_mut(copy.place as usize) {
                *count += 1;
            }
        }
        shards.into_iter().min().map_or(0, |(_, place)| place)
    }

    /// The copies of an index's shards that have a node, by shard; the first of each is the primary.
    pub(crate) fn copies_of<'a>(&self, index: &'a Index) -> impl Iterator<Item = ShardCopy<'a>> {
        let replicas = index.replicas();
        index.shards.iter().flat_map(move |shard| {
            (0..=replicas).map_while(move |copy| {
                let place = self.place_of(index.first_node, shard.number(), copy)?;
                Some(ShardCopy {
                    index,
                    shard,
                    place,
                    primary: copy == 0,
                })
            })
        })
    }

    /// The copies of the shards of some indices that have a node.
    pub(crate) fn copies<'a>(&self, indices: &'a [Arc<Index>]) -> Vec<ShardCopy<'a>> {
        indices.iter().flat_map(|index| self.copies_of(index)).collect()
    }

    /// Number of copies of an index's shards that have a node.
    pub(crate) fn assigned(&self, index: &Index) -> u32 {
        index.shard_count() * (index.replicas() + 1).min(self.node_count())
    }

    /// The copies of each shard of an index, by the shard's number; the first is the primary.
    pub(crate) fn routing(&self, index: &Index) -> Vec<(u32, Vec<Value>)> {
        (0..index.shard_count())
            .map(|shard| {
                let copies = (0..=index.replicas()).map(|copy| {
                    let node = self.place_of(index.first_node, shard, copy).map(id_of);
                    let state = if node.is_some() { "STARTED" } else { "UNASSIGNED" };
                    json!({"state": state, "primary": copy == 0, "node": node, "relocating_node": null, "shard": shard, "index": index.name})
                });
                (shard, copies.collect())
            })
            .collect()
    }

    /// The health of some indices. Closed ones do not count.
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

    /// `_shards` of an operation on all shards of some indices.
    pub(crate) fn shards_json(&self, indices: &[Arc<Index>]) -> Value {
        let total: u32 = indices
            .iter()
            .map(|index| index.shard_count() * (index.replicas() + 1))
            .sum();
        let successful: u32 = indices.iter().map(|index| self.assigned(index)).sum();
        json!({"total": total, "successful": successful, "failed": 0})
    }
}
