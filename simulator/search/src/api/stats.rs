//! `_stats`, `_segments`, `_recovery`, `_status`: what indices have and what was done to them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::nodes::{address, id_of};
use super::state::routing;
use crate::cluster::Index;
use crate::error::Result;
use crate::rest::{Answer, RestRequest, Shared};

/// What the writer of a shard may take, in bytes.
const WRITER_BYTES: u64 = 8_109_260;

/// How many bytes the segments of an index take.
pub(crate) fn bytes(index: &Index) -> u64 {
    index.views().iter().map(|view| view.bytes()).sum()
}

/// Number of segments of an index.
pub(crate) fn segment_count(index: &Index) -> u64 {
    index.views().iter().map(|view| view.segments.len() as u64).sum()
}

/// The statistics of some indices, in sections.
pub(crate) fn sections(indices: &[Arc<Index>]) -> Value {
    let sum = |count: fn(&Index) -> u64| indices.iter().map(|index| count(index)).sum::<u64>();
    let (documents, max_doc): (u32, u32) = indices.iter().fold((0, 0), |(alive, max), index| {
        (alive + index.live_docs(), max + index.max_doc())
    });
    json!({
        "docs": {"count": documents, "deleted": max_doc - documents},
        "store": {"size_in_bytes": sum(bytes), "throttle_time_in_millis": 0},
        "indexing": {"index_total": sum(|index| index.counters.indexed.load(Ordering::Relaxed)), "index_time_in_millis": 0, "index_current": 0, "delete_total": sum(|index| index.counters.deleted.load(Ordering::Relaxed)), "delete_time_in_millis": 0, "delete_current": 0, "noop_update_total": 0, "is_throttled": false, "throttle_time_in_millis": 0},
        "get": {"total": sum(|index| index.counters.got.load(Ordering::Relaxed)), "time_in_millis": 0, "exists_total": sum(|index| index.counters.got.load(Ordering::Relaxed)), "exists_time_in_millis": 0, "missing_total": 0, "missing_time_in_millis": 0, "current": 0},
        "search": {"open_contexts": 0, "query_total": sum(|index| index.counters.searched.load(Ordering::Relaxed)), "query_time_in_millis": 0, "query_current": 0, "fetch_total": 0, "fetch_time_in_millis": 0, "fetch_current": 0},
        "merges": {"current": 0, "current_docs": 0, "current_size_in_bytes": 0, "total": 0, "total_time_in_millis": 0, "total_docs": 0, "total_size_in_bytes": 0},
        "refresh": {"total": 0, "total_time_in_millis": 0},
        "flush": {"total": 0, "total_time_in_millis": 0},
        "warmer": {"current": 0, "total": 0, "total_time_in_millis": 0},
        "filter_cache": {"memory_size_in_bytes": 0, "evictions": 0},
        "id_cache": {"memory_size_in_bytes": 0},
        "fielddata": {"memory_size_in_bytes": 0, "evictions": 0},
        "percolate": {"total": 0, "time_in_millis": 0, "current": 0, "memory_size_in_bytes": -1, "memory_size": "-1b", "queries": 0},
        "completion": {"size_in_bytes": 0},
        "segments": {"count": sum(segment_count), "memory_in_bytes": 0, "index_writer_memory_in_bytes": 0, "index_writer_max_memory_in_bytes": WRITER_BYTES * indices.iter().map(|index| u64::from(index.shard_count())).sum::<u64>(), "version_map_memory_in_bytes": 0, "fixed_bit_set_memory_in_bytes": 0},
        "translog": {"operations": 0, "size_in_bytes": 0},
        "suggest": {"total": 0, "time_in_millis": 0, "current": 0},
        "query_cache": {"memory_size_in_bytes": 0, "evictions": 0, "hit_count": 0, "miss_count": 0},
        "recovery": {"current_as_source": 0, "current_as_target": 0, "throttle_time_in_millis": 0},
    })
}

/// The sections that are asked for; all, if none is.
pub(super) fn kept(mut shown: Value, metrics: Option<&str>) -> Value {
    let named = |metric: &str| match metric {
        "merge" => "merges".to_owned(),
        metric => metric.to_owned(),
    };
    if let (Some(metrics), Value::Object(sections)) = (metrics.filter(|metrics| *metrics != "_all"), &mut shown) {
        let wanted: Vec<String> = metrics.split(',').map(named).collect();
        sections.retain(|name, _| wanted.contains(name));
    }
    shown
}

