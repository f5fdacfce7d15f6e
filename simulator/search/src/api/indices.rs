//! The index APIs: create, delete, get, open, close, settings, refresh, flush and optimize.

use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::described;
use crate::cluster::{Block, Expand, Index, Settings, check_sections, refresh};
use crate::error::{Result, SearchError};
use crate::json;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;
use crate::ties::in_hash_order;

/// `PUT|POST /index`.
pub(crate) fn create(shared: &Shared, request: &RestRequest, index: &str) -> Result<Answer> {
    let body = request.body_or_source();
    let body = if body.iter().all(u8::is_ascii_whitespace) {
        None
    } else if json::derivable(body).is_err() {
        Some(json!({"settings": Settings::read(body)?.flat()}))
    } else {
        let parsed = json::members(body)
            .map_err(|error| SearchError::parse("failed to parse source for create index").caused_by(error))?;
        Some(Value::Object(parsed))
    };
    body.as_ref().map_or(Ok(()), check_sections)?;
    request.check_timeouts()?;
    shared.cluster.create(index, body.as_ref())?;
    Ok(Answer::acknowledged(request.acknowledged()?))
}

/// `DELETE /index`.
pub(crate) fn delete(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    request.check_timeouts()?;
    let named = shared
        .cluster
        .allowed(indices, request.expand_or(Expand::ALL)?, Block::Metadata)?;
    if named.is_empty()
        && !request.flag("ignore_unavailable")
        && !indices.contains('*')
        && indices != "_all"
        && !indices.is_empty()
    {
        return Err(SearchError::index_missing(indices));
    }
    for index in named {
        shared.cluster.remove(&index.name)?;
        shared.scrolls.remove_index(&index.name);
    }
    Ok(Answer::acknowledged(request.acknowledged()?))
}

/// `HEAD /index`.
pub(crate) fn exists(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let expand = request.expand_or(Expand::CHANGES)?;
    let named = shared.cluster.allowed(indices, expand, Block::Metadata);
    Answer::found(named.map(|_| true))
}

/// The settings of an index, flat if the request says so.
pub(super) fn settings_json(index: &Index, request: &RestRequest) -> Value {
    let settings = index.settings.read();
    if request.flag("flat_settings") {
        settings.flat()
    } else {
        settings.nested()
    }
}

/// `GET /index[/_settings,_mappings,...]`.
pub(crate) fn get(shared: &Shared, request: &RestRequest, indices: &str, features: &[&str]) -> Result<Answer> {
    let named = described(shared, request, indices)?;
    let wants = |names: [&str; 2]| features.is_empty() || features.iter().any(|feature| names.contains(feature));
    let mut response = Map::new();
    for index in named {
        let mut parts = Map::new();
        if wants(["_aliases", "_alias"]) {
            parts.insert("aliases".to_owned(), super::aliases::describe(&index));
        }
        if wants(["_mappings", "_mapping"]) {
            parts.insert("mappings".to_owned(), index.mapping().describe().into());
        }
        if wants(["_settings", "_settings"]) {
            parts.insert("settings".to_owned(), settings_json(&index, request));
        }
        if wants(["_warmers", "_warmer"]) {
            let warmers = index.warmers.read().clone();
            parts.insert("warmers".to_owned(), json!(warmers));
        }
        response.insert(index.name.clone(), parts.into());
    }
    Ok(Answer::ok(response.into()))
}

/// `GET [/index]/_settings[/name]`.
pub(crate) fn settings(shared: &Shared, request: &RestRequest, indices: &str, name: Option<&str>) -> Result<Answer> {
    let named = described(shared, request, indices)?;
    let mut response = Map::new();
    for index in named {
        let mut settings = settings_json(&index, request);
        if let Some(wanted) = name.filter(|name| *name != "_all" && *name != "*") {
            let flat = index.settings.read().flat();
            let kept: Map<String, Value> = flat
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(key, _)| wanted.split(',').any(|wanted| crate::pattern::matches(wanted, key)))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            settings = if request.flag("flat_settings") {
                kept.into()
            } else {
                Settings::parse(&kept.into()).nested()
            };
        }
        if settings.as_object().is_some_and(Map::is_empty) {
            continue;
        }
        response.insert(index.name.clone(), json!({"settings": settings}));
    }
    Ok(Answer::ok(response.into()))
}

/// Parameters of `_settings` that are not settings.
const REQUEST_PARAMETERS: [&str; 4] = ["pretty", "index", "timeout", "master_timeout"];

