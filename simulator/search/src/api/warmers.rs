//! The warmer APIs. Warmers are stored and returned, but never run.

use serde_json::{Map, Value, json};

use super::described;
use super::search::{check_search, types_of};
use crate::cluster::{Block, Expand};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::pattern;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// `GET [/index[/type]]/_warmer[/name]`. With types, warmers of one of them are returned.
pub(crate) fn get(
    shared: &Shared,
    request: &RestRequest,
    indices: &str,
    types: Option<&str>,
    wanted: Option<&str>,
) -> Result<Answer> {
    let types = types_of(types);
    let is_of_type = |warmer: &Value| {
        let own = warmer["types"].as_array().into_iter().flatten();
        let is_wanted = |own: &str| types.iter().any(|wanted| pattern::matches(wanted, own));
        types.is_empty() || own.filter_map(Value::as_str).any(is_wanted)
    };
    let mut response = Map::new();
    for index in described(shared, request, indices)? {
        let warmers = index.warmers.read();
        let kept: Map<String, Value> = warmers
            .iter()
            .filter(|(name, _)| wanted.is_none_or(|wanted| pattern::matches_any(wanted, name)))
            .filter(|(_, warmer)| is_of_type(warmer))
            .map(|(name, warmer)| (name.clone(), warmer.clone()))
            .collect();
        if wanted.is_none() || !kept.is_empty() {
            response.insert(index.name.clone(), json!({"warmers": kept}));
        }
    }
    Ok(Answer::ok(response.into()))
}

/// `PUT [/index[/type]]/_warmer/name`.
pub(crate) fn put(
    shared: &Shared,
    request: &RestRequest,
    indices: &str,
    types: Option<&str>,
    name: &str,
) -> Result<Answer> {
    request.check_timeouts()?;
    let named = shared.cluster.allowed(indices, request.expand()?, Block::Metadata)?;
    check_search(shared, request, indices, types)?;
    let mut warmer = json!({"types": types_of(types)});
    if request.param("query_cache").is_some() {
        warmer["queryCache"] = request.flag("query_cache").into();
    }
    warmer["source"] = request.json()?.unwrap_or_else(|| json!({}));
    for index in &named {
        index.warmers.write().insert(name.to_owned(), warmer.clone());
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged(request.acknowledged()?))
}

/// `DELETE /index/_warmer/name`.
pub(crate) fn delete(shared: &Shared, request: &RestRequest, indices: &str, wanted: &str) -> Result<Answer> {
    request.check_timeouts()?;
    let mut found = false;
    let named = shared
        .cluster
        .allowed(indices, request.expand_or(Expand::MATCHED)?, Block::Metadata)?;
    for index in &named {
        index.warmers.write().retain(|name, _| {
            let removed = pattern::matches_any(wanted, name);
            found |= removed;
            !removed
        });
    }
    if !found {
        return Err(SearchError::new(
            404,
            Exception::IndexWarmerMissing,
            format!("index_warmer [[{}]] missing", wanted.replace(',', ", ")),
        ));
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged(request.acknowledged()?))
}
