//! `_stats`, `_segments`, `_recovery`, `_status`: what indices have and what was done to them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::human;
use crate::cluster::{Breakdown, Index, LUCENE, Part, address, bytes, id_of, sections, shards_of};
use crate::error::Result;
use crate::index::Shard;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

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

/// The statistics that a request asks for.
struct Asked<'a> {
    metrics: Option<&'a str>,
    breakdown: Breakdown<'a>,
    human: bool,
}

impl Asked<'_> {
    fn of(&self, shards: &[Part<'_>]) -> Value {
        let mut shown = kept(sections(shards, self.breakdown), self.metrics);
        if self.human {
            human::add_texts(&mut shown);
        }
        shown
    }

    fn both(&self, indices: &[Arc<Index>]) -> Value {
        let shown = self.of(&shards_of(indices));
        json!({"primaries": shown, "total": shown})
    }

    /// The statistics of each shard with its place.
    fn by_shard(&self, shared: &Shared, index: &Index) -> Map<String, Value> {
        index
            .shards
            .iter()
            .map(|shard| {
                let node = shared.cluster.node_of(shard.number());
                let mut shown =
                    json!({"routing": {"state": "STARTED", "primary": true, "node": node, "relocating_node": null}});
                if let (Value::Object(shown), Value::Object(own)) = (&mut shown, self.of(&[(index, shard)])) {
                    shown.extend(own);
                }
                (shard.number().to_string(), json!([shown]))
            })
            .collect()
    }
}

/// `GET [/index]/_stats[/metrics]`.
pub(crate) fn stats(shared: &Shared, request: &RestRequest, indices: &str, metrics: Option<&str>) -> Result<Answer> {
    let named = shared.cluster.named(indices, request.expand())?;
    let asked = Asked {
        metrics,
        breakdown: Breakdown {
            types: request.param("types"),
            fields: request.param("fields").or(request.param("fielddata_fields")),
        },
        human: request.flag("human"),
    };
    let mut shown = json!({"_shards": shared.cluster.shards_json(&named), "_all": asked.both(&named)});
    let level = request.param("level").unwrap_or("indices");
    if level != "cluster" {
        let by_index = named.iter().map(|index| {
            let mut shown = asked.both(std::slice::from_ref(index));
            if level == "shards" {
                shown["shards"] = asked.by_shard(shared, index).into();
            }
            (index.name.clone(), shown)
        });
        shown["indices"] = by_index.collect::<Map<_, _>>().into();
    }
    Ok(Answer::ok(shown))
}

/// `GET [/index]/_segments`.
pub(crate) fn segments(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.named(indices, request.expand())?;
    let by_index: Map<String, Value> = named
        .iter()
        .map(|index| {
            let shards: Map<String, Value> = index
                .shards
                .iter()
                .map(|shard| {
                    let view = shard.view();
                    let segments: Map<String, Value> = view
                        .segments
                        .iter()
                        .map(|view| {
                            let segment = &view.segment;
                            let memory: u64 = segment.field_data().iter().map(|(_, bytes)| bytes).sum();
                            let shown = json!({"generation": segment.number, "num_docs": view.live_docs(), "deleted_docs": segment.max_doc() - view.live_docs(), "size_in_bytes": segment.bytes(), "memory_in_bytes": memory, "committed": segment.is_committed(), "search": true, "version": LUCENE, "compound": false});
                            (format!("_{}", segment.number), shown)
                        })
                        .collect();
                    let node = shared.cluster.node_of(shard.number());
                    let committed = view.segments.iter().filter(|view| view.segment.is_committed()).count();
                    let copy = json!({"routing": {"state": "STARTED", "primary": true, "node": node}, "num_committed_segments": committed, "num_search_segments": segments.len(), "segments": segments});
                    (shard.number().to_string(), json!([copy]))
                })
                .collect();
            (index.name.clone(), json!({"shards": shards}))
        })
        .collect();
    Ok(Answer::ok(
        json!({"_shards": shared.cluster.shards_json(&named), "indices": by_index}),
    ))
}

