//! The `_search` API.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::aggs::unreduced;
use crate::cluster::Expand;
use crate::durations::time;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::{
    Candidate, Failure, Lost, Outcome, SearchRequest, SearchType, all_failed, render, search as find, shards_json,
};
use crate::mustache::Template;
use crate::rest::{Answer, RestRequest};
use crate::scroll::Scroll;
use crate::shared::Shared;

/// Parses a comma-separated list of types. An empty list means all types.
pub(crate) fn types_of(text: Option<&str>) -> Vec<String> {
    let parts = text.into_iter().flat_map(|text| text.split(','));
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Runs a search.
/// # Errors
/// All shards failed.
pub(crate) fn run(shared: &Shared, indices: &str, expand: Expand, request: &SearchRequest) -> Result<Outcome> {
    let outcome = find(&shared.cluster, indices, expand, request)?;
    let phase = request.search_type.phase(outcome.shards);
    match all_failed(&outcome.failures, outcome.shards, phase, |index, shard| {
        shared.cluster.node_of(index, shard)
    }) {
        Some(error) => Err(error),
        None => Ok(outcome),
    }
}

/// Fetches the hits of an outcome and builds the response.
pub(crate) fn answer(
    shared: &Shared,
    request: &SearchRequest,
    outcome: &Outcome,
    found: &[Candidate],
    began: std::time::Duration,
) -> Result<Value> {
    let mut failures = outcome.failures.clone();
    let mut hits = Vec::new();
    for hit in found {
        let Some(searched) = outcome.searched.get(hit.index) else {
            continue;
        };
        let fetched = std::time::Instant::now();
        request.budget.check_time()?;
        match render(&shared.cluster, request, &outcome.searched, hit, true) {
            Ok(hit) => {
                if let Some(shard) = searched.shard() {
                    shard
                        .counters
                        .searched(&request.groups, |meters| meters.fetch.add(fetched));
                }
                hits.push(hit);
            }
            // A shard has at most one failure for its fetch phase.
            Err(error) => {
                let failure = Failure {
                    index: searched.index.name.clone(),
                    shard: searched.number,
                    error,
                };
                if !failures
                    .iter()
                    .any(|known| (&known.index, known.shard) == (&failure.index, failure.shard))
                {
                    failures.push(failure);
                }
            }
        }
    }
    if failures.len() > outcome.failures.len()
        && let Some(error) = all_failed(
            &failures,
            outcome.shards,
            request.search_type.phase(outcome.shards),
            |index, shard| shared.cluster.node_of(index, shard),
        )
    {
        return Err(error);
    }
    let mut response = json!({"took": shared.cluster.took(began), "timed_out": outcome.timed_out});
    if request.terminate_after.is_some() {
        response["terminated_early"] = json!(outcome.terminated_early);
    }
    response["_shards"] = shards_json(outcome.shards, &failures, |failure| {
        json!({
            "index": failure.index,
            "shard": failure.shard,
            "status": failure.error.status,
            "reason": failure.error.to_string(),
        })
    });
    // An infinite score is not a maximum.
    let max_score = outcome.max_score.filter(|score| score.is_finite());
    let max_score = max_score.map_or(Value::Null, crate::score::score_json);
    response["hits"] = json!({"total": outcome.total, "max_score": max_score, "hits": hits});
    let aggregations = outcome.aggregations.as_ref();
    if let Some(aggregations) = aggregations.filter(|found| found.as_object().is_some_and(|found| !found.is_empty())) {
        response["aggregations"] = aggregations.clone();
    }
    if let Some(facets) = &outcome.facets {
        response["facets"] = facets.clone();
    }
    if let Some(suggestions) = &outcome.suggestions {
        response["suggest"] = suggestions.clone();
    }
    Ok(response)
}

/// Fails for an unknown preference that starts with `_`. Any other text is a session key, which selects the same
/// copies every time.
pub(super) fn check_preference(shared: &Shared, preference: Option<&str>) -> Result<()> {
    let preference = preference.unwrap_or_default();
    if let Some(id) = preference.strip_prefix("_only_node:")
        && !shared.cluster.node_addresses().contains_key(id)
    {
        return Err(SearchError::illegal(format!("No data node with id[{id}] found")));
    }
    let name = preference.split(':').next().unwrap_or_default();
    match name.strip_prefix('_') {
        None
        | Some(
            "shards" | "prefer_node" | "local" | "primary" | "primary_first" | "only_local" | "only_node"
            | "only_nodes",
        ) => Ok(()),
        Some(_) => Err(SearchError::illegal(format!("no Preference for [{name}]"))),
    }
}

/// Runs the search of the body of a request, and fails if it does on one shard.
pub(super) fn check_search(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<()> {
    let limits = &shared.cluster.options.limits;
    let mut wanted = SearchRequest::parse(&BTreeMap::new(), request.body_or_source(), limits)?;
    wanted.types = types_of(types);
    wanted.budget = request.budget.clone();
    let outcome = run(shared, indices, request.expand()?, &wanted)?;
    let failures = outcome.failures.iter().map(|failure| {
        let node = shared.cluster.node_of(&failure.index, failure.shard);
        format!(
            "shard [[{node}][{}][{}]], reason [{}]",
            failure.index, failure.shard, failure.error
        )
    });
    let failures: Vec<String> = failures.collect();
    match failures.is_empty() {
        true => Ok(()),
        false => {
            let reason = format!("search failed with failed shards: [{}]", failures.join(", "));
            Err(SearchError::new(500, Exception::Elasticsearch, reason))
        }
    }
}

/// `GET|POST [/index[/type]]/_search`.
pub(crate) fn search(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    check_preference(shared, request.param("preference"))?;
    let limits = &shared.cluster.options.limits;
    let wanted = SearchRequest::parse(&request.params, request.body_or_source(), limits)?;
    execute(shared, request, indices, types, wanted)
}

/// `GET|POST [/index[/type]]/_search/template`. A template that cannot be rendered fails on every shard.
pub(crate) fn templated(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    check_preference(shared, request.param("preference"))?;
    let body = request.body_or_source();
    let rendered = match body.is_empty() {
        true => Ok(String::new()),
        false => Template::of_search(body).and_then(|template| template.render()),
    };
    let limits = &shared.cluster.options.limits;
    let source = rendered.as_deref().unwrap_or_default();
    let mut wanted = SearchRequest::parse(&request.params, source.as_bytes(), limits)?;
    wanted.failure = rendered.err();
    execute(shared, request, indices, types, wanted)
}

/// Runs a search, or opens a scroll if the request has one.
pub(super) fn execute(
    shared: &Shared,
    request: &RestRequest,
    indices: &str,
    types: Option<&str>,
    mut wanted: SearchRequest,
) -> Result<Answer> {
    let began = (shared.cluster.options.ticks)();
    let limits = &shared.cluster.options.limits;
    wanted.types = types_of(types);
    wanted.budget = request.budget.clone();
    wanted.scrolls = request.param("scroll").is_some();
    let Some(keep) = request.param("scroll") else {
        let outcome = run(shared, indices, request.expand()?, &wanted)?;
        return answer(shared, &wanted, &outcome, &outcome.hits, began).map(Answer::ok);
    };
    let keep = time(keep)?;
    let scan = wanted.search_type == SearchType::Scan;
    let size = wanted.page();
    // If each shard returns its own page or hits are rescored, the first search finds the hits of all pages.
    let at_once = wanted.search_type.fetches_every_page() || !wanted.rescore.is_empty();
    let first_size = match (scan, at_once) {
        (true, _) => 0,
        (false, true) => limits.window,
        (false, false) => Scroll::capacity(size, limits.window),
    };
    let first = SearchRequest {
        from: 0,
        size: Some(first_size),
        ..wanted.clone()
    };
    let mut outcome = run(shared, indices, request.expand()?, &first)?;
    if outcome.shards == 0 {
        // There is nothing to go on with.
        return answer(shared, &wanted, &outcome, &[], began).map(Answer::ok);
    }
    if wanted.search_type == SearchType::Count {
        // A count has no page to go on from.
        let cause = SearchError::new(503, Exception::ElasticsearchIllegalState, "");
        let error = unreduced(cause);
        return Err(wanted.search_type.reduce(outcome.shards, error));
    }
    if size == 0 || scan {
        outcome.max_score = Some(0.0);
    }
    let more = !at_once && outcome.hits.len() == first_size;
    let scroll = if scan {
        Scroll::scan(wanted.paged(), outcome, size)
    } else {
        Scroll::sorted(wanted.paged(), outcome, size, more)
    };
    let scroll = Arc::new(scroll);
    // The first response of a scan has no hits.
    let hits = if scan {
        vec![]
    } else {
        scroll.next(&shared.cluster, &scroll.request, &Lost::new())?
    };
    let mut response = answer(shared, &scroll.request, &scroll.outcome, &hits, began)?;
    let id = scroll_id(shared.scrolls.open(scroll.clone(), keep, began)?, &scroll.outcome);
    insert_first(&mut response, "_scroll_id", id.into());
    Ok(Answer::ok(response))
}

/// Inserts a member as the first one of an object.
pub(crate) fn insert_first(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(map) = object {
        map.shift_insert(0, key.to_owned(), value);
    }
}

/// Returns the id of a scroll: search type, number and node.
pub(crate) fn scroll_id(number: u64, outcome: &Outcome) -> String {
    use base64::Engine;
    let kind = if outcome.shards == 1 {
        "queryAndFetch"
    } else {
        "queryThenFetch"
    };
    base64::engine::general_purpose::STANDARD.encode(format!("{kind};1;{number}:elasticsearch-logging;0;"))
}
