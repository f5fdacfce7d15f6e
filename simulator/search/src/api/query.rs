//! Query APIs without hits: `_count`, `_search/exists`, `_validate/query`, `_search_shards` and `_explain`.

use serde_json::{Value, json};

use super::search::{check_preference, types_of};
use crate::cluster::{Block, Expand, check_open, id_of};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::{
    Failure, QuerySource, SearchRequest, SourceFilter, alias_filter, names, prepare_query, search as find, shards_json,
};
use crate::query::{Context, label};
use crate::rest::{Answer, RestRequest};
use crate::score::{Corpus, Explained};
use crate::shared::Shared;

/// Parses the query of a request as a search without hits. A minimum score is parsed, but has no effect.
fn search_request(shared: &Shared, request: &RestRequest, types: Option<&str>) -> Result<SearchRequest> {
    request.float("min_score")?;
    Ok(SearchRequest {
        query: QuerySource::parse(
            &request.params,
            request.body_or_source(),
            &shared.cluster.options.limits,
        )?,
        size: Some(0),
        types: types_of(types),
        routing: request.param("routing").map(str::to_owned),
        preference: request.param("preference").map(str::to_owned),
        budget: request.budget.clone(),
        ..SearchRequest::default()
    })
}

/// Parses the query of a validation, which ignores the other parameters of a search.
fn validated_request(shared: &Shared, request: &RestRequest, types: Option<&str>) -> Result<SearchRequest> {
    let limits = &shared.cluster.options.limits;
    Ok(SearchRequest {
        query: QuerySource::parse(&request.params, request.body_or_source(), limits)?,
        types: types_of(types),
        budget: request.budget.clone(),
        ..SearchRequest::default()
    })
}

/// Returns the failure of a shard in a broadcast operation, for `_shards`.
pub(super) fn broadcast_failure(failure: &Failure) -> Value {
    let Failure { index, shard, error } = failure;
    let own = SearchError::new(
        error.status,
        Exception::BroadcastShardOperationFailed,
        format!("[{index}][{shard}] "),
    );
    json!({"index": index, "shard": shard, "reason": own.caused_by(error.clone()).to_string()})
}

/// Returns the error of an invalid query. An error that is not a parse error becomes the cause of one.
pub(super) fn parse_failure(index: &str, error: SearchError) -> SearchError {
    match error.kind {
        Exception::QueryParsing | Exception::QueryPhaseExecution => error,
        _ => SearchError::query(format!("[{index}] Failed to parse")).caused_by(error),
    }
}

/// `GET|POST [/index[/type]]/_count`.
pub(crate) fn count(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    let mut wanted = search_request(shared, request, types)?;
    wanted.counts = true;
    if let Some(after) = request.integer("terminate_after")? {
        let after = u64::try_from(after).map_err(|_| SearchError::illegal("terminateAfter must be > 0"))?;
        wanted.terminate_after = (after > 0).then_some(after);
    }
    shared.cluster.named(indices, request.expand()?)?;
    check_preference(shared, request.param("preference"))?;
    let outcome = find(&shared.cluster, indices, request.expand()?, &wanted)?;
    let status = match outcome.failures.first() {
        Some(failure) if outcome.failed() == outcome.shards => {
            parse_failure(&failure.index, failure.error.clone()).status
        }
        _ => 200,
    };
    let mut response = json!({"count": outcome.total});
    if wanted.terminate_after.is_some() {
        response["terminated_early"] = outcome.terminated_early.into();
    }
    response["_shards"] = shards_json(outcome.shards, &outcome.failures, |failure| {
        let error = parse_failure(&failure.index, failure.error.clone());
        broadcast_failure(&Failure {
            error,
            ..failure.clone()
        })
    });
    Ok(Answer::json(status, response))
}

/// Returns the number of documents that match the parameter `source`, or `q` without one. A shard on which the query
/// fails has none.
pub(super) fn count_matches(shared: &Shared, request: &RestRequest, indices: &str) -> Result<u64> {
    let source = request.param("source").unwrap_or_default();
    let wanted = SearchRequest {
        query: QuerySource::parse(&request.params, source.as_bytes(), &shared.cluster.options.limits)?,
        size: Some(0),
        budget: request.budget.clone(),
        ..SearchRequest::default()
    };
    Ok(find(&shared.cluster, indices, Expand::SHARDS, &wanted)?.total)
}

