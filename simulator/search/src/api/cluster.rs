//! The cluster as a whole: its status page, health, statistics.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::state::{assigned, routing};
use crate::cluster::{Expand, Index};
use crate::error::Result;
use crate::rest::{Answer, RestRequest, Shared};

/// The version that the backend stands in for.
pub(crate) const VERSION: &str = "1.5.2";
pub(crate) const LUCENE: &str = "4.10.4";
pub(crate) const BUILD: &str = "62ff9868b4c8a0c45860bebb259e21980778ab1c";

/// `GET /`: the status page.
pub(crate) fn root(shared: &Shared) -> Answer {
    let options = &shared.cluster.options;
    Answer::ok(json!({
        "status": 200,
        "name": options.nodes.first().map_or("", String::as_str),
        "cluster_name": options.cluster_name,
        "version": {"number": VERSION, "build_hash": BUILD, "build_timestamp": "2015-04-27T09:21:06Z", "build_snapshot": false, "lucene_version": LUCENE},
        "tagline": "You Know, for Search",
    }))
}

/// The counts of one health report.
#[derive(Default)]
pub(crate) struct Health {
    pub(crate) primaries: u32,
    pub(crate) active: u32,
    pub(crate) unassigned: u32,
}

impl Health {
    pub(crate) fn of(shared: &Shared, indices: &[Arc<Index>]) -> Health {
        let mut health = Health::default();
        for index in indices.iter().filter(|index| !index.is_closed()) {
            let active = assigned(shared, index);
            health.primaries += index.shard_count();
            health.active += active;
            health.unassigned += index.shard_count() * (index.replicas() + 1) - active;
        }
        health
    }

    /// Green when every copy has a node; every primary has one always.
    pub(crate) fn status(&self) -> &'static str {
        if self.unassigned == 0 { "green" } else { "yellow" }
    }
}

/// `GET /_cluster/health[/indices]`.
pub(crate) fn health(shared: &Shared, request: &RestRequest, indices: Option<&str>) -> Result<Answer> {
    let named = shared.cluster.named(
        indices.unwrap_or(""),
        Expand {
            ignore_unavailable: true,
            closed: true,
            forbid_closed: false,
            ..request.expand()
        },
    )?;
    let health = Health::of(shared, &named);
    // What is waited for is there already, or never will be.
    let rank = |status: &str| match status {
        "green" => 2,
        "yellow" => 1,
        _ => 0,
    };
    let missing = indices.is_some_and(|indices| !indices.is_empty() && !indices.contains('*') && named.is_empty());
    let nodes = shared.cluster.options.nodes.len();
    let enough_nodes = request.param("wait_for_nodes").is_none_or(|wanted| {
        let (operator, number) = wanted.split_at(wanted.find(|c: char| c.is_ascii_digit()).unwrap_or(0));
        let number: usize = number.trim_end_matches(')').parse().unwrap_or(0);
        match operator {
            ">" | "gt(" => nodes > number,
            "<" | "lt(" => nodes < number,
            "<=" | "le(" => nodes <= number,
            "" => nodes == number,
            _ => nodes >= number,
        }
    });
    let timed_out = missing
        || !enough_nodes
        || request
            .param("wait_for_status")
            .is_some_and(|wanted| rank(wanted) > rank(health.status()));
    let status = if missing { "red" } else { health.status() };
    let mut shown = json!({
        "cluster_name": shared.cluster.options.cluster_name,
        "status": status,
        "timed_out": timed_out,
        "number_of_nodes": nodes,
        "number_of_data_nodes": nodes,
        "active_primary_shards": health.primaries,
        "active_shards": health.active,
        "relocating_shards": 0,
        "initializing_shards": 0,
        "unassigned_shards": health.unassigned,
        "number_of_pending_tasks": 0,
    });
    let level = request.param("level").unwrap_or("cluster");
    if matches!(level, "indices" | "shards") {
        let by_index = named
            .iter()
            .filter(|index| !index.is_closed())
            .map(|index| (index.name.clone(), index_health(shared, index, level == "shards")));
        shown["indices"] = by_index.collect::<Map<_, _>>().into();
    }
    Ok(Answer::ok(shown))
}

