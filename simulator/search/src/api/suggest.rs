//! `_suggest`.

use serde_json::{Value, json};

use super::search::insert_first;
use crate::error::{Result, SearchError};
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;
use crate::suggest;

/// `GET|POST [/index]/_suggest`.
pub(crate) fn suggest(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let body = request
        .json()?
        .ok_or_else(|| SearchError::illegal("no content or source provided to execute suggestion"))?;
    let named = shared.cluster.named(indices, request.expand())?;
    named
        .iter()
        .try_for_each(|index| shared.cluster.refresh_if_due(index))?;
    let mut shown = Value::Object(suggest::suggest(&named, &body, &request.budget)?);
    let shards: u32 = named.iter().map(|index| index.shard_count()).sum();
    insert_first(
        &mut shown,
        "_shards",
        json!({"total": shards, "successful": shards, "failed": 0}),
    );
    Ok(Answer::ok(shown))
}
