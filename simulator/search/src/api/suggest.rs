//! The `_suggest` API.

use serde_json::{Value, json};

use super::search::{check_preference, insert_first};
use crate::cluster::{Block, Index, check_open};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::{Failure, shards_json};
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;
use crate::suggest;

/// `GET|POST [/index]/_suggest`.
pub(crate) fn suggest(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    // A body that cannot be parsed fails on every shard.
    let body = request
        .json()
        .transpose()
        .ok_or_else(|| SearchError::illegal("no content or source provided to execute suggestion"))?;
    check_preference(shared, request.param("preference"))?;
    let named = shared.cluster.allowed(indices, request.expand()?, Block::Read)?;
    check_open(&named)?;
    named
        .iter()
        .try_for_each(|index| shared.cluster.refresh_if_due(index))?;
    let shards: u32 = named.iter().map(|index| index.shard_count()).sum();
    let mut failures = Vec::new();
    let mut suggesting = Vec::new();
    for index in named {
        let mapping = index.mapping();
        let checked = body.as_ref().map_err(SearchError::clone).and_then(|body| {
            suggest::check(body, &mapping)?;
            match index.live_docs() {
                0 => Ok(()),
                _ => suggest::check_execution(body, &mapping),
            }
        });
        match checked {
            Ok(()) => suggesting.push(index),
            Err(error) => failures.extend(failures_of_shards(&index, &error)),
        }
    }
    let body = body.unwrap_or_default();
    let mut response = match suggest::suggest(&shared.cluster, &suggesting, &body, &request.budget) {
        _ if suggesting.is_empty() => json!({}),
        Ok(suggested) => Value::Object(suggested),
        Err(error) if request.budget.is_exceeded() => return Err(error),
        Err(error) => {
            failures.extend(suggesting.iter().flat_map(|index| failures_of_shards(index, &error)));
            json!({})
        }
    };
    let counts = shards_json(shards, &failures, super::query::broadcast_failure);
    insert_first(&mut response, "_shards", counts);
    let has_failed = !failures.is_empty() && failures.len() == shards as usize;
    let status = if has_failed { 500 } else { 200 };
    Ok(Answer::json(status, response))
}

/// Returns a failure for every shard of an index.
fn failures_of_shards(index: &Index, error: &SearchError) -> Vec<Failure> {
    let outer = SearchError::new(error.status, Exception::Elasticsearch, "failed to execute suggest");
    let error = outer.caused_by(error.clone());
    let failure = |shard| Failure {
        index: index.name.clone(),
        shard,
        error: error.clone(),
    };
    (0..index.shard_count()).map(failure).collect()
}