fn index_health(shared: &Shared, index: &Arc<Index>, shards: bool) -> Value {
    let health = Health::of(shared, std::slice::from_ref(index));
    let mut shown = json!({
        "status": health.status(),
        "number_of_shards": index.shard_count(),
        "number_of_replicas": index.replicas(),
        "active_primary_shards": health.primaries,
        "active_shards": health.active,
        "relocating_shards": 0,
        "initializing_shards": 0,
        "unassigned_shards": health.unassigned,
    });
    if shards {
        let by_shard = routing(shared, index).into_iter().map(|(shard, copies)| {
            let active = copies.iter().filter(|copy| !copy["node"].is_null()).count();
            let status = if active == copies.len() { "green" } else { "yellow" };
            (shard.to_string(), json!({"status": status, "primary_active": true, "active_shards": active, "relocating_shards": 0, "initializing_shards": 0, "unassigned_shards": copies.len() - active}))
        });
        shown["shards"] = by_shard.collect::<Map<_, _>>().into();
    }
    shown
}

/// `GET /_cluster/stats`.
pub(crate) fn stats(shared: &Shared) -> Answer {
    let all = shared.cluster.indices();
    let health = Health::of(shared, &all);
    let nodes = shared.cluster.options.nodes.len();
    let documents: u32 = all.iter().map(|index| index.live_docs()).sum();
    let dead: u32 = all.iter().map(|index| index.max_doc() - index.live_docs()).sum();
    let bytes: u64 = all.iter().map(|index| super::stats::bytes(index)).sum();
    Answer::ok(json!({
        "timestamp": shared.cluster.now(),
        "cluster_name": shared.cluster.options.cluster_name,
        "status": health.status(),
        "indices": {
            "count": all.len(),
            "shards": {"total": health.active, "primaries": health.primaries, "replication": if health.primaries == 0 { 0.0 } else { f64::from(health.active - health.primaries) / f64::from(health.primaries) }},
            "docs": {"count": documents, "deleted": dead},
            "store": {"size_in_bytes": bytes, "throttle_time_in_millis": 0},
            "fielddata": {"memory_size_in_bytes": 0, "evictions": 0},
            "filter_cache": {"memory_size_in_bytes": 0, "evictions": 0},
            "id_cache": {"memory_size_in_bytes": 0},
            "completion": {"size_in_bytes": 0},
            "segments": super::stats::sections(&all)["segments"],
            "percolate": {"total": 0, "time_in_millis": 0, "current": 0, "memory_size_in_bytes": -1, "memory_size": "-1b", "queries": 0},
        },
        "nodes": {"count": {"total": nodes, "master_only": 0, "data_only": 0, "master_data": nodes, "client": 0}, "versions": [VERSION], "plugins": []},
    }))
}

/// Prefixes of the settings that a cluster can change.
const DYNAMIC: [&str; 5] = ["cluster.", "indices.", "discovery.", "logger.", "threadpool."];

fn flatten(prefix: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let name = if prefix.is_empty() {
                    key.clone()
                } else {
                    format!("{prefix}.{key}")
                };
                flatten(&name, value, into);
            }
        }
        Value::String(text) => drop(into.insert(prefix.to_owned(), text.clone())),
        other => drop(into.insert(prefix.to_owned(), other.to_string())),
    }
}

fn show_settings(settings: &BTreeMap<String, String>, flat: bool) -> Value {
    let mut shown = json!({});
    for (name, value) in settings {
        let parts: Vec<&str> = if flat { vec![name] } else { name.split('.').collect() };
        let mut at = &mut shown;
        for part in parts {
            // A name that is both a value and a section is shown as the section.
            if !at.is_object() {
                *at = json!({});
            }
            at = &mut at[part];
        }
        *at = json!(value);
    }
    shown
}

/// `GET|PUT /_cluster/settings`: what is set is kept and shown, and changes nothing.
pub(crate) fn settings(shared: &Shared, request: &RestRequest) -> Result<Answer> {
    let flat = request.flag("flat_settings");
    let mut known = shared.cluster.settings.write();
    let [persistent, transient] = &mut *known;
    if request.method != http::Method::PUT {
        return Ok(Answer::ok(json!({
            "persistent": show_settings(persistent, flat),
            "transient": show_settings(transient, flat),
        })));
    }
    let body = request.json()?.unwrap_or_default();
    let mut shown = json!({"acknowledged": true});
    for (section, known) in [("persistent", persistent), ("transient", transient)] {
        let mut fresh = BTreeMap::new();
        if let Some(settings) = body.get(section) {
            flatten("", settings, &mut fresh);
        }
        fresh.retain(|name, _| DYNAMIC.iter().any(|prefix| name.starts_with(prefix)));
        shown[section] = show_settings(&fresh, flat);
        known.extend(fresh);
    }
    Ok(Answer::ok(shown))
}
