//! The index monitoring APIs: `_stats`, `_segments`, `_recovery` and `_status`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::human;
use crate::cluster::{Block, Breakdown, Index, LUCENE, ShardCopy, address, bytes, id_of, sections};
use crate::error::Result;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// Returns the requested sections of statistics. Default: all sections.
pub(super) fn selected_sections(mut statistics: Value, metrics: Option<&str>) -> Value {
    let named = |metric: &str| match metric {
        "merge" => "merges".to_owned(),
        metric => metric.to_owned(),
    };
    if let (Some(metrics), Value::Object(sections)) = (metrics.filter(|metrics| *metrics != "_all"), &mut statistics) {
        let wanted: Vec<String> = metrics.split(',').map(named).collect();
        sections.retain(|name, _| wanted.contains(name));
    }
    statistics
}

/// Reads what a request for statistics has own statistics for.
pub(super) fn breakdown(request: &RestRequest) -> Breakdown<'_> {
    Breakdown {
        types: request.param("types"),
        fields: request.param("fields").or(request.param("fielddata_fields")),
        groups: request.param("groups"),
    }
}

/// Parameters of `_stats`.
struct StatsRequest<'a> {
    metrics: Option<&'a str>,
    breakdown: Breakdown<'a>,
    human: bool,
}

impl StatsRequest<'_> {
    fn of(&self, copies: &[ShardCopy<'_>]) -> Value {
        let mut statistics = selected_sections(sections(copies, self.breakdown), self.metrics);
        if self.human {
            human::add_texts(&mut statistics);
        }
        statistics
    }

    fn primaries_and_total(&self, shared: &Shared, indices: &[Arc<Index>]) -> Value {
        let mut copies = shared.cluster.copies(indices);
        let total = self.of(&copies);
        copies.retain(|copy| copy.primary);
        json!({"primaries": self.of(&copies), "total": total})
    }

    /// Returns the statistics of a copy, with its routing.
    fn of_copy(&self, copy: ShardCopy<'_>) -> Value {
        let mut statistics = json!({
            "routing": {
                "state": "STARTED",
                "primary": copy.primary,
                "node": id_of(copy.node),
                "relocating_node": null,
            },
        });
        if let (Value::Object(statistics), Value::Object(own)) = (&mut statistics, self.of(&[copy])) {
            statistics.extend(own);
        }
        statistics
    }
}

