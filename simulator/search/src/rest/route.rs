//! Routing of requests to handlers, by method and path.
//!
//! As in Elasticsearch, a part that a path lacks may be a parameter: `/logs/_stats?metric=docs` is `/logs/_stats/docs`.

use http::Method;

use super::{Answer, RestRequest};
use crate::api::{
    aliases, analyze, cat, cluster, cluster_settings, deletion, documents, indices, mappings, multi_get, nodes, query,
    scroll, search, similar, snapshots, state, stats, suggest, templates, vectors, warmers,
};
use crate::cluster::Expand;
use crate::error::{Result, SearchError, problems};
use crate::shared::Shared;

/// A path with an action, such as `/indices/types/_search`.
struct Endpoint<'a> {
    indices: &'a str,
    types: Option<&'a str>,
    action: &'a [&'a str],
}

/// Splits `[/indices[/types]]/_action...` at each part that may be the action. The name of an index may begin with `_`.
fn endpoints<'a>(path: &'a [&'a str]) -> impl Iterator<Item = Endpoint<'a>> {
    let is_action = |part: &str| part.starts_with('_') && !matches!(part, "_all" | "_default_");
    (0..path.len().min(3)).filter_map(move |at| {
        let (names, action) = path.split_at(at);
        let (indices, types) = match names {
            [] => ("", None),
            [indices] => (*indices, None),
            [indices, types, ..] => (*indices, Some(*types)),
        };
        let found = is_action(action.first()?);
        found.then_some(Endpoint { indices, types, action })
    })
}

/// Routes a request to its handler.
pub(super) fn dispatch(shared: &Shared, request: &RestRequest) -> Result<Answer> {
    if request.method == Method::OPTIONS {
        return Ok(Answer::text(String::new()));
    }
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let mut answered = None;
    for endpoint in endpoints(&path) {
        answered = index_action(shared, request, &endpoint)?;
        if answered.is_none() && endpoint.indices.is_empty() {
            answered = cluster_action(shared, request, &path)?;
        }
        if answered.is_some() {
            break;
        }
    }
    match answered {
        Some(answer) => Ok(answer),
        None => document(shared, request, &path)?.map_or_else(
            || match path.as_slice() {
                [features] | [_, features] if request.method == Method::GET => {
                    let unknown = features.split(',').find(|feature| !is_feature_list(feature));
                    let unknown = unknown.unwrap_or(features);
                    Err(SearchError::illegal(format!("No feature for name [{unknown}]")))
                }
                _ => Ok(Answer {
                    status: 400,
                    ..Answer::text(format!(
                        "No handler found for uri [{}] and method [{}]",
                        request.uri, request.method
                    ))
                }),
            },
            Ok,
        ),
    }
}

/// Returns whether the path of an action may name types. Of other actions, `/index/type/_action` is a document.
fn has_types(action: &[&str]) -> bool {
    matches!(
        action,
        ["_search" | "_validate" | "_warmer" | "_warmers", ..]
            | ["_bulk" | "_count" | "_mapping" | "_mappings" | "_mget" | "_msearch" | "_mtermvectors" | "_query"]
            | ["_search_shards" | "_termvector"]
            | ["_mapping", "field", _]
    )
}

/// Routes actions on indices and types.
fn index_action(shared: &Shared, request: &RestRequest, endpoint: &Endpoint<'_>) -> Result<Option<Answer>> {
    let Endpoint { indices, types, action } = *endpoint;
    if types.is_some() && !has_types(action) {
        return Ok(None);
    }
    // Without names in the path, the parameters name them.
    let names = Some(indices)
        .filter(|names| !names.is_empty())
        .or(request.param("index"));
    let names = names.unwrap_or_default();
    let (types_of_path, types) = (types, types.or(request.param("type")));
    let named = (!names.is_empty()).then_some(names);
    let reads = matches!(request.method, Method::GET | Method::POST);
    let answer = match (&request.method, action) {
        (_, ["_search"]) if reads => search::search(shared, request, names, types)?,
        (_, ["_search", "template"]) if reads => search::templated(shared, request, names, types)?,
        (_, ["_search", "exists"]) if reads => query::exists(shared, request, names, types)?,
        (_, ["_search", "scroll"]) if reads && indices.is_empty() => scroll::next(shared, request, None)?,
        (_, ["_search", "scroll", id]) if reads => scroll::next(shared, request, Some(id))?,
        (&Method::DELETE, ["_search", "scroll"]) => scroll::clear(shared, request, None)?,
        (&Method::DELETE, ["_search", "scroll", ids]) => scroll::clear(shared, request, Some(ids))?,
        (_, ["_msearch"]) if reads => scroll::msearch(shared, request, named, types)?,
        (_, ["_suggest"]) if reads => suggest::suggest(shared, request, names)?,
        (_, ["_count"]) if reads => query::count(shared, request, names, types)?,
        (_, ["_validate", "query"]) if reads => query::validate(shared, request, names, types)?,
        (_, ["_search_shards"]) if reads => query::search_shards(shared, request, names)?,
        (_, ["_analyze"]) if reads => analyze::analyze(shared, request, named)?,
        (_, ["_mtermvectors"]) if reads => vectors::mtermvectors(shared, request, named, types)?,
        (_, ["_termvector"]) if reads && named.is_some() && types.is_some() => {
            vectors::termvector(shared, request, names, types.unwrap_or_default(), None)?
        }
        (_, ["_mget"]) if reads => multi_get::mget(shared, request, named, types)?,
        (&Method::POST | &Method::PUT, ["_bulk"]) => documents::bulk(shared, request, named, types)?,
        (&Method::DELETE, ["_query"]) => deletion::delete_by_query(shared, request, names, types)?,
        (_, ["_refresh" | "_flush" | "_optimize"]) if reads => {
            indices::maintain(shared, request, names, action.first().unwrap_or(&""))?
        }
        (&Method::GET, ["_upgrade"]) => stats::upgrade(shared, request, names)?,
        // All segments are of the newest version.
        (&Method::POST, ["_upgrade"]) => indices::maintain(shared, request, names, "_upgrade")?,
        (_, ["_cache", "clear"]) if reads => indices::maintain(shared, request, names, "_cache")?,
        (&Method::GET, ["_stats"]) => stats::stats(shared, request, names, request.param("metric"))?,
        (&Method::GET, ["_stats", metrics, _]) if indices.is_empty() => {
            stats::stats(shared, request, names, Some(metrics))?
        }
        (&Method::GET, ["_stats", metrics]) => stats::stats(shared, request, names, Some(metrics))?,
        (&Method::GET, ["_segments"]) => stats::segments(shared, request, names)?,
        (&Method::GET, ["_recovery"]) => stats::recovery(shared, request, names)?,
        (&Method::GET, ["_status"]) => stats::status(shared, request, names)?,
        (&Method::GET, ["_settings"]) => indices::settings(shared, request, names, None)?,
        (&Method::GET, ["_settings", name]) => indices::settings(shared, request, names, Some(name))?,
        (&Method::PUT, ["_settings"]) => indices::put_settings(shared, request, names)?,
        (&Method::POST, ["_open"]) => indices::set_closed(shared, request, names, false)?,
        (&Method::POST, ["_close"]) => indices::set_closed(shared, request, names, true)?,
        (_, ["_mapping" | "_mappings", ..]) => return mapping(shared, request, endpoint),
        (_, ["_alias" | "_aliases", ..]) => return alias(shared, request, endpoint),
        (&Method::GET, ["_warmer" | "_warmers"]) if types_of_path.is_none() => {
            warmers::get(shared, request, names, None, None)?
        }
        (&Method::GET, ["_warmer" | "_warmers", wanted]) => warmers::get(shared, request, names, types, Some(wanted))?,
        (&Method::PUT | &Method::POST, ["_warmer" | "_warmers", name]) => {
            warmers::put(shared, request, names, types, name)?
        }
        (&Method::DELETE, ["_warmer" | "_warmers"]) if named.is_some() && types_of_path.is_none() => {
            let wanted = request.param("name");
            let wanted = wanted.ok_or_else(|| SearchError::validation("warmer names are missing"))?;
            warmers::delete(shared, request, names, wanted)?
        }
        (&Method::DELETE, ["_warmer" | "_warmers", wanted]) if named.is_some() && types_of_path.is_none() => {
            warmers::delete(shared, request, names, wanted)?
        }
        (&Method::GET, [features]) if named.is_some() && types_of_path.is_none() && is_feature_list(features) => {
            indices::get(shared, request, names, &features.split(',').collect::<Vec<_>>())?
        }
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

fn is_feature_list(features: &str) -> bool {
    features.split(',').all(|feature| {
        matches!(
            feature,
            "_settings" | "_mappings" | "_mapping" | "_aliases" | "_alias" | "_warmers" | "_warmer"
        )
    })
}

fn mapping(shared: &Shared, request: &RestRequest, endpoint: &Endpoint<'_>) -> Result<Option<Answer>> {
    let Endpoint {
        indices: names,
        types,
        action,
    } = *endpoint;
    let asked = types.or(request.param("type"));
    let of_fields = Some(names).filter(|names| !names.is_empty());
    let of_fields = of_fields.or(request.param("index")).unwrap_or_default();
    let answer = match (&request.method, action) {
        (&Method::GET, ["_mappings"]) if types.is_some() => return Ok(None),
        (&Method::GET, ["_mappings", _]) | (&Method::DELETE, _) if names.is_empty() => return Ok(None),
        (&Method::GET, [_]) => mappings::get(shared, request, names, types)?,
        (&Method::GET, [_, "field", fields]) => mappings::fields(shared, request, of_fields, asked, fields)?,
        (&Method::GET, [_, types, "field", fields]) => {
            mappings::fields(shared, request, of_fields, Some(types), fields)?
        }
        (&Method::GET, [_, types]) => mappings::get(shared, request, names, Some(types))?,
        (&Method::PUT | &Method::POST, [_, type_name]) => mappings::put(shared, request, names, type_name)?,
        (&Method::DELETE, [_, types]) => mappings::delete(shared, request, names, types)?,
        (&Method::PUT | &Method::POST, [_]) => match asked.filter(|_| !names.is_empty()) {
            Some(type_name) => mappings::put(shared, request, names, type_name)?,
            None if !names.is_empty() => {
                let is_empty = request.body_or_source().is_empty();
                let found = problems([(true, "mapping type is missing"), (is_empty, "mapping source is empty")]);
                return Err(SearchError::invalid(&found.collect::<Vec<_>>()));
            }
            None => return Ok(None),
        },
        (&Method::DELETE, [_]) => match types {
            Some(types) => mappings::delete(shared, request, names, types)?,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

fn alias(shared: &Shared, request: &RestRequest, endpoint: &Endpoint<'_>) -> Result<Option<Answer>> {
    let Endpoint {
        indices: names, action, ..
    } = *endpoint;
    let strict = action.first() == Some(&"_alias");
    let answer = match (&request.method, action) {
        (&Method::POST, ["_aliases"]) if names.is_empty() => aliases::update(shared, request)?,
        (&Method::GET, [_]) => aliases::get(shared, request, names, None, false)?,
        (&Method::GET, [_, wanted]) => aliases::get(shared, request, names, Some(wanted), strict)?,
        // No name is that of an alias.
        (&Method::HEAD, [_]) => Answer::exists(false),
        (&Method::HEAD, [_, wanted]) if strict => aliases::exists(shared, request, names, wanted)?,
        (&Method::PUT, [_]) if strict || !names.is_empty() => aliases::put(shared, request, names, "")?,
        (&Method::PUT | &Method::POST, [_, alias]) => aliases::put(shared, request, names, alias)?,
        (&Method::DELETE, [_, wanted]) if !names.is_empty() => aliases::delete(shared, request, names, wanted)?,
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

/// Routes actions on the cluster.
fn cluster_action(shared: &Shared, request: &RestRequest, path: &[&str]) -> Result<Option<Answer>> {
    let get = request.method == Method::GET;
    let answer = match (&request.method, path) {
        (_, ["_cluster", "health"]) if get => cluster::health(shared, request, request.param("index"))?,
        (_, ["_cluster", "health", indices]) if get => cluster::health(shared, request, Some(indices))?,
        (_, ["_cluster", "state"]) if get => state::state(shared, request, None, None)?,
        (_, ["_cluster", "state", metrics]) if get => state::state(shared, request, Some(metrics), None)?,
        (_, ["_cluster", "state", metrics, indices]) if get => {
            state::state(shared, request, Some(metrics), Some(indices))?
        }
        (_, ["_cluster", "stats"] | ["_cluster", "stats", "nodes", _]) if get => cluster::stats(shared, request),
        (&Method::POST, ["_cluster", "reroute"]) => state::reroute(shared, request)?,
        (&Method::GET | &Method::PUT, ["_cluster", "settings"]) => cluster_settings::settings(shared, request)?,
        (_, ["_cluster", "pending_tasks"]) if get => nodes::pending_tasks(shared, request)?,
        (_, ["_cluster", "nodes", "hot_threads" | "hotthreads"] | ["_nodes", "hot_threads" | "hotthreads"]) if get => {
            nodes::hot_threads(shared, None)
        }
        (_, ["_nodes"]) if get => nodes::info(shared, request, request.param("nodeId"), request.param("metrics")),
        (_, ["_nodes", "stats"]) if get => {
            let metrics: Vec<&str> = request.param("metric").into_iter().collect();
            nodes::stats(shared, request, request.param("nodeId"), &metrics)
        }
        (_, ["_nodes", "stats", metrics @ ..]) if get && metrics.len() <= 2 => {
            nodes::stats(shared, request, None, metrics)
        }
        (_, ["_nodes", picked, "stats", metrics @ ..]) if get && metrics.len() <= 2 => {
            nodes::stats(shared, request, Some(picked), metrics)
        }
        (_, ["_cluster", "nodes", picked, "hot_threads" | "hotthreads"]) if get => {
            nodes::hot_threads(shared, Some(picked))
        }
        (_, ["_nodes", picked, "hot_threads" | "hotthreads"]) if get => nodes::hot_threads(shared, Some(picked)),
        (_, ["_nodes", picked, "info", metrics]) if get => nodes::info(shared, request, Some(picked), Some(metrics)),
        (_, ["_nodes", one]) if get && is_metric_list(one) => nodes::info(shared, request, None, Some(one)),
        (_, ["_nodes", picked]) if get => nodes::info(shared, request, Some(picked), None),
        (_, ["_nodes", picked, metrics]) if get => nodes::info(shared, request, Some(picked), Some(metrics)),
        (_, ["_cat"]) if get => cat::list(),
        (_, ["_cat", page]) if get && cat::has_page(page, None) => cat::cat(shared, request, page, None)?,
        (_, ["_cat", page, names]) if get && cat::has_page(page, Some(names)) => {
            cat::cat(shared, request, page, Some(names))?
        }
        (&Method::GET, ["_template"]) => templates::get(shared, request, request.param("name"))?,
        (&Method::GET, ["_template", name]) => templates::get(shared, request, Some(name))?,
        (&Method::HEAD, ["_template", name]) => templates::exists(shared, name)?,
        (&Method::PUT | &Method::POST, ["_template", name]) => templates::put(shared, request, name)?,
        (&Method::DELETE, ["_template", name]) => templates::delete(shared, request, name)?,
        (&Method::DELETE, ["_all"]) => indices::delete(shared, request, "_all")?,
        (_, ["_snapshot", below @ ..]) => return snapshots::handle(shared, request, below),
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

fn is_metric_list(text: &str) -> bool {
    text.split(',').all(|metric| {
        matches!(
            metric,
            "settings" | "os" | "process" | "jvm" | "thread_pool" | "network" | "transport" | "http" | "plugins"
        )
    })
}

const NO_PERCOLATOR: &str = "the percolator is not supported";

/// Routes requests to documents and indices.
fn document(shared: &Shared, request: &RestRequest, path: &[&str]) -> Result<Option<Answer>> {
    let writes = matches!(request.method, Method::PUT | Method::POST);
    let reads = matches!(request.method, Method::GET | Method::HEAD);
    let answer = match (&request.method, path) {
        (
            &Method::GET | &Method::POST,
            [index, "_mpercolate"]
            | [index, _, "_percolate" | "_mpercolate"]
            | [index, _, _, "_percolate"]
            | [index, _, "_percolate", "count"]
            | [index, _, _, "_percolate", "count"],
        ) => {
            shared.cluster.resolve(index, Expand::METADATA)?;
            return Err(SearchError::illegal(NO_PERCOLATOR));
        }
        (&Method::GET | &Method::POST, ["_mpercolate"]) => return Err(SearchError::illegal(NO_PERCOLATOR)),
        (_, []) if reads => cluster::root(shared),
        (&Method::DELETE, []) => return Err(SearchError::validation("index / indices is missing")),
        (&Method::PUT | &Method::POST, [index]) => indices::create(shared, request, index)?,
        (&Method::DELETE, [indices]) => indices::delete(shared, request, indices)?,
        (&Method::HEAD, [indices]) => indices::exists(shared, request, indices)?,
        (&Method::GET, [features]) if is_feature_list(features) => {
            indices::get(shared, request, "", &features.split(',').collect::<Vec<_>>())?
        }
        (&Method::GET, [indices]) if !indices.starts_with('_') || *indices == "_all" => {
            indices::get(shared, request, indices, &[])?
        }
        (&Method::HEAD, [indices, types]) => mappings::type_exists(shared, request, indices, types)?,
        (&Method::POST, [index, type_name]) => {
            documents::index(shared, request, index, type_name, request.param("id"), false)?
        }
        (&Method::DELETE, [indices, types]) => mappings::delete(shared, request, indices, types)?,
        (_, [index, type_name, id]) if writes => documents::index(shared, request, index, type_name, Some(id), false)?,
        (_, [index, type_name, id]) if reads => documents::get(shared, request, index, type_name, id)?,
        (&Method::DELETE, [index, type_name, id]) => documents::delete(shared, request, index, type_name, id)?,
        (_, [index, type_name, id, "_create"]) if writes => {
            documents::index(shared, request, index, type_name, Some(id), true)?
        }
        (_, [index, type_name, id, "_source"]) if reads => documents::source(shared, request, index, type_name, id)?,
        (&Method::POST, [index, type_name, id, "_update"]) => documents::update(shared, request, index, type_name, id)?,
        (&Method::GET | &Method::POST, [index, type_name, id, "_termvector"]) => {
            vectors::termvector(shared, request, index, type_name, Some(id))?
        }
        (&Method::GET | &Method::POST, [index, type_name, id, "_mlt"]) => {
            similar::more_like_this(shared, request, index, type_name, id)?
        }
        (&Method::GET | &Method::POST, [index, type_name, id, "_explain"]) => {
            query::explain(shared, request, index, type_name, id)?
        }
        _ => return Ok(None),
    };
    Ok(Some(answer))
}