/// `PUT [/index]/_settings`.
pub(crate) fn put_settings(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    request.check_timeouts()?;
    let mut fresh = Settings::read(request.body_or_source())?;
    // All other parameters of the request are settings.
    let own = |name: &str| REQUEST_PARAMETERS.contains(&name);
    let given = request.params.iter().filter(|(name, _)| !own(name));
    let given: Map<String, Value> = given.map(|(name, text)| (name.clone(), json!(text))).collect();
    fresh.extend(&Settings::parse(&given.into()));
    if fresh.is_empty() {
        return Err(SearchError::validation("no settings to update"));
    }
    let mut named = shared.cluster.named(indices, request.expand_or(Expand::CHANGES)?)?;
    if named.is_empty() {
        named = shared.cluster.indices();
    }
    shared.cluster.check_blocks(&[], Block::Metadata)?;
    if !fresh.only_unblock() {
        shared.cluster.check_blocks(&named, Block::Metadata)?;
    }
    if fresh.get("index.number_of_shards").is_some() {
        return Err(SearchError::illegal("can't change the number of shards for an index"));
    }
    fresh.check_dynamic()?;
    let fixed = fresh.not_dynamic();
    let open = named.iter().filter(|index| !index.is_closed());
    let open: Vec<&str> = open.map(|index| index.name.as_str()).collect();
    if !fixed.is_empty() && !open.is_empty() {
        return Err(SearchError::illegal(format!(
            "Can't update non dynamic settings[[{}]] for open indices[[{}]]",
            in_hash_order(fixed, |name| (*name).to_owned()).join(", "),
            in_hash_order(open, |name| (*name).to_owned()).join(", ")
        )));
    }
    let mut of_changed_engines: Vec<&Index> = Vec::new();
    for index in &named {
        let mut settings = index.settings.write();
        let engine = settings.engine();
        settings.extend(&fresh);
        settings.expand_replicas(shared.cluster.options.nodes.len());
        if settings.engine() != engine && !index.is_closed() {
            of_changed_engines.push(index);
        }
    }
    refresh(&of_changed_engines)?;
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged(request.acknowledged()?))
}

/// `POST /index/_open` and `_close`.
pub(crate) fn set_closed(shared: &Shared, request: &RestRequest, indices: &str, closed: bool) -> Result<Answer> {
    if indices.is_empty() {
        return Err(SearchError::validation("index is missing"));
    }
    request.check_timeouts()?;
    let expand = request.expand_or(Expand {
        open: closed,
        closed: !closed,
        ..Expand::CHANGES
    })?;
    let named = shared.cluster.allowed(indices, expand, Block::Metadata)?;
    if named.is_empty() {
        return Err(SearchError::illegal("Index name is required"));
    }
    let is_changed = named.iter().any(|index| index.is_closed() != closed);
    if !closed {
        named.iter().try_for_each(|index| index.reconfigure())?;
    }
    for index in &named {
        index.closed.store(closed, Ordering::Relaxed);
        if closed {
            index.flush(false, (shared.cluster.options.ticks)())?;
            shared.scrolls.remove_index(&index.name);
        }
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged(!is_changed || request.acknowledged()?))
}

/// `_refresh`, `_flush`, `_optimize`, `_cache/clear`.
pub(crate) fn maintain(shared: &Shared, request: &RestRequest, indices: &str, what: &str) -> Result<Answer> {
    let segments = request.integer("max_num_segments");
    // An upgrade has no options of index names.
    let expand = match what {
        "_upgrade" => Expand::SHARDS,
        _ => request.expand()?,
    };
    let named = shared.cluster.broadcast(indices, expand, Block::Metadata)?;
    let now = (shared.cluster.options.ticks)();
    match what {
        "_refresh" => refresh(&named)?,
        "_flush" => named
            .iter()
            .try_for_each(|index| index.flush(request.flag("force"), now))?,
        "_optimize" => {
            let segments = segments?;
            let flushes = request.param("flush") != Some("false");
            for index in &named {
                if segments.is_some_and(|most| most > 0) {
                    index.shards.iter().try_for_each(|shard| shard.optimize(flushes))?;
                } else {
                    index.merge()?;
                }
                if flushes {
                    index.flush(true, now)?;
                }
            }
        }
        // There are no caches to clear.
        _ => {}
    }
    Ok(Answer::ok(json!({"_shards": shared.cluster.shards_json(&named)})))
}