/// `GET [/index]/_stats[/metrics]`.
pub(crate) fn stats(shared: &Shared, request: &RestRequest, indices: &str, metrics: Option<&str>) -> Result<Answer> {
    let named = shared.cluster.named(indices, request.expand())?;
    let both = |indices: &[Arc<Index>]| {
        let shown = kept(sections(indices), metrics);
        json!({"primaries": shown, "total": shown})
    };
    let by_index: Map<String, Value> = named
        .iter()
        .map(|index| (index.name.clone(), both(std::slice::from_ref(index))))
        .collect();
    Ok(Answer::ok(
        json!({"_shards": super::indices::shards(shared, &named), "_all": both(&named), "indices": by_index}),
    ))
}

/// `GET [/index]/_segments`.
pub(crate) fn segments(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.named(indices, request.expand())?;
    let by_index: Map<String, Value> = named
        .iter()
        .map(|index| {
            let views = index.views();
            let shards: Map<String, Value> = routing(shared, index)
                .into_iter()
                .map(|(shard, copies)| {
                    let own = views.get(shard as usize).map_or(&[][..], |view| view.segments.as_slice());
                    let segments: Map<String, Value> = own
                        .iter()
                        .map(|view| {
                            let segment = &view.segment;
                            let shown = json!({"generation": segment.number, "num_docs": view.live_docs(), "deleted_docs": segment.max_doc() - view.live_docs(), "size_in_bytes": segment.bytes(), "memory_in_bytes": 0, "committed": true, "search": true, "version": super::cluster::LUCENE, "compound": false});
                            (format!("_{}", segment.number), shown)
                        })
                        .collect();
                    let primary = copies.first().cloned().unwrap_or_default();
                    let copy = json!({"routing": {"state": "STARTED", "primary": true, "node": primary["node"]}, "num_committed_segments": segments.len(), "num_search_segments": segments.len(), "segments": segments});
                    (shard.to_string(), json!([copy]))
                })
                .collect();
            (index.name.clone(), json!({"shards": shards}))
        })
        .collect();
    Ok(Answer::ok(
        json!({"_shards": super::indices::shards(shared, &named), "indices": by_index}),
    ))
}

/// `GET [/index]/_recovery`: every primary has long been there.
pub(crate) fn recovery(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.named(indices, request.expand())?;
    if request.flag("active_only") {
        return Ok(Answer::ok(json!({})));
    }
    let nodes = u32::try_from(shared.cluster.options.nodes.len()).unwrap_or(1).max(1);
    let node = |shard: u32| {
        let place = shard % nodes;
        let name = shared.cluster.options.nodes.get(place as usize);
        json!({"id": id_of(place), "host": name, "transport_address": format!("inet[/{}:9300]", address(place)), "ip": address(place), "name": name})
    };
    let by_index: Map<String, Value> = named
        .iter()
        .map(|index| {
            let shards: Vec<Value> = (0..index.shard_count())
                .map(|shard| json!({"id": shard, "type": "GATEWAY", "stage": "DONE", "primary": true, "start_time_in_millis": index.created, "stop_time_in_millis": index.created, "total_time_in_millis": 0, "source": node(shard), "target": node(shard), "index": {"size": {"total_in_bytes": 0, "reused_in_bytes": 0, "recovered_in_bytes": 0, "percent": "0.0%"}, "files": {"total": 0, "reused": 0, "recovered": 0, "percent": "0.0%"}, "total_time_in_millis": 0, "source_throttle_time_in_millis": 0, "target_throttle_time_in_millis": 0}, "translog": {"recovered": 0, "total": 0, "percent": "100.0%", "total_on_start": 0, "total_time_in_millis": 0}, "start": {"check_index_time_in_millis": 0, "total_time_in_millis": 0}}))
                .collect();
            (index.name.clone(), json!({"shards": shards}))
        })
        .collect();
    Ok(Answer::ok(by_index.into()))
}

/// `GET [/index]/_status`.
pub(crate) fn status(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.named(indices, request.expand())?;
    let by_index: Map<String, Value> = named
        .iter()
        .map(|index| {
            let (documents, max_doc) = (index.live_docs(), index.max_doc());
            (index.name.clone(), json!({"index": {"primary_size_in_bytes": bytes(index), "size_in_bytes": bytes(index)}, "docs": {"num_docs": documents, "max_doc": max_doc, "deleted_docs": max_doc - documents}}))
        })
        .collect();
    Ok(Answer::ok(
        json!({"_shards": super::indices::shards(shared, &named), "indices": by_index}),
    ))
}
