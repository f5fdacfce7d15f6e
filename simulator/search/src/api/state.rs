//! `_cluster/state`, and where shards are said to be.
//!
//! Limits: all data is in one place; nodes, shards and copies are as a cluster of that many nodes would have them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::nodes::id_of;
use crate::cluster::{Expand, Index};
use crate::error::Result;
use crate::rest::{Answer, RestRequest, Shared};

/// How many copies of an index's shards have a node.
pub(crate) fn assigned(shared: &Shared, index: &Index) -> u32 {
    let nodes = u32::try_from(shared.cluster.options.nodes.len()).unwrap_or(1).max(1);
    index.shard_count() * (index.replicas() + 1).min(nodes)
}

/// The copies of each shard of an index, by the shard's number; the first is the primary.
pub(crate) fn routing(shared: &Shared, index: &Index) -> Vec<(u32, Vec<Value>)> {
    let nodes = u32::try_from(shared.cluster.options.nodes.len()).unwrap_or(1).max(1);
    (0..index.shard_count())
        .map(|shard| {
            let copies = (0..=index.replicas()).map(|copy| {
                let node = (copy < nodes).then(|| id_of((shard + copy) % nodes));
                let state = if node.is_some() { "STARTED" } else { "UNASSIGNED" };
                json!({"state": state, "primary": copy == 0, "node": node, "relocating_node": null, "shard": shard, "index": index.name})
            });
            (shard, copies.collect())
        })
        .collect()
}

/// `GET /_cluster/state[/metrics[/indices]]`.
pub(crate) fn state(
    shared: &Shared,
    request: &RestRequest,
    metrics: Option<&str>,
    indices: Option<&str>,
) -> Result<Answer> {
    let named = shared.cluster.named(
        indices.unwrap_or(""),
        Expand {
            closed: true,
            forbid_closed: false,
            ..request.expand()
        },
    )?;
    let metrics: Vec<&str> = metrics.map(|metrics| metrics.split(',').collect()).unwrap_or_default();
    let wants = |metric: &str| metrics.is_empty() || metrics.contains(&"_all") || metrics.contains(&metric);
    let mut shown = Map::new();
    shown.insert("cluster_name".to_owned(), json!(shared.cluster.options.cluster_name));
    if wants("version") {
        shown.insert("version".to_owned(), json!(shared.cluster.version()));
    }
    if wants("master_node") {
        shown.insert("master_node".to_owned(), json!(id_of(0)));
    }
    if wants("blocks") {
        shown.insert("blocks".to_owned(), json!({}));
    }
    if wants("nodes") {
        shown.insert("nodes".to_owned(), super::nodes::addresses(shared));
    }
    if wants("metadata") {
        shown.insert("metadata".to_owned(), metadata(shared, &named, indices.is_none()));
    }
    if wants("routing_table") {
        shown.insert(
            "routing_table".to_owned(),
            json!({"indices": routing_table(shared, &named)}),
        );
    }
    if wants("routing_nodes") || wants("routing_table") {
        let mut by_node: Map<String, Value> = shared
            .cluster
            .options
            .nodes
            .iter()
            .enumerate()
            .map(|(at, _)| (id_of(u32::try_from(at).unwrap_or(0)), json!([])))
            .collect();
        let mut unassigned = Vec::new();
        for copy in named
            .iter()
            .filter(|index| !index.is_closed())
            .flat_map(|index| routing(shared, index))
            .flat_map(|(_, copies)| copies)
        {
            match copy
                .get("node")
                .and_then(Value::as_str)
                .and_then(|node| by_node.get_mut(node))
                .and_then(Value::as_array_mut)
            {
                Some(copies) => copies.push(copy),
                None => unassigned.push(copy),
            }
        }
        shown.insert(
            "routing_nodes".to_owned(),
            json!({"unassigned": unassigned, "nodes": by_node}),
        );
        shown.insert("allocations".to_owned(), json!([]));
    }
    Ok(Answer::ok(shown.into()))
}

fn routing_table(shared: &Shared, named: &[Arc<Index>]) -> Map<String, Value> {
    named
        .iter()
        .filter(|index| !index.is_closed())
        .map(|index| {
            let shards: Map<String, Value> = routing(shared, index)
                .into_iter()
                .map(|(shard, copies)| (shard.to_string(), copies.into()))
                .collect();
            (index.name.clone(), json!({"shards": shards}))
        })
        .collect()
}

fn metadata(shared: &Shared, named: &[Arc<Index>], whole: bool) -> Value {
    let templates: Map<String, Value> = shared
        .cluster
        .templates
        .read()
        .iter()
        .filter(|_| whole)
        .map(|(name, template)| (name.clone(), template.describe()))
        .collect();
    let indices: Map<String, Value> = named
        .iter()
        .map(|index| {
            let state = if index.closed.load(Ordering::Relaxed) { "close" } else { "open" };
            let aliases: Vec<String> = index.aliases.read().keys().cloned().collect();
            (
                index.name.clone(),
                json!({"state": state, "settings": index.settings.read().nested(), "mappings": index.mapping.read().describe(), "aliases": aliases}),
            )
        })
        .collect();
    json!({"templates": templates, "indices": indices})
}
