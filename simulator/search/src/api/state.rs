//! `_cluster/state` and `_cluster/reroute`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::indices::settings_json;
use crate::cluster::{Block, Expand, Index, id_of};
use crate::error::{Result, SearchError};
use crate::json::{camel_case, is_scalar};
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// `GET /_cluster/state[/metrics[/indices]]`.
pub(crate) fn state(
    shared: &Shared,
    request: &RestRequest,
    metrics: Option<&str>,
    indices: Option<&str>,
) -> Result<Answer> {
    request.check_duration("master_timeout")?;
    let named = match indices {
        None | Some("") => shared.cluster.indices(),
        Some(indices) => shared.cluster.named(indices, request.expand_or(Expand::FILTER)?)?,
    };
    let mut response = Map::new();
    response.insert("cluster_name".to_owned(), json!(shared.cluster.options.cluster_name));
    let metrics = metrics.or(request.param("metric"));
    let metrics: Vec<&str> = metrics.map(|metrics| metrics.split(',').collect()).unwrap_or_default();
    response.extend(sections(shared, request, &metrics, &named, indices.is_some()));
    Ok(Answer::ok(response.into()))
}

/// The parameter of commands that may be missing.
const OPTIONAL: &str = "allow_primary";

/// Commands of `_cluster/reroute`, with their parameters.
const COMMANDS: [(&str, &[&str]); 3] = [
    ("allocate", &["index", "shard", "node", OPTIONAL]),
    ("cancel", &["index", "shard", "node", OPTIONAL]),
    ("move", &["index", "shard", "from_node", "to_node"]),
];

/// Checks the settings of a command of `_cluster/reroute`.
///
/// # Errors
/// An unknown command, unknown parameters, missing ones.
fn check_command(name: &str, settings: &Value) -> Result<()> {
    let Some((_, parameters)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
        let reason = format!("No allocation command factory registered for name [{name}]");
        return Err(SearchError::illegal(reason));
    };
    let settings = settings.as_object().into_iter().flatten();
    let given: Vec<&str> = settings.map(|(key, _)| key.as_str()).collect();
    let is = |key: &str, parameter: &str| key == parameter || key == camel_case(parameter);
    if let Some(unknown) = given.iter().find(|key| !parameters.iter().any(|own| is(key, own))) {
        let reason = format!("[{name}] command does not support field [{unknown}]");
        return Err(SearchError::parse(reason));
    }
    let is_missing = |own: &&&str| **own != OPTIONAL && !given.iter().any(|key| is(key, own));
    match parameters.iter().find(is_missing) {
        None => Ok(()),
        Some(missing) => Err(SearchError::parse(format!(
            "[{name}] command missing the {missing} parameter"
        ))),
    }
}

/// `POST /_cluster/reroute`: validates the commands, but does not move any shard.
///
/// # Errors
/// A body that is no list of commands, an unknown command or an unknown node.
pub(crate) fn reroute(shared: &Shared, request: &RestRequest) -> Result<Answer> {
    request.check_timeouts()?;
    let body = request.json()?.unwrap_or_default();
    for (key, value) in body.as_object().into_iter().flatten() {
        let what = match value {
            Value::Array(_) if key != "commands" => "start array",
            _ if is_scalar(value) && !matches!(key.as_str(), "dry_run" | "dryRun") => "value",
            _ => continue,
        };
        let reason = format!("failed to parse reroute request, got {what} with wrong field name [{key}]");
        return Err(SearchError::parse(reason));
    }
    let commands = body.get("commands").and_then(Value::as_array).into_iter().flatten();
    let commands: Vec<(&String, &Value)> = commands
        .filter_map(|command| command.as_object()?.iter().next())
        .collect();
    commands
        .iter()
        .try_for_each(|(name, settings)| check_command(name, settings))?;
    shared.cluster.check_blocks(&[], Block::Metadata)?;
    for (_, settings) in commands {
        let nodes = ["node", "from_node", "to_node"].map(|key| settings.get(key).and_then(Value::as_str));
        for node in nodes.into_iter().flatten() {
            if !shared
                .cluster
                .nodes()
                .any(|(ordinal, name)| name == node || id_of(ordinal) == node)
            {
                return Err(SearchError::illegal(format!(
                    "failed to resolve [{node} ], no matching nodes"
                )));
            }
        }
    }
    let metrics = match request.param("metric") {
        None => vec!["version", "master_node", "blocks", "nodes", "routing_table"],
        Some(metrics) => metrics.split(',').collect(),
    };
    let state = sections(shared, request, &metrics, &shared.cluster.indices(), false);
    let mut response = json!({"acknowledged": request.acknowledged()?, "state": state});
    if request.flag("explain") {
        // No command changes anything.
        response["explanations"] = json!([]);
    }
    Ok(Answer::ok(response))
}

