//! Statistics of shards, in the sections of `_stats`.
//!
//! Limits: what this engine does not have (percolation, warmers, caches of filters and queries) is 0.
//! Source: Elasticsearch 1.5's `CommonStats`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::Index;
use crate::index::{Counters, Meter, Shard};
use crate::pattern;

/// Maximum memory of the writer of a shard, in bytes.
const WRITER_BYTES: u64 = 8_109_260;

/// What statistics are broken down by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Breakdown<'a> {
    /// Patterns of types, for indexing.
    pub(crate) types: Option<&'a str>,
    /// Patterns of fields, for field data.
    pub(crate) fields: Option<&'a str>,
}

/// A shard and its index.
pub(crate) type Part<'a> = (&'a Index, &'a Shard);

/// The shards of some indices.
pub(crate) fn shards_of(indices: &[Arc<Index>]) -> Vec<Part<'_>> {
    indices
        .iter()
        .flat_map(|index| index.shards.iter().map(move |shard| (&**index, shard)))
        .collect()
}

/// Size of the segments of an index in bytes.
pub(crate) fn bytes(index: &Index) -> u64 {
    index.views().iter().map(|view| view.bytes()).sum()
}

fn fits(patterns: &str, name: &str) -> bool {
    patterns
        .split(',')
        .any(|wanted| wanted == "_all" || pattern::matches(wanted, name))
}

