//! The `_suggest` API.

use std::sync::Arc;

use serde_json::{Value, json};

use super::search::insert_first;
use crate::cluster::{Block, Index, check_open};
use crate::error::{Result, SearchError};
use crate::find::{Failure, shards_json};
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;
use crate::suggest;

/// `GET|POST [/index]/_suggest`.
pub(crate) fn suggest(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let body = request
        .json()?
        .ok_or_else(|| SearchError::illegal("no content or source provided to execute suggestion"))?;
    let named = shared.cluster.allowed(indices, request.expand(), Block::Read)?;
    check_open(&named)?;
    named
        .iter()
        .try_for_each(|index| shared.cluster.refresh_if_due(index))?;
    let shards: u32 = named.iter().map(|index| index.shard_count()).sum();
    let (mut response, failures) = match suggest::suggest(&shared.cluster, &named, &body, &request.budget) {
        Ok(suggested) => (Value::Object(suggested), vec![]),
        Err(error) if request.budget.is_exceeded() => return Err(error),
        // An invalid suggester fails on every shard.
        Err(error) => (json!({}), failures_of_all_shards(&named, &error)),
    };
    let counts = shards_json(shards, &failures, super::query::broadcast_failure);
    insert_first(&mut response, "_shards", counts);
    let status = if failures.is_empty() { 200 } else { 500 };
    Ok(Answer::json(status, response))
}

/// Returns a failure for every shard.
fn failures_of_all_shards(indices: &[Arc<Index>], error: &SearchError) -> Vec<Failure> {
    let error =
        SearchError::new(error.status, "ElasticsearchException", "failed to execute suggest").caused_by(error.clone());
    let of_index = |index: &Arc<Index>| {
        let name = index.name.clone();
        let error = error.clone();
        (0..index.shard_count()).map(move |shard| Failure {
            index: name.clone(),
            shard,
            error: error.clone(),
        })
    };
    indices.iter().flat_map(of_index).collect()
}
