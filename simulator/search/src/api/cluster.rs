//! The root page, cluster health, cluster statistics and cluster settings.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::human;
use super::process::Process;
use crate::cluster::{BUILD, Breakdown, Expand, Index, JVM, JVM_BUILD, LUCENE, VERSION, sections};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// `GET /`.
pub(crate) fn root(shared: &Shared) -> Answer {
    let options = &shared.cluster.options;
    Answer::ok(json!({
        "status": 200,
        "name": options.nodes.first().map_or("", String::as_str),
        "cluster_name": options.cluster_name,
        "version": {
            "number": VERSION,
            "build_hash": BUILD,
            "build_timestamp": "2015-04-27T09:21:06Z",
            "build_snapshot": false,
            "lucene_version": LUCENE,
        },
        "tagline": "You Know, for Search",
    }))
}

/// Returns whether there are as many nodes as wanted: `2`, `>=2`, `ge(2)` and so on.
///
/// # Errors
/// No number.
fn are_enough(nodes: usize, wanted: &str) -> Result<bool> {
    type Comparison = fn(&usize, &usize) -> bool;
    const OPERATORS: [(&str, &str, Comparison); 4] = [
        (">=", "ge(", usize::ge),
        ("<=", "le(", usize::le),
        (">", "gt(", usize::gt),
        ("<", "lt(", usize::lt),
    ];
    let found = OPERATORS.iter().find_map(|(sign, name, compare)| {
        let named = || wanted.strip_prefix(name)?.strip_suffix(')');
        Some((wanted.strip_prefix(sign).or_else(named)?, *compare))
    });
    let (number, compare) = found.unwrap_or((wanted, usize::eq));
    let number = number.parse().map_err(|_| SearchError::number(number))?;
    Ok(compare(&nodes, &number))
}

