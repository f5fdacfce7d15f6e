//! Scrolls, and several searches in one request.

use serde_json::{Value, json};

use super::search::{answer, insert_first, run, scroll_id, search, types_of};
use crate::cluster::Expand;
use crate::error::{Result, SearchError};
use crate::find::{SearchRequest, names, time};
use crate::rest::{Answer, RestRequest, Shared};

fn number_of(id: &str) -> Result<u64> {
    use base64::Engine;
    let malformed = || SearchError::illegal("Failed to decode scrollId");
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(id)
        .map_err(|_| malformed())?;
    let text = String::from_utf8(bytes).map_err(|_| malformed())?;
    text.split(';')
        .nth(2)
        .and_then(|part| part.split(':').next())
        .and_then(|number| number.parse().ok())
        .ok_or_else(malformed)
}

/// The id and the time to keep it, from the path, the parameters or the body.
fn wanted(request: &RestRequest, in_path: Option<&str>) -> Result<(String, Option<String>)> {
    let body = std::str::from_utf8(&request.body).unwrap_or("").trim();
    let json: Option<Value> = if body.starts_with('{') { request.json()? } else { None };
    let text = |key: &str| {
        json.as_ref()
            .and_then(|json| json.get(key))
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let id = in_path
        .or(request.param("scroll_id"))
        .map(str::to_owned)
        .or_else(|| text("scroll_id"))
        .or_else(|| (!body.is_empty() && json.is_none()).then(|| body.to_owned()));
    let id = id.ok_or_else(|| {
        SearchError::new(
            400,
            "ActionRequestValidationException",
            "Validation Failed: 1: scrollId is missing;",
        )
    })?;
    Ok((
        id,
        request.param("scroll").map(str::to_owned).or_else(|| text("scroll")),
    ))
}

/// `GET|POST /_search/scroll[/id]`.
pub(crate) fn next(shared: &Shared, request: &RestRequest, in_path: Option<&str>) -> Result<Answer> {
    let began = (shared.cluster.options.ticks)();
    let (id, keep) = wanted(request, in_path)?;
    let number = number_of(&id)?;
    let keep = keep.map(|text| time(&text)).transpose()?;
    let found = shared.scrolls.next(number, keep, began);
    let (search, outcome, range) = found.ok_or_else(|| {
        SearchError::new(
            404,
            "SearchPhaseExecutionException",
            format!(
                "Failed to execute phase [query], all shards failed; shardFailures {{SearchContextMissingException[No search context found for id [{number}]]}}"
            ),
        )
    })?;
    let mut shown = answer(shared, &search, &outcome, range, began)?;
    // Aggregations come with the first page only.
    if let Value::Object(shown) = &mut shown {
        shown.remove("aggregations");
    }
    insert_first(&mut shown, "_scroll_id", scroll_id(number).into());
    Ok(Answer::ok(shown))
}

/// `DELETE /_search/scroll[/id,...]`.
pub(crate) fn clear(shared: &Shared, request: &RestRequest, in_path: Option<&str>) -> Result<Answer> {
    let body = std::str::from_utf8(&request.body).unwrap_or("").trim().to_owned();
    let ids = match (in_path.or(request.param("scroll_id")), body.starts_with('{')) {
        (Some(ids), _) => names(&json!(ids)),
        (None, true) => request
            .json()?
            .and_then(|body| body.get("scroll_id").map(names))
            .unwrap_or_default(),
        (None, false) => names(&json!(body)),
    };
    if ids.iter().any(|id| id == "_all") {
        shared.scrolls.close_all();
        return Ok(Answer::ok(json!({})));
    }
    let mut closed = 0;
    for id in &ids {
        closed += usize::from(shared.scrolls.close(number_of(id)?));
    }
    Ok(Answer::json(if closed > 0 { 200 } else { 404 }, json!({})))
}

/// `_msearch`: a line that says where, and one that says what, for each search.
pub(crate) fn msearch(
    shared: &Shared,
    request: &RestRequest,
    index: Option<&str>,
    types: Option<&str>,
) -> Result<Answer> {
    let most = shared.cluster.options.limits.searches;
    let mut lines = request.body_or_source().split(|byte| *byte == b'\n');
    let mut responses = Vec::new();
    while let Some(header) = lines.next() {
        if header.iter().all(u8::is_ascii_whitespace)
            && lines.clone().all(|line| line.iter().all(u8::is_ascii_whitespace))
        {
            break;
        }
        let blank = header.iter().all(u8::is_ascii_whitespace);
        let header: Value = if blank {
            json!({})
        } else {
            serde_json::from_slice(header).map_err(|error| SearchError::parse(error.to_string()))?
        };
        let Some(body) = lines.next() else {
            return Err(SearchError::new(
                400,
                "ActionRequestValidationException",
                "Validation Failed: 1: no requests added;",
            ));
        };
        if responses.len() >= most {
            return Err(SearchError::illegal(format!(
                "more than {most} searches in one request"
            )));
        }
        responses.push(
            single(shared, request, &header, body, index, types)
                .unwrap_or_else(|error| json!({"error": error.to_string()})),
        );
    }
    if responses.is_empty() {
        return Err(SearchError::new(
            400,
            "ActionRequestValidationException",
            "Validation Failed: 1: no requests added;",
        ));
    }
    Ok(Answer::ok(json!({"responses": responses})))
}

fn single(
    shared: &Shared,
    request: &RestRequest,
    header: &Value,
    body: &[u8],
    index: Option<&str>,
    types: Option<&str>,
) -> Result<Value> {
    let began = (shared.cluster.options.ticks)();
    let list = |keys: [&str; 2]| {
        keys.iter()
            .find_map(|key| header.get(*key))
            .map(|value| names(value).join(","))
    };
    let indices = list(["index", "indices"])
        .or_else(|| index.map(str::to_owned))
        .unwrap_or_default();
    let types = list(["type", "types"]).or_else(|| types.map(str::to_owned));
    let mut params = std::collections::BTreeMap::new();
    if let Some(kind) = header
        .get("search_type")
        .and_then(Value::as_str)
        .or(request.param("search_type"))
    {
        params.insert("search_type".to_owned(), kind.to_owned());
    }
    let mut wanted = SearchRequest::parse(&params, body, &shared.cluster.options.limits)?;
    wanted.types = types_of(types.as_deref());
    let flag = |key: &str, default: bool| header.get(key).map_or(default, crate::mapping::truth);
    let expand = Expand {
        ignore_unavailable: flag("ignore_unavailable", request.flag("ignore_unavailable")),
        allow_no_indices: flag("allow_no_indices", true),
        ..Expand::default()
    };
    let outcome = run(shared, &indices, expand, &wanted)?;
    answer(shared, &wanted, &outcome, 0..outcome.hits.len(), began)
}

/// `_search/template` with a template that has nothing to fill in; any other is refused.
pub(crate) fn template(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    let body = request.json()?.unwrap_or_default();
    let template = body
        .get("template")
        .filter(|template| template.is_object())
        .ok_or_else(|| SearchError::illegal("search templates are not part of this backend"))?;
    let mut inner = request.clone();
    inner.body = template.to_string().into();
    search(shared, &inner, indices, types)
}