/// How a shard was recovered. One that was made here was there at once.
fn recovered(index: &Index, shard: &Shard) -> Value {
    let recovery = shard.recovery().unwrap_or_default();
    let millis = |time: std::time::Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let began = if recovery.began == 0 {
        index.created
    } else {
        recovery.began
    };
    let (index_time, translog_time) = (millis(recovery.index_time), millis(recovery.translog_time));
    let percent = |total: u64| if total == 0 { "0.0%" } else { "100.0%" };
    // The files are used as they are.
    json!({
        "id": shard.number(),
        "type": "GATEWAY",
        "stage": "DONE",
        "primary": true,
        "start_time_in_millis": began,
        "stop_time_in_millis": began.saturating_add(index_time).saturating_add(translog_time),
        "total_time_in_millis": index_time.saturating_add(translog_time),
        "index": {
            "size": {"total_in_bytes": recovery.bytes, "reused_in_bytes": recovery.bytes, "recovered_in_bytes": 0, "percent": percent(recovery.bytes)},
            "files": {"total": recovery.files, "reused": recovery.files, "recovered": 0, "percent": percent(recovery.files)},
            "total_time_in_millis": index_time,
            "source_throttle_time_in_millis": 0,
            "target_throttle_time_in_millis": 0,
        },
        "translog": {"recovered": recovery.operations, "total": recovery.operations, "percent": "100.0%", "total_on_start": recovery.operations, "total_time_in_millis": translog_time},
        "start": {"check_index_time_in_millis": 0, "total_time_in_millis": 0},
    })
}

/// `GET [/index]/_recovery`.
pub(crate) fn recovery(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.named(indices, request.expand())?;
    if request.flag("active_only") {
        return Ok(Answer::ok(json!({})));
    }
    let node = |shard: u32| {
        let place = shard % shared.cluster.node_count();
        let name = shared.cluster.options.nodes.get(place as usize);
        json!({"id": id_of(place), "host": name, "transport_address": format!("inet[/{}:9300]", address(place)), "ip": address(place), "name": name})
    };
    let by_index: Map<String, Value> = named
        .iter()
        .map(|index| {
            let shards = index.shards.iter().map(|shard| {
                let mut shown = recovered(index, shard);
                shown["source"] = node(shard.number());
                shown["target"] = node(shard.number());
                shown
            });
            (index.name.clone(), json!({"shards": shards.collect::<Vec<Value>>()}))
        })
        .collect();
    Ok(Answer::ok(by_index.into()))
}

/// Sections of `_status`, for an index or a shard.
fn status_sections(shards: &[Part<'_>]) -> Map<String, Value> {
    let all = sections(shards, Breakdown::default());
    let (live, deleted) = (all["docs"]["count"].clone(), all["docs"]["deleted"].clone());
    let max_doc = live.as_u64().unwrap_or(0) + deleted.as_u64().unwrap_or(0);
    let mut shown = Map::new();
    shown.insert(
        "translog".to_owned(),
        json!({"operations": all["translog"]["operations"]}),
    );
    shown.insert(
        "docs".to_owned(),
        json!({"num_docs": live, "max_doc": max_doc, "deleted_docs": deleted}),
    );
    for section in ["merges", "refresh", "flush"] {
        shown.insert(section.to_owned(), all[section].clone());
    }
    shown
}

/// `GET [/index]/_status`.
pub(crate) fn status(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.named(indices, request.expand())?;
    let by_index: Map<String, Value> = named
        .iter()
        .map(|index| {
            let mut shown = Map::new();
            let size = bytes(index);
            shown.insert(
                "index".to_owned(),
                json!({"primary_size_in_bytes": size, "size_in_bytes": size}),
            );
            shown.extend(status_sections(&shards_of(std::slice::from_ref(index))));
            let shards: Map<String, Value> = index
                .shards
                .iter()
                .map(|shard| {
                    let number = shard.number();
                    let node = shared.cluster.node_of(number);
                    let mut own = Map::new();
                    own.insert("routing".to_owned(), json!({"state": "STARTED", "primary": true, "node": node, "relocating_node": null, "shard": number, "index": index.name}));
                    own.insert("state".to_owned(), json!("STARTED"));
                    own.insert("index".to_owned(), json!({"size_in_bytes": shard.view().bytes()}));
                    own.extend(status_sections(&[(index, shard)]));
                    own["translog"]["id"] = json!(index.created);
                    (number.to_string(), json!([own]))
                })
                .collect();
            shown.insert("shards".to_owned(), shards.into());
            (index.name.clone(), shown.into())
        })
        .collect();
    Ok(Answer::ok(
        json!({"_shards": shared.cluster.shards_json(&named), "indices": by_index}),
    ))
}
