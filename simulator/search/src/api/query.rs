//! What can be asked of a query without its hits: counts, whether it is one, where it runs, why a document matches.

use serde_json::{Value, json};

use super::search::types_of;
use crate::error::{Result, SearchError};
use crate::find::{QuerySource, SearchRequest, SourceFilter, prepare_query, search as find};
use crate::query::label;
use crate::rest::{Answer, RestRequest, Shared};
use crate::score::{Weight, explain as explain_score};

fn wanted(shared: &Shared, request: &RestRequest, types: Option<&str>) -> Result<SearchRequest> {
    let body = request.json()?;
    if let Some(body) = &body
        && let Some(other) = body
            .as_object()
            .and_then(|body| body.keys().find(|key| *key != "query"))
    {
        return Err(SearchError::query(format!("request does not support [{other}]")));
    }
    let mut wanted = SearchRequest::parse(&request.params, body.as_ref(), &shared.cluster.options.limits)?;
    (wanted.from, wanted.size, wanted.types) = (0, 0, types_of(types));
    Ok(wanted)
}

/// `_count`.
pub(crate) fn count(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    let wanted = wanted(shared, request, types)?;
    let outcome = find(&shared.cluster, indices, request.expand(), &wanted)?;
    Ok(Answer::ok(
        json!({"count": outcome.total, "_shards": outcome.shards_json()}),
    ))
}

/// `_search/exists`.
pub(crate) fn exists(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    let wanted = wanted(shared, request, types)?;
    let outcome = find(&shared.cluster, indices, request.expand(), &wanted)?;
    Ok(Answer::json(
        if outcome.total > 0 { 200 } else { 404 },
        json!({"exists": outcome.total > 0}),
    ))
}

/// `_validate/query`.
pub(crate) fn validate(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    let now = shared.cluster.now();
    let limits = &shared.cluster.options.limits;
    let targets = shared.cluster.resolve(indices, request.expand())?;
    let wanted = wanted(shared, request, types);
    let mut valid = true;
    let mut explanations = Vec::new();
    for (index, filters) in &targets {
        let mapping = index.mapping.read();
        let parsed = wanted.as_ref().map_err(Clone::clone).and_then(|wanted| {
            prepare_query(
                &index.context(&mapping, now, limits.clauses),
                &wanted.query,
                &wanted.types,
                filters,
                limits.depth,
            )
        });
        explanations.push(match parsed {
            Ok(query) => json!({"index": index.name, "valid": true, "explanation": label(&query)}),
            Err(error) => {
                valid = false;
                json!({"index": index.name, "valid": false, "error": error.to_string()})
            }
        });
    }
    let mut shown =
        json!({"valid": valid, "_shards": {"total": targets.len(), "successful": targets.len(), "failed": 0}});
    if request.flag("explain") {
        shown["explanations"] = explanations.into();
    }
    Ok(Answer::ok(shown))
}

/// `_search_shards`.
pub(crate) fn search_shards(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared.cluster.named(indices, request.expand())?;
    let shards: Vec<Value> = named
        .iter()
        .flat_map(|index| {
            super::state::routing(shared, index)
                .into_iter()
                .map(|(_, copies)| Value::Array(copies))
        })
        .collect();
    Ok(Answer::ok(
        json!({"nodes": super::nodes::addresses(shared), "shards": shards}),
    ))
}

/// `/index/type/id/_explain`.
pub(crate) fn explain(
    shared: &Shared,
    request: &RestRequest,
    index: &str,
    type_name: &str,
    id: &str,
) -> Result<Answer> {
    let body = request.json()?;
    let limits = &shared.cluster.options.limits;
    let wanted = SearchRequest::parse(&request.params, body.as_ref(), limits)?;
    if matches!(wanted.query, QuerySource::All) && body.is_none() {
        return Err(SearchError::new(
            400,
            "ActionRequestValidationException",
            "Validation Failed: 1: query is missing;",
        ));
    }
    let targets = shared.cluster.resolve(index, request.expand())?;
    let [(index, filters)] = targets.as_slice() else {
        return Err(SearchError::index_missing(index));
    };
    index.refresh_if_due(
        (shared.cluster.options.ticks)(),
        shared.cluster.options.refresh_interval,
    )?;
    let view = index.shard.view();
    let place = index.shard.locate(type_name, id).and_then(|(segment, doc)| {
        Some((
            view.segments.iter().position(|view| view.segment.number == segment)?,
            doc,
        ))
    });
    let mut shown = json!({"_index": index.name, "_type": type_name, "_id": id});
    let Some((at, doc)) = place else {
        shown["matched"] = json!(false);
        return Ok(Answer::json(404, shown));
    };
    let query = {
        let mapping = index.mapping.read();
        prepare_query(
            &index.context(&mapping, shared.cluster.now(), limits.clauses),
            &wanted.query,
            &wanted.types,
            filters,
            limits.depth,
        )?
    };
    let weight = Weight::of(&query, &view, &index.shard)?;
    let segment = view
        .segments
        .get(at)
        .ok_or_else(|| SearchError::engine("a document of no segment"))?;
    let explanation = explain_score(&weight, at, segment, doc)?;
    shown["matched"] = json!(explanation.matched);
    shown["explanation"] = explanation.json();
    if let Some(filter) = wanted
        .source
        .or_else(|| request.params.contains_key("fields").then(SourceFilter::default))
    {
        let source: Value =
            serde_json::from_slice(segment.segment.stored(doc)?.source()).map_err(SearchError::engine)?;
        shown["get"] = json!({"found": true, "_source": filter.apply(&source)});
    }
    Ok(Answer::ok(shown))
}