/// `GET|POST [/index[/type]]/_search/exists`.
pub(crate) fn exists(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    check_preference(shared, request.param("preference"))?;
    let wanted = search_request(shared, request, types)?;
    let outcome = find(&shared.cluster, indices, request.expand()?, &wanted)?;
    Ok(Answer::json(
        if outcome.total > 0 { 200 } else { 404 },
        json!({"exists": outcome.total > 0}),
    ))
}

/// `GET|POST [/index[/type]]/_validate/query`.
pub(crate) fn validate(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    let expand = request.expand_or(Expand::MATCHED)?;
    let targets = shared.cluster.resolve(indices, expand)?;
    let indices: Vec<_> = targets.iter().map(|(index, _)| index.clone()).collect();
    check_open(&indices)?;
    shared.cluster.check_blocks(&indices, Block::Read)?;
    let wanted = match validated_request(shared, request, types) {
        // A body is parsed by each index.
        Err(error) if request.body_or_source().is_empty() => return Err(error),
        wanted => wanted,
    };
    let wanted = wanted.and_then(|wanted| {
        wanted.query.check(&request.budget)?;
        Ok(wanted)
    });
    let mut valid = true;
    let mut explanations = Vec::new();
    for (index, filters) in &targets {
        let parsed = wanted.as_ref().map_err(Clone::clone).and_then(|wanted| {
            let mapping = index.mapping().for_types(&wanted.types);
            let context = Context {
                types: &wanted.types,
                budget: Some(&request.budget),
                ..index.context(&mapping, &shared.cluster)
            };
            prepare_query(&context, &wanted.query, &wanted.types, filters)
        });
        explanations.push(match parsed {
            Ok(query) => json!({"index": index.name, "valid": true, "explanation": label(&query)}),
            Err(error) => {
                valid = false;
                json!({"index": index.name, "valid": false, "error": parse_failure(&index.name, error).qualified()})
            }
        });
    }
    let mut response =
        json!({"valid": valid, "_shards": {"total": targets.len(), "successful": targets.len(), "failed": 0}});
    if request.flag("explain") {
        response["explanations"] = explanations.into();
    }
    Ok(Answer::ok(response))
}

