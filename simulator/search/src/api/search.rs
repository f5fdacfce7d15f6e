//! `_search` and what goes with it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::cluster::duration;
use crate::error::{Result, SearchError};
use crate::find::{Outcome, SearchRequest, render, search as find};
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
        .map(|hit| render(request, &outcome.searched, hit))
        .collect::<Result<Vec<_>>>()?;
    let took = (shared.cluster.options.ticks)().saturating_sub(began).as_millis();
    let mut shown = json!({"took": u64::try_from(took).unwrap_or(u64::MAX), "timed_out": outcome.timed_out});
    if request.terminate_after.is_some() {
        shown["terminated_early"] = json!(outcome.terminated_early);
    }
    shown["_shards"] = outcome.shards_json();
    shown["hits"] = json!({"total": outcome.total, "max_score": outcome.max_score.map_or(Value::Null, crate::score::shown), "hits": hits});
    if let Some(aggregations) = &outcome.aggregations {
        shown["aggregations"] = aggregations.clone();
    }
    Ok(shown)
}

/// `GET|POST [/index[/type]]/_search`.
pub(crate) fn search(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    let began = (shared.cluster.options.ticks)();
    let limits = &shared.cluster.options.limits;
    let body = request.json()?;
    let mut wanted = SearchRequest::parse(&request.params, body.as_ref(), limits)?;
    wanted.types = types_of(types);
    let Some(keep) = request.param("scroll") else {
        let outcome = find(&shared.cluster, indices, request.expand(), &wanted)?;
        return answer(shared, &wanted, &outcome, 0..outcome.hits.len(), began).map(Answer::ok);
    };
    let keep = duration(keep)
        .ok_or_else(|| SearchError::parse(format!("Failed to parse setting [scroll] with value [{keep}]")))?;
    // All hits are found at once, so that the pages are of one moment.
    let page = wanted.size;
    let whole = SearchRequest {
        from: 0,
        size: limits.window,
        ..wanted.clone()
    };
    let mut outcome = find(&shared.cluster, indices, request.expand(), &whole)?;
    if page == 0 {
        outcome.max_score = Some(0.0);
    }
    let outcome = Arc::new(outcome);
    let scan = request.param("search_type") == Some("scan");
    // A scan gives no hits at first.
    let end = if scan { 0 } else { page.min(outcome.hits.len()) };
    let mut shown = answer(shared, &wanted, &outcome, 0..end, began)?;
    let number = shared.scrolls.open(wanted, outcome, end, keep, began)?;
    insert_first(&mut shown, "_scroll_id", scroll_id(number).into());
    Ok(Answer::ok(shown))
}

pub(crate) fn insert_first(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(map) = object {
        map.shift_insert(0, key.to_owned(), value);
    }
}

pub(crate) fn scroll_id(number: u64) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(format!("queryThenFetch;1;{number}:elasticsearch-logging;0;"))
}