/// Memory of the loaded field data of shards, in bytes, by field.
pub(crate) fn field_data(shards: &[Part<'_>]) -> Map<String, Value> {
    let mut by_field: Map<String, Value> = Map::new();
    for (index, shard) in shards {
        let mapping = index.mapping();
        for view in &shard.view().segments {
            for (ordinal, bytes) in view.segment.field_data() {
                let Some(name) = mapping.name_of(ordinal) else {
                    continue;
                };
                let known = by_field.get(name).and_then(Value::as_u64).unwrap_or(0);
                by_field.insert(name.to_owned(), json!(known + bytes));
            }
        }
    }
    by_field
}

/// The statistics of shards.
pub(crate) fn sections(shards: &[Part<'_>], breakdown: Breakdown<'_>) -> Value {
    let views: Vec<_> = shards.iter().map(|(_, shard)| shard.view()).collect();
    let total = |meter: fn(&Counters) -> &Meter| -> u64 {
        shards.iter().map(|(_, shard)| meter(&shard.counters).total()).sum()
    };
    let millis = |meter: fn(&Counters) -> &Meter| -> u64 {
        shards.iter().map(|(_, shard)| meter(&shard.counters).millis()).sum()
    };
    let live: u32 = views.iter().map(|view| view.live_docs()).sum();
    let all: u32 = views.iter().map(|view| view.max_doc()).sum();
    let stored: u64 = views.iter().map(|view| view.bytes()).sum();
    let segments: usize = views.iter().map(|view| view.segments.len()).sum();
    let loaded = field_data(shards);
    let memory: u64 = loaded.values().filter_map(Value::as_u64).sum();
    let sum = |count: fn(&Counters) -> u64| -> u64 { shards.iter().map(|(_, shard)| count(&shard.counters)).sum() };
    let operations: u64 = shards.iter().map(|(_, shard)| shard.translog.operations()).sum();
    let translog: u64 = shards.iter().map(|(_, shard)| shard.translog.bytes()).sum();
    let mut shown = json!({
        "docs": {"count": live, "deleted": all - live},
        "store": {"size_in_bytes": stored, "throttle_time_in_millis": 0},
        "indexing": indexing(total(|all| &all.indexing), millis(|all| &all.indexing), total(|all| &all.deletion), millis(|all| &all.deletion)),
        "get": {
            "total": total(|all| &all.found) + total(|all| &all.missed),
            "time_in_millis": millis(|all| &all.found) + millis(|all| &all.missed),
            "exists_total": total(|all| &all.found),
            "exists_time_in_millis": millis(|all| &all.found),
            "missing_total": total(|all| &all.missed),
            "missing_time_in_millis": millis(|all| &all.missed),
            "current": 0,
        },
        "search": {
            "open_contexts": 0,
            "query_total": total(|all| &all.query),
            "query_time_in_millis": millis(|all| &all.query),
            "query_current": 0,
            "fetch_total": total(|all| &all.fetch),
            "fetch_time_in_millis": millis(|all| &all.fetch),
            "fetch_current": 0,
        },
        "merges": {
            "current": 0,
            "current_docs": 0,
            "current_size_in_bytes": 0,
            "total": total(|all| &all.merge),
            "total_time_in_millis": millis(|all| &all.merge),
            "total_docs": sum(|all| all.merged_docs.load(Ordering::Relaxed)),
            "total_size_in_bytes": sum(|all| all.merged_bytes.load(Ordering::Relaxed)),
        },
        "refresh": {"total": total(|all| &all.refresh), "total_time_in_millis": millis(|all| &all.refresh)},
        "flush": {"total": total(|all| &all.flush), "total_time_in_millis": millis(|all| &all.flush)},
        "warmer": {"current": 0, "total": 0, "total_time_in_millis": 0},
        "filter_cache": {"memory_size_in_bytes": 0, "evictions": 0},
        "id_cache": {"memory_size_in_bytes": 0},
        "fielddata": {"memory_size_in_bytes": memory, "evictions": 0},
        "percolate": {"total": 0, "time_in_millis": 0, "current": 0, "memory_size_in_bytes": -1, "memory_size": "-1b", "queries": 0},
        "completion": {"size_in_bytes": 0},
        "segments": {
            "count": segments,
            "memory_in_bytes": memory,
            "index_writer_memory_in_bytes": 0,
            "index_writer_max_memory_in_bytes": WRITER_BYTES * shards.len() as u64,
            "version_map_memory_in_bytes": 0,
            "fixed_bit_set_memory_in_bytes": 0,
        },
        "translog": {"operations": operations, "size_in_bytes": translog},
        "suggest": {"total": total(|all| &all.suggest), "time_in_millis": millis(|all| &all.suggest), "current": 0},
        "query_cache": {"memory_size_in_bytes": 0, "evictions": 0, "hit_count": 0, "miss_count": 0},
        "recovery": {"current_as_source": 0, "current_as_target": 0, "throttle_time_in_millis": 0},
    });
    if let Some(patterns) = breakdown.types {
        shown["indexing"]["types"] = by_type(shards, patterns).into();
    }
    if let Some(patterns) = breakdown.fields {
        let fields = loaded
            .into_iter()
            .filter(|(name, _)| fits(patterns, name))
            .map(|(name, bytes)| (name, json!({"memory_size_in_bytes": bytes})));
        shown["fielddata"]["fields"] = fields.collect::<Map<_, _>>().into();
    }
    shown
}

fn indexing(indexed: u64, index_millis: u64, deleted: u64, delete_millis: u64) -> Value {
    json!({
        "index_total": indexed,
        "index_time_in_millis": index_millis,
        "index_current": 0,
        "delete_total": deleted,
        "delete_time_in_millis": delete_millis,
        "delete_current": 0,
        "noop_update_total": 0,
        "is_throttled": false,
        "throttle_time_in_millis": 0,
    })
}

fn by_type(shards: &[Part<'_>], patterns: &str) -> Map<String, Value> {
    let mut counts: std::collections::BTreeMap<String, [u64; 2]> = Default::default();
    for (_, shard) in shards {
        for (name, [indexed, deleted]) in shard.counters.types.lock().iter() {
            if fits(patterns, name) {
                let known = counts.entry(name.clone()).or_default();
                known[0] += indexed;
                known[1] += deleted;
            }
        }
    }
    counts
        .into_iter()
        .map(|(name, [indexed, deleted])| (name, indexing(indexed, 0, deleted, 0)))
        .collect()
}