/// `GET|POST [/index]/_search_shards`.
pub(crate) fn search_shards(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Answer> {
    let named = shared
        .cluster
        .allowed(indices, request.expand_or(Expand::FILTER)?, Block::Metadata)?;
    if !named.is_empty() {
        check_preference(shared, request.param("preference"))?;
    }
    if let Some(closed) = named.iter().find(|index| index.is_closed()) {
        return Err(SearchError::index_missing(&closed.name));
    }
    let (routing, preference) = (request.param("routing"), request.param("preference"));
    let routing = shared.cluster.search_routing(indices, routing, preference)?;
    let visited = named.iter().flat_map(|index| {
        let all = shared.cluster.routing(index).into_iter();
        all.filter(|(shard, _)| routing.visits(index, *shard))
    });
    let mut visited: Vec<_> = visited.collect();
    visited.sort_by_key(|(shard, _)| *shard);
    let copies = visited.into_iter().map(|(_, copies)| copies);
    let shards: Vec<Value> = copies
        .map(|copies| preferred_copies(copies, preference.unwrap_or_default()).into())
        .collect();
    let holds = |id: &str| {
        let mut copies = shards.iter().filter_map(Value::as_array).flatten();
        copies.any(|copy| copy.get("node").and_then(Value::as_str) == Some(id))
    };
    let mut nodes = shared.cluster.node_addresses();
    nodes.retain(|id, _| holds(id));
    for node in nodes.values_mut().filter_map(Value::as_object_mut) {
        node.remove("attributes");
    }
    Ok(Answer::ok(json!({"nodes": nodes, "shards": shards})))
}

/// The copies of a shard that a search with a preference asks, in its order.
fn preferred_copies(mut copies: Vec<Value>, preference: &str) -> Vec<Value> {
    let is_primary = |copy: &Value| copy["primary"] == true;
    let is_on = |copy: &Value, node: &str| copy["node"] == *node;
    copies.retain(|copy| !copy["node"].is_null());
    // What follows the shards, as in `_shards:2,3;_primary`.
    let own = preference.rsplit(';').next().unwrap_or_default();
    match own.split_once(':').unwrap_or((own, "")) {
        ("_primary", _) => copies.retain(is_primary),
        ("_primary_first", _) => copies.sort_by_key(|copy| !is_primary(copy)),
        ("_local", _) => copies.sort_by_key(|copy| !is_on(copy, &id_of(0))),
        ("_only_local", _) => copies.retain(|copy| is_on(copy, &id_of(0))),
        ("_prefer_node", node) => copies.sort_by_key(|copy| !is_on(copy, node)),
        ("_only_node", node) => copies.retain(|copy| is_on(copy, node)),
        _ => {}
    }
    copies
}

/// `GET|POST /index/type/id/_explain`.
pub(crate) fn explain(
    shared: &Shared,
    request: &RestRequest,
    index: &str,
    type_name: &str,
    id: &str,
) -> Result<Answer> {
    let limits = &shared.cluster.options.limits;
    let body = request.body_or_source();
    if body.is_empty() && request.param("q").is_none() {
        return Err(SearchError::validation("source is missing"));
    }
    let query = match request.param("q").filter(|_| body.is_empty()) {
        Some(text) => QuerySource::text(text, &request.params, limits)?,
        None => QuerySource::parse(&request.params, body, limits)?,
    };
    query.check(&request.budget)?;
    let filter = SourceFilter::of_params(&request.params).filter(|filter| filter.enabled);
    let name = index;
    check_preference(shared, request.param("preference"))?;
    let targets = shared.cluster.resolve(name, Expand::SHARDS)?;
    let [(index, filters)] = targets.as_slice() else {
        let of_several = shared.cluster.single(name).err();
        return Err(of_several.unwrap_or_else(|| SearchError::index_missing(name)));
    };
    shared.cluster.refresh_if_due(index)?;
    index.check_block(Block::Read)?;
    // A parent is no routing value here, and neither is that of an alias.
    let routing = request.param("routing");
    if routing.is_none() && index.mapping().needs_routing(type_name) {
        return Err(SearchError::routing_missing(&index.name, type_name, id));
    }
    let (_, shard) = index.shard_of(id, routing)?;
    let view = shard.view();
    let place = shard.place(&view, type_name, id)?;
    let mut response = json!({"_index": index.name, "_type": type_name, "_id": id});
    let Some((at, doc)) = place else {
        response["matched"] = json!(false);
        return Ok(Answer::json(404, response));
    };
    let types = [type_name.to_owned()];
    let mapping = index.mapping().for_types(&types);
    let context = Context {
        types: &types,
        budget: Some(&request.budget),
        ..index.context(&mapping, &shared.cluster)
    };
    let failed = |error| parse_failure(&index.name, error);
    let mut query = prepare_query(&context, &query, &types, filters).map_err(failed)?;
    // As in Elasticsearch, the filters of an alias restrict the query once more.
    if let Some(filter) = alias_filter(&context, filters).map_err(failed)? {
        query = query.filtered(filter);
    }
    let explained = Explained::new(&query, &Corpus::of(&mapping, &view, shard), &request.budget)?;
    explained.check(&mapping)?;
    let segment = view
        .segments
        .get(at)
        .ok_or_else(|| SearchError::engine("no segment has the document"))?;
    let explanation = explained.of(&view, (at, doc), &request.budget)?;
    response["matched"] = json!(explanation.matched);
    response["explanation"] = explanation.json();
    let fields = request.param("fields").map(|text| names(&json!(text)));
    if filter.is_some() || fields.is_some() {
        let stored = segment.segment.stored(doc)?;
        let now = shared.cluster.now();
        let found = super::documents::contents(index, &stored, filter.as_ref(), fields.as_deref(), now)?;
        let mut get = json!({"found": true});
        if let Value::Object(get) = &mut get {
            get.extend(found);
        }
        response["get"] = get;
    }
    Ok(Answer::ok(response))
}