/// Returns the JSON of each assigned copy of an index, by shard number.
fn by_shard(shared: &Shared, index: &Index, show: impl Fn(ShardCopy<'_>) -> Value) -> Map<String, Value> {
    let mut by_shard: Map<String, Value> = Map::new();
    for copy in shared.cluster.copies_of(index) {
        let of_shard = by_shard
            .entry(copy.shard.number().to_string())
            .or_insert_with(|| json!([]));
        if let Value::Array(of_shard) = of_shard {
            of_shard.push(show(copy));
        }
    }
    by_shard
}

/// `GET [/index]/_stats[/metrics]`.
pub(crate) fn stats(shared: &Shared, request: &RestRequest, indices: &str, metrics: Option<&str>) -> Result<Answer> {
    let named = shared.cluster.broadcast(indices, request.expand()?, Block::Metadata)?;
    let stats = StatsRequest {
        metrics,
        breakdown: breakdown(request),
        human: request.flag("human"),
    };
    let total = stats.primaries_and_total(shared, &named);
    let level = request.param("level").unwrap_or("indices");
    if !matches!(level, "cluster" | "indices" | "shards") {
        return Ok(Answer::ok(json!({"_shards": shared.cluster.shards_json(&named)})));
    }
    let mut response = json!({"_shards": shared.cluster.shards_json(&named), "_all": total});
    if level != "cluster" {
        let by_index = named.iter().map(|index| {
            let mut statistics = stats.primaries_and_total(shared, std::slice::from_ref(index));
            if level == "shards" {
                statistics["shards"] = by_shard(shared, index, |copy| stats.of_copy(copy)).into();
            }
            (index.name.clone(), statistics)
        });
        response["indices"] = by_index.collect::<Map<_, _>>().into();
    }
    Ok(Answer::ok(response))
}

/// `GET /_upgrade`: the sizes of indices, of which nothing is of an older version.
pub(crate) fn upgrade(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.broadcast(indices, request.expand()?, Block::Metadata)?;
    let sizes = named.iter().map(|index| {
        let size = json!({"size_in_bytes": bytes(index), "size_to_upgrade_in_bytes": 0});
        (index.name.clone(), size)
    });
    let mut sizes = Value::Object(sizes.collect());
    if request.flag("human") {
        human::add_texts(&mut sizes);
    }
    Ok(Answer::ok(sizes))
}

/// `GET [/index]/_segments`.
pub(crate) fn segments(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.broadcast(indices, request.expand()?, Block::Metadata)?;
    let by_index: Map<String, Value> = named
        .iter()
        .map(|index| {
            let shards = by_shard(shared, index, |copy| {
                let view = copy.shard.view();
                let segments: Map<String, Value> = view
                    .segments
                    .iter()
                    .map(|view| {
                        let segment = &view.segment;
                        let memory: u64 = segment.field_data().iter().map(|(_, bytes)| bytes).sum();
                        let segment_json = json!({
                            "generation": segment.generation(),
                            "num_docs": view.live_docs(),
                            "deleted_docs": segment.max_doc() - view.live_docs(),
                            "size_in_bytes": segment.bytes(),
                            "memory_in_bytes": memory,
                            "committed": segment.is_committed(),
                            "search": true,
                            "version": LUCENE,
                            "compound": segment.is_compound(),
                        });
                        (segment.name(), segment_json)
                    })
                    .collect();
                let committed = view.segments.iter().filter(|view| view.segment.is_committed()).count();
                json!({
                    "routing": {"state": "STARTED", "primary": copy.primary, "node": id_of(copy.node)},
                    "num_committed_segments": committed,
                    "num_search_segments": segments.len(),
                    "segments": segments,
                })
            });
            (index.name.clone(), json!({"shards": shards}))
        })
        .collect();
    Ok(Answer::ok(
        json!({"_shards": shared.cluster.shards_json(&named), "indices": by_index}),
    ))
}

/// Returns the recovery of a shard copy. The recovery of a new index takes no time.
fn recovery_json(copy: &ShardCopy<'_>) -> Value {
    // A replica is a view of its primary and needs no recovery.
    let recovery = copy.shard.recovery().filter(|_| copy.primary).unwrap_or_default();
    let millis = |time: std::time::Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let began = if recovery.began == 0 {
        copy.index.created
    } else {
        recovery.began
    };
    let (index_time, translog_time) = (millis(recovery.index_time), millis(recovery.translog_time));
    let percent = |total: u64| if total == 0 { "0.0%" } else { "100.0%" };
    // Files are used in place: all of them are reused.
    json!({
        "id": copy.shard.number(),
        "type": if copy.primary { "GATEWAY" } else { "REPLICA" },
        "stage": "DONE",
        "primary": copy.primary,
        "start_time_in_millis": began,
        "stop_time_in_millis": began.saturating_add(index_time).saturating_add(translog_time),
        "total_time_in_millis": index_time.saturating_add(translog_time),
        "index": {
            "size": {
                "total_in_bytes": recovery.bytes,
                "reused_in_bytes": recovery.bytes,
                "recovered_in_bytes": 0,
                "percent": percent(recovery.bytes),
            },
            "files": {
                "total": recovery.files,
                "reused": recovery.files,
                "recovered": 0,
                "percent": percent(recovery.files),
            },
            "total_time_in_millis": index_time,
            "source_throttle_time_in_millis": 0,
            "target_throttle_time_in_millis": 0,
        },
        "translog": {
            "recovered": recovery.operations,
            "total": recovery.operations,
            "percent": "100.0%",
            "total_on_start": recovery.operations,
            "total_time_in_millis": translog_time,
        },
        "start": {"check_index_time_in_millis": 0, "total_time_in_millis": 0},
    })
}

/// `GET [/index]/_recovery`.
pub(crate) fn recovery(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.broadcast(indices, request.expand()?, Block::Read)?;
    if request.flag("active_only") {
        return Ok(Answer::ok(json!({})));
    }
    let node = |ordinal: u32| {
        let name = shared.cluster.options.nodes.get(ordinal as usize);
        json!({
            "id": id_of(ordinal),
            "host": name,
            "transport_address": format!("inet[/{}:9300]", address(ordinal)),
            "ip": address(ordinal),
            "name": name,
        })
    };
    let by_index: Map<String, Value> = named
        .iter()
        .map(|index| {
            let mut source = 0;
            let shards: Vec<Value> = shared
                .cluster
                .copies_of(index)
                .map(|copy| {
                    if copy.primary {
                        source = copy.node;
                    }
                    let mut recovery = recovery_json(&copy);
                    recovery["source"] = node(source);
                    recovery["target"] = node(copy.node);
                    recovery
                })
                .collect();
            (index.name.clone(), json!({"shards": shards}))
        })
        .collect();
    Ok(Answer::ok(by_index.into()))
}

/// Returns the statistics of shard copies in the format of `_status`.
fn status_sections(copies: &[ShardCopy<'_>]) -> Map<String, Value> {
    let all = sections(copies, Breakdown::default());
    let (live, deleted) = (all["docs"]["count"].clone(), all["docs"]["deleted"].clone());
    let max_doc = live.as_u64().unwrap_or(0) + deleted.as_u64().unwrap_or(0);
    let mut statistics = Map::new();
    statistics.insert(
        "translog".to_owned(),
        json!({"operations": all["translog"]["operations"]}),
    );
    statistics.insert(
        "docs".to_owned(),
        json!({"num_docs": live, "max_doc": max_doc, "deleted_docs": deleted}),
    );
    for section in ["merges", "refresh", "flush"] {
        statistics.insert(section.to_owned(), all[section].clone());
    }
    statistics
}

/// `GET [/index]/_status`.
pub(crate) fn status(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.broadcast(indices, request.expand()?, Block::Metadata)?;
    let by_index: Map<String, Value> = named
        .iter()
        .map(|index| {
            let mut statistics = Map::new();
            let mut copies: Vec<ShardCopy<'_>> = shared.cluster.copies_of(index).collect();
            let size: u64 = copies.iter().map(|copy| copy.shard.view().bytes()).sum();
            statistics.insert(
                "index".to_owned(),
                json!({"primary_size_in_bytes": bytes(index), "size_in_bytes": size}),
            );
            copies.retain(|copy| copy.primary);
            statistics.extend(status_sections(&copies));
            let shards = by_shard(shared, index, |copy| {
                let mut own = Map::new();
                let routing = json!({
                    "state": "STARTED",
                    "primary": copy.primary,
                    "node": id_of(copy.node),
                    "relocating_node": null,
                    "shard": copy.shard.number(),
                    "index": index.name,
                });
                own.insert("routing".to_owned(), routing);
                own.insert("state".to_owned(), json!("STARTED"));
                own.insert("index".to_owned(), json!({"size_in_bytes": copy.shard.view().bytes()}));
                own.extend(status_sections(&[copy]));
                own["translog"]["id"] = json!(index.created);
                own.into()
            });
            statistics.insert("shards".to_owned(), shards.into());
            (index.name.clone(), statistics.into())
        })
        .collect();
    Ok(Answer::ok(
        json!({"_shards": shared.cluster.shards_json(&named), "indices": by_index}),
    ))
}