/// Returns the sections of the cluster state in `metrics`. If it is empty, returns all of them.
fn sections(
    shared: &Shared,
    request: &RestRequest,
    metrics: &[&str],
    named: &[Arc<Index>],
    narrowed: bool,
) -> Map<String, Value> {
    let wants = |metric: &str| metrics.is_empty() || metrics.contains(&"_all") || metrics.contains(&metric);
    let mut state = Map::new();
    if wants("version") {
        state.insert("version".to_owned(), json!(shared.cluster.version()));
    }
    if wants("master_node") {
        state.insert("master_node".to_owned(), json!(id_of(0)));
    }
    if wants("blocks") {
        state.insert("blocks".to_owned(), shared.cluster.describe_blocks());
    }
    if wants("nodes") {
        state.insert("nodes".to_owned(), shared.cluster.node_addresses().into());
    }
    if wants("metadata") {
        state.insert("metadata".to_owned(), metadata(shared, request, named, !narrowed));
    }
    if wants("routing_table") {
        state.insert(
            "routing_table".to_owned(),
            json!({"indices": routing_table(shared, named)}),
        );
    }
    if wants("routing_table") {
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
            .flat_map(|index| shared.cluster.routing(index))
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
        if narrowed {
            by_node.retain(|_, copies| copies.as_array().is_some_and(|copies| !copies.is_empty()));
        }
        state.insert(
            "routing_nodes".to_owned(),
            json!({"unassigned": unassigned, "nodes": by_node}),
        );
        state.insert("allocations".to_owned(), json!([]));
    }
    state
}

fn routing_table(shared: &Shared, named: &[Arc<Index>]) -> Map<String, Value> {
    named
        .iter()
        .filter(|index| !index.is_closed())
        .map(|index| {
            let shards: Map<String, Value> = shared
                .cluster
                .routing(index)
                .into_iter()
                .map(|(shard, copies)| (shard.to_string(), copies.into()))
                .collect();
            (index.name.clone(), json!({"shards": shards}))
        })
        .collect()
}

fn metadata(shared: &Shared, request: &RestRequest, named: &[Arc<Index>], whole: bool) -> Value {
    let templates: Map<String, Value> = shared
        .cluster
        .templates
        .read()
        .iter()
        .filter(|_| whole)
        .map(|(name, template)| {
            let mut definition = template.describe(request.flag_or("flat_settings", true));
            if let Value::Object(parts) = &mut definition {
                parts.retain(|part, _| !matches!(part.as_str(), "aliases" | "warmers"));
            }
            (name.clone(), definition)
        })
        .collect();
    let indices: Map<String, Value> = named
        .iter()
        .map(|index| {
            let state = if index.closed.load(Ordering::Relaxed) {
                "close"
            } else {
                "open"
            };
            let aliases: Vec<String> = index.aliases.read().keys().cloned().collect();
            (
                index.name.clone(),
                json!({
                    "state": state,
                    "settings": settings_json(index, request),
                    "mappings": index.mapping().describe(),
                    "aliases": aliases,
                }),
            )
        })
        .collect();
    json!({"templates": templates, "indices": indices})
}
