//! Statistics of shard copies, in the sections of `_stats`.
//!
//! Limits: statistics of missing features (percolator, warmers, filter and query caches) are 0.
//! Source: Elasticsearch 1.5's `CommonStats`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::{Index, node::ShardCopy};
use crate::index::{Counters, Merging, Meter, SearchMeters};
use crate::pattern;

/// Reported memory limit of the index writer of a shard, in bytes.
const MAX_WRITER_BYTES: u64 = 8_109_260;

/// Types and fields with statistics of their own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Breakdown<'a> {
    /// Comma-separated patterns of types, for indexing statistics.
    pub(crate) types: Option<&'a str>,
    /// Comma-separated patterns of fields, for field data statistics.
    pub(crate) fields: Option<&'a str>,
    /// Comma-separated patterns of the groups of searches.
    pub(crate) groups: Option<&'a str>,
}

/// Size of the segments of an index, in bytes.
pub(crate) fn bytes(index: &Index) -> u64 {
    index.views().iter().map(|view| view.bytes()).sum()
}

/// Returns the memory of loaded field data, in bytes, by field.
pub(crate) fn field_data(copies: &[ShardCopy<'_>]) -> Map<String, Value> {
    let mut by_field: Map<String, Value> = Map::new();
    for ShardCopy { index, shard, .. } in copies {
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

fn merging(counters: &Counters, count: fn(&Merging) -> u64) -> u64 {
    counters.merging.lock().as_ref().map_or(0, count)
}

/// Returns the statistics of shard copies.
///
/// A replica has the same data and writes as its primary. Reads are counted for the primary only.
pub(crate) fn sections(copies: &[ShardCopy<'_>], breakdown: Breakdown<'_>) -> Value {
    let views: Vec<_> = copies.iter().map(|copy| copy.shard.view()).collect();
    let sum = |count: fn(&Counters) -> u64| -> u64 { copies.iter().map(|copy| count(&copy.shard.counters)).sum() };
    let primaries = || copies.iter().filter(|copy| copy.primary);
    let read =
        |meter: fn(&Counters) -> &Meter| -> u64 { primaries().map(|copy| meter(&copy.shard.counters).total()).sum() };
    let read_millis =
        |meter: fn(&Counters) -> &Meter| -> u64 { primaries().map(|copy| meter(&copy.shard.counters).millis()).sum() };
    let live: u32 = views.iter().map(|view| view.live_docs()).sum();
    let all: u32 = views.iter().map(|view| view.max_doc()).sum();
    let stored: u64 = views.iter().map(|view| view.bytes()).sum();
    let segments: usize = views.iter().map(|view| view.segments.len()).sum();
    let loaded = field_data(copies);
    let memory: u64 = loaded.values().filter_map(Value::as_u64).sum();
    let operations: u64 = copies.iter().map(|copy| copy.shard.translog.operations()).sum();
    let translog: u64 = copies.iter().map(|copy| copy.shard.translog.bytes()).sum();
    let mut sections = json!({
        "docs": {"count": live, "deleted": all - live},
        "store": {"size_in_bytes": stored, "throttle_time_in_millis": 0},
        "indexing": indexing(
            sum(|all| all.indexing.total()),
            sum(|all| all.indexing.millis()),
            sum(|all| all.deletion.total()),
            sum(|all| all.deletion.millis()),
        ),
        "get": {
            "total": read(|all| &all.found) + read(|all| &all.missed),
            "time_in_millis": read_millis(|all| &all.found) + read_millis(|all| &all.missed),
            "exists_total": read(|all| &all.found),
            "exists_time_in_millis": read_millis(|all| &all.found),
            "missing_total": read(|all| &all.missed),
            "missing_time_in_millis": read_millis(|all| &all.missed),
            "current": 0,
        },
        "search": searches(primaries().map(|copy| &copy.shard.counters.search)),
        "merges": {
            "current": sum(|all| merging(all, |_| 1)),
            "current_docs": sum(|all| merging(all, |running| running.docs)),
            "current_size_in_bytes": sum(|all| merging(all, |running| running.bytes)),
            "total": sum(|all| all.merge.total()),
            "total_time_in_millis": sum(|all| all.merge.millis()),
            "total_docs": sum(|all| all.merged_docs.load(Ordering::Relaxed)),
            "total_size_in_bytes": sum(|all| all.merged_bytes.load(Ordering::Relaxed)),
        },
        "refresh": {
            "total": sum(|all| all.refresh.total()),
            "total_time_in_millis": sum(|all| all.refresh.millis()),
        },
        "flush": {
            "total": sum(|all| all.flush.total()),
            "total_time_in_millis": sum(|all| all.flush.millis()),
        },
        "warmer": {"current": 0, "total": 0, "total_time_in_millis": 0},
        "filter_cache": {"memory_size_in_bytes": 0, "evictions": 0},
        "id_cache": {"memory_size_in_bytes": 0},
        "fielddata": {"memory_size_in_bytes": memory, "evictions": 0},
        "percolate": {
            "total": 0,
            "time_in_millis": 0,
            "current": 0,
            "memory_size_in_bytes": -1,
            "memory_size": "-1b",
            "queries": 0,
        },
        "completion": {"size_in_bytes": 0},
        "segments": {
            "count": segments,
            "memory_in_bytes": memory,
            "index_writer_memory_in_bytes": 0,
            "index_writer_max_memory_in_bytes": MAX_WRITER_BYTES * copies.len() as u64,
            "version_map_memory_in_bytes": 0,
            "fixed_bit_set_memory_in_bytes": 0,
        },
        "translog": {"operations": operations, "size_in_bytes": translog},
        "suggest": {
            "total": read(|all| &all.suggest),
            "time_in_millis": read_millis(|all| &all.suggest),
            "current": 0,
        },
        "query_cache": {"memory_size_in_bytes": 0, "evictions": 0, "hit_count": 0, "miss_count": 0},
        "recovery": {"current_as_source": 0, "current_as_target": 0, "throttle_time_in_millis": 0},
    });
    let groups = breakdown.groups.map(|patterns| by_group(primaries(), patterns));
    let groups = groups.filter(|groups| !groups.is_empty());
    if let Some(search) = sections["search"].as_object_mut() {
        search.shift_insert(0, "open_contexts".to_owned(), json!(0));
        search.extend(groups.map(|groups| ("groups".to_owned(), groups.into())));
    }
    if let Some(patterns) = breakdown.types {
        sections["indexing"]["types"] = by_type(copies, patterns).into();
    }
    if let Some(patterns) = breakdown.fields {
        let fields = loaded
            .into_iter()
            .filter(|(name, _)| pattern::matches_any(patterns, name))
            .map(|(name, bytes)| (name, json!({"memory_size_in_bytes": bytes})));
        sections["fielddata"]["fields"] = fields.collect::<Map<_, _>>().into();
    }
    sections
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

/// Returns the sums of counters of searches.
fn searches<'a>(meters: impl Iterator<Item = &'a SearchMeters> + Clone) -> Value {
    let sum = |count: fn(&SearchMeters) -> u64| -> u64 { meters.clone().map(count).sum() };
    json!({
        "query_total": sum(|all| all.query.total()),
        "query_time_in_millis": sum(|all| all.query.millis()),
        "query_current": 0,
        "fetch_total": sum(|all| all.fetch.total()),
        "fetch_time_in_millis": sum(|all| all.fetch.millis()),
        "fetch_current": 0,
    })
}

fn by_group<'a>(copies: impl Iterator<Item = &'a ShardCopy<'a>>, patterns: &str) -> Map<String, Value> {
    let mut meters: BTreeMap<String, Vec<Arc<SearchMeters>>> = BTreeMap::new();
    for copy in copies {
        for (name, own) in copy.shard.counters.groups.lock().iter() {
            if pattern::matches_any(patterns, name) {
                meters.entry(name.clone()).or_default().push(own.clone());
            }
        }
    }
    meters
        .into_iter()
        .map(|(name, meters)| (name, searches(meters.iter().map(|meters| &**meters))))
        .collect()
}

fn by_type(copies: &[ShardCopy<'_>], patterns: &str) -> Map<String, Value> {
    let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for ShardCopy { shard, .. } in copies {
        for (name, [indexed, deleted]) in shard.counters.types.lock().iter() {
            if pattern::matches_any(patterns, name) {
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
