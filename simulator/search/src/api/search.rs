//! `_search` and what goes with it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::cluster::Expand;
use crate::error::Result;
use crate::find::{Outcome, SearchRequest, SearchType, render, search as find, time};
use crate::rest::{Answer, RestRequest, Shared};

/// The types of a comma list.
pub(crate) fn types_of(text: Option<&str>) -> Vec<String> {
    text.filter(|text| *text != "_all")
        .map(|text| {
            text.split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        })
        .unwrap_or_default()
}

/// The node that a shard is on.
fn node_of(shared: &Shared, shard: u32) -> String {
    let nodes = u32::try_from(shared.cluster.options.nodes.len()).unwrap_or(1).max(1);
    super::nodes::id_of(shard % nodes)
}

/// Runs a search.
///
/// # Errors
/// A search that fails on every shard.
pub(crate) fn run(shared: &Shared, indices: &str, expand: Expand, request: &SearchRequest) -> Result<Outcome> {
    let outcome = find(&shared.cluster, indices, expand, request)?;
    let phase = request.search_type.phase(outcome.shards);
    match outcome.all_failed(phase, |shard| node_of(shared, shard)) {
        Some(error) => Err(error),
        None => Ok(outcome),
    }
}

/// The hits of a range of an outcome, as an answer.
pub(crate) fn answer(
    shared: &Shared,
    request: &SearchRequest,
    outcome: &Outcome,
    range: std::ops::Range<usize>,
    began: std::time::Duration,
) -> Result<Value> {
    let hits = outcome
        .hits
        .get(range)
        .unwrap_or(&[])
        .iter()
        .map(|hit| {
            let node = outcome
                .searched
                .get(hit.index)
                .map(|searched| node_of(shared, searched.number));
            render(&shared.cluster, request, &outcome.searched, hit, node)
        })
        .collect::<Result<Vec<_>>>()?;
    let took = (shared.cluster.options.ticks)().saturating_sub(began).as_millis();
    let mut shown = json!({"took": u64::try_from(took).unwrap_or(u64::MAX), "timed_out": outcome.timed_out});
    if request.terminate_after.is_some() {
        shown["terminated_early"] = json!(outcome.terminated_early);
    }
    shown["_shards"] = outcome.shards_json(|failure| {
        json!({"index": failure.index, "shard": failure.shard, "status": failure.error.status, "reason": failure.error.to_string()})
    });
    shown["hits"] = json!({"total": outcome.total, "max_score": outcome.max_score.map_or(Value::Null, crate::score::shown), "hits": hits});
    if let Some(aggregations) = &outcome.aggregations {
        shown["aggregations"] = aggregations.clone();
    }
    if let Some(facets) = &outcome.facets {
        shown["facets"] = facets.clone();
    }
    Ok(shown)
}

/// `GET|POST [/index[/type]]/_search`.
pub(crate) fn search(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    let began = (shared.cluster.options.ticks)();
    let limits = &shared.cluster.options.limits;
    let mut wanted = SearchRequest::parse(&request.params, request.body_or_source(), limits)?;
    wanted.types = types_of(types);
    let Some(keep) = request.param("scroll") else {
        let outcome = run(shared, indices, request.expand(), &wanted)?;
        return answer(shared, &wanted, &outcome, 0..outcome.hits.len(), began).map(Answer::ok);
    };
    let keep = time(keep)?;
    // All hits are found at once, so that the pages are of one moment.
    let scan = wanted.search_type == SearchType::Scan;
    let size = wanted.page();
    let whole = SearchRequest {
        from: 0,
        size: Some(limits.window),
        ..wanted.clone()
    };
    let mut outcome = run(shared, indices, request.expand(), &whole)?;
    if size == 0 {
        outcome.max_score = Some(0.0);
    }
    // A scan gives no hits at first, and then a page of every shard.
    let page = if scan { outcome.scan(size) } else { size };
    let end = if scan { 0 } else { page.min(outcome.hits.len()) };
    let outcome = Arc::new(outcome);
    let mut shown = answer(shared, &wanted, &outcome, 0..end, began)?;
    let number = shared
        .scrolls
        .open(wanted, outcome.clone(), end..end.saturating_add(page), keep, began)?;
    insert_first(&mut shown, "_scroll_id", scroll_id(number, &outcome).into());
    Ok(Answer::ok(shown))
}

pub(crate) fn insert_first(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(map) = object {
        map.shift_insert(0, key.to_owned(), value);
    }
}

/// The id of a scroll: how it was searched, its number, its node.
pub(crate) fn scroll_id(number: u64, outcome: &Outcome) -> String {
    use base64::Engine;
    let kind = if outcome.shards == 1 {
        "queryAndFetch"
    } else {
        "queryThenFetch"
    };
    base64::engine::general_purpose::STANDARD.encode(format!("{kind};1;{number}:elasticsearch-logging;0;"))
}
