//! The delete-by-query API.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cluster::{Block, Expand, Index, check_open, refresh};
use crate::error::{Result, SearchError};
use crate::find::{Failure, Outcome, QuerySource, SearchRequest, shards_json};
use crate::json;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// `DELETE .../_query`.
pub(crate) fn delete_by_query(
    shared: &Shared,
    request: &RestRequest,
    indices: &str,
    types: Option<&str>,
) -> Result<Answer> {
    super::documents::check_write(request)?;
    let limits = &shared.cluster.options.limits;
    let body = request.body_or_source();
    if body.is_empty() && request.param("q").is_none() {
        return Err(SearchError::validation("source is missing"));
    }
    // A body takes precedence over `q`.
    let params = if body.is_empty() {
        &request.params
    } else {
        &BTreeMap::new()
    };
    let query = match json::derivable(body) {
        Err(_) if !body.is_empty() => QuerySource::Invalid(json::underivable_part(body)),
        _ => QuerySource::parse(params, body, limits)?,
    };
    let wanted = SearchRequest {
        query,
        deletes: true,
        size: Some(limits.window),
        types: super::search::types_of(types),
        routing: request.param("routing").map(str::to_owned),
        budget: request.budget.clone(),
        ..Default::default()
    };
    let expand = request.expand_or(Expand::MATCHED)?;
    let named = shared.cluster.named(indices, expand)?;
    check_open(&named)?;
    shared.cluster.check_blocks(&named, Block::Write)?;
    refresh(&named)?;
    let routing = shared
        .cluster
        .search_routing(indices, wanted.routing.as_deref(), None)?;
    let visited = |index: &Arc<Index>| {
        let shards = (0..index.shard_count()).filter(|shard| routing.visits(index, *shard));
        shards.count() as u32
    };
    let now = (shared.cluster.options.ticks)();
    loop {
        let outcome = crate::find::search(&shared.cluster, indices, request.expand()?, &wanted)?;
        if let Some(failure) = outcome.failures.first() {
            return Ok(Answer::json(failure.error.status, deleted(&named, visited, &outcome)));
        }
        delete_hits(&outcome, now)?;
        named.iter().try_for_each(|index| index.sync_each(&index.shards))?;
        refresh(&named)?;
        // The next search finds the matches beyond the result window.
        if outcome.hits.is_empty() || outcome.total <= outcome.hits.len() as u64 {
            break;
        }
    }
    Ok(Answer::ok(deleted(&named, visited, &Outcome::default())))
}

/// Returns the result of a deletion by query, by index. `visited` counts the shards that have documents of its routing.
fn deleted(named: &[Arc<Index>], visited: impl Fn(&Arc<Index>) -> u32, outcome: &Outcome) -> Value {
    let response: Map<String, Value> = named
        .iter()
        .map(|index| {
            let failures = outcome.failures.iter().filter(|failure| failure.index == index.name);
            let failures: Vec<Failure> = failures.cloned().collect();
            let shards = shards_json(visited(index), &failures, |failure| {
                let error = super::query::parse_failure(&failure.index, failure.error.clone());
                json!({"index": failure.index, "shard": failure.shard, "reason": error.to_string()})
            });
            (index.name.clone(), json!({"_shards": shards}))
        })
        .collect();
    json!({"_indices": response})
}

/// Deletes the documents of the hits.
fn delete_hits(outcome: &Outcome, now: std::time::Duration) -> Result<()> {
    for hit in &outcome.hits {
        let Some(searched) = outcome.searched.get(hit.index) else {
            continue;
        };
        let Some(view) = searched.view.segments.get(hit.segment) else {
            continue;
        };
        let stored = view.segment.stored(hit.doc)?;
        searched.forget(stored.type_name(), stored.id(), now)?;
    }
    Ok(())
}