/// `GET /_cluster/health[/indices]`.
pub(crate) fn health(shared: &Shared, request: &RestRequest, indices: Option<&str>) -> Result<Answer> {
    let named = shared.cluster.named(
        indices.unwrap_or(""),
        Expand {
            closed: true,
            ..Expand::FILTER
        },
    )?;
    let health = shared.cluster.health(&named);
    request.check_timeouts()?;
    request.integer("wait_for_relocating_shards")?;
    let wanted_shards = request.integer("wait_for_active_shards")?;
    // Nothing is pending: a condition holds now or never, so the request does not wait.
    let rank = |status: &str| match status.to_lowercase().as_str() {
        "green" => 2,
        "yellow" => 1,
        _ => 0,
    };
    if let Some(wanted) = request.param("wait_for_status").map(str::to_uppercase)
        && !matches!(wanted.as_str(), "GREEN" | "YELLOW" | "RED")
    {
        let reason =
            format!("No enum constant org.elasticsearch.action.admin.cluster.health.ClusterHealthStatus.{wanted}");
        return Err(SearchError::new(500, Exception::IllegalArgument, reason));
    }
    // If one index is missing, the request waits for it.
    let missing = shared.cluster.named(indices.unwrap_or(""), Expand::ALL).is_err();
    let nodes = shared.cluster.options.nodes.len();
    let wanted_nodes = request.param("wait_for_nodes").filter(|wanted| !wanted.is_empty());
    let enough_nodes = wanted_nodes.map_or(Ok(true), |wanted| are_enough(nodes, wanted))?;
    let timed_out = missing
        || !enough_nodes
        || wanted_shards.is_some_and(|wanted| i64::from(wanted) > i64::from(health.active))
        || request
            .param("wait_for_status")
            .is_some_and(|wanted| rank(wanted) > rank(health.status()));
    let status = if missing { "red" } else { health.status() };
    let mut response = json!({
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
        response["indices"] = by_index.collect::<Map<_, _>>().into();
    }
    Ok(Answer::ok(response))
}

fn index_health(shared: &Shared, index: &Arc<Index>, shards: bool) -> Value {
    let health = shared.cluster.health(std::slice::from_ref(index));
    let mut health_json = json!({
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
        let by_shard = shared.cluster.routing(index).into_iter().map(|(shard, copies)| {
            let active = copies.iter().filter(|copy| !copy["node"].is_null()).count();
            let status = if active == copies.len() { "green" } else { "yellow" };
            (
                shard.to_string(),
                json!({
                    "status": status,
                    "primary_active": true,
                    "active_shards": active,
                    "relocating_shards": 0,
                    "initializing_shards": 0,
                    "unassigned_shards": copies.len() - active,
                }),
            )
        });
        health_json["shards"] = by_shard.collect::<Map<_, _>>().into();
    }
    health_json
}

/// Returns minimum, maximum and mean of a number over the indices.
fn min_max_avg(numbers: &[f64], whole: bool) -> Value {
    let min = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let max = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    if whole {
        json!({"min": min as u64, "max": max as u64, "avg": mean})
    } else {
        json!({"min": min, "max": max, "avg": mean})
    }
}

/// `GET /_cluster/stats`.
pub(crate) fn stats(shared: &Shared, request: &RestRequest) -> Answer {
    let all = shared.cluster.indices();
    let health = shared.cluster.health(&all);
    let nodes = shared.cluster.node_count();
    let mut copies = shared.cluster.copies(&all);
    let mut sections_of_all = sections(&copies, Breakdown::default());
    copies.retain(|copy| copy.primary);
    sections_of_all["docs"] = sections(&copies, Breakdown::default())["docs"].take();
    let mut take = |section: &str| sections_of_all[section].take();
    let mut shards = json!({});
    if !all.is_empty() {
        let primaries: Vec<f64> = all.iter().map(|index| f64::from(index.shard_count())).collect();
        let active: Vec<f64> = all
            .iter()
            .map(|index| f64::from(shared.cluster.assigned(index)))
            .collect();
        let copies: Vec<f64> = primaries
            .iter()
            .zip(&active)
            .map(|(own, all)| (all - own) / own)
            .collect();
        let replication =
            f64::from(health.active.saturating_sub(health.primaries)) / f64::from(health.primaries.max(1));
        shards = json!({
            "total": health.active,
            "primaries": health.primaries,
            "replication": replication,
            "index": {
                "shards": min_max_avg(&active, true),
                "primaries": min_max_avg(&primaries, true),
                "replication": min_max_avg(&copies, false),
            },
        });
    }
    let mut indices = json!({"count": all.len(), "shards": shards});
    for section in [
        "docs",
        "store",
        "fielddata",
        "filter_cache",
        "id_cache",
        "completion",
        "segments",
        "percolate",
    ] {
        indices[section] = take(section);
    }
    let process = Process::now();
    let files = process.open_files;
    let uptime = (shared.cluster.options.ticks)().as_millis();
    let mut response = json!({
        "timestamp": shared.cluster.now(),
        "cluster_name": shared.cluster.options.cluster_name,
        "status": health.status(),
        "indices": indices,
        "nodes": {
            "count": {"total": nodes, "master_only": 0, "data_only": 0, "master_data": nodes, "client": 0},
            "versions": [VERSION],
            "os": {"available_processors": nodes, "mem": {"total_in_bytes": 0}, "cpu": []},
            "process": {"cpu": {"percent": 0}, "open_file_descriptors": {"min": files, "max": files, "avg": files}},
            "jvm": {
                "max_uptime_in_millis": u64::try_from(uptime).unwrap_or(u64::MAX),
                "versions": [{
                    "version": JVM,
                    "vm_name": "OpenJDK 64-Bit Server VM",
                    "vm_version": JVM_BUILD,
                    "vm_vendor": "Debian",
                    "count": nodes,
                }],
                "mem": {"heap_used_in_bytes": process.resident, "heap_max_in_bytes": process.total},
                "threads": process.threads,
            },
            "fs": {},
            "plugins": [],
        },
    });
    if request.flag("human") {
        human::add_texts(&mut response);
    }
    Answer::ok(response)
}
