//! Warmers: searches that would run when a segment is new. They are kept and shown, and never run.

use serde_json::{Map, Value, json};

use crate::error::{Result, SearchError};
use crate::pattern;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

fn fits(list: &str, name: &str) -> bool {
    list.split(',')
        .any(|wanted| wanted == "_all" || pattern::matches(wanted, name))
}

/// `GET [/index]/_warmer[/name]`.
pub(crate) fn get(shared: &Shared, request: &RestRequest, indices: &str, wanted: Option<&str>) -> Result<Answer> {
    let mut shown = Map::new();
    for index in shared.cluster.named(indices, request.expand())? {
        let warmers = index.warmers.read();
        let kept: Map<String, Value> = warmers
            .iter()
            .filter(|(name, _)| wanted.is_none_or(|wanted| fits(wanted, name)))
            .map(|(name, warmer)| (name.clone(), warmer.clone()))
            .collect();
        if wanted.is_none() || !kept.is_empty() {
            shown.insert(index.name.clone(), json!({"warmers": kept}));
        }
    }
    Ok(Answer::ok(shown.into()))
}

/// `PUT [/index[/type]]/_warmer/name`.
pub(crate) fn put(
    shared: &Shared,
    request: &RestRequest,
    indices: &str,
    types: Option<&str>,
    name: &str,
) -> Result<Answer> {
    let warmer = json!({
        "types": super::search::types_of(types),
        "source": request.json()?.unwrap_or_else(|| json!({})),
    });
    let named = shared.cluster.named(indices, request.expand())?;
    for index in &named {
        index.warmers.write().insert(name.to_owned(), warmer.clone());
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged())
}

/// `DELETE /index/_warmer/name`.
pub(crate) fn delete(shared: &Shared, request: &RestRequest, indices: &str, wanted: &str) -> Result<Answer> {
    let mut met = false;
    let named = shared.cluster.named(indices, request.expand())?;
    for index in &named {
        index.warmers.write().retain(|name, _| {
            let goes = fits(wanted, name);
            met |= goes;
            !goes
        });
    }
    if !met {
        return Err(SearchError::new(
            404,
            "IndexWarmerMissingException",
            format!("index_warmer [{wanted}] missing"),
        ));
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged())
}
