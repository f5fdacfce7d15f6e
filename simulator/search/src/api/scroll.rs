//! The scroll APIs and `_msearch`.

use serde_json::{Value, json};

use super::search::{answer, check_preference, insert_first, run, scroll_id, types_of};
use crate::cluster::Expand;
use crate::durations::time;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::{Lost, Outcome, SearchRequest, SearchType, names};
use crate::json::{self, java_text};
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// Returns the search number of a scroll id, and the name of the phase for its errors.
fn number_of(id: &str) -> Result<(u64, &'static str)> {
    use base64::Engine;
    let is_invalid =
        |byte: u8| id.len() >= 4 && !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
    if let Some((at, byte)) = id.bytes().enumerate().find(|(_, byte)| is_invalid(*byte)) {
        let cause = format!("Bad Base64 input character decimal {byte} in array position {at}");
        return Err(
            SearchError::illegal("Failed to decode scrollId").caused_by(SearchError::new(400, Exception::Io, cause)),
        );
    }
    if (1..4).contains(&id.len()) {
        let length = id.len();
        let cause =
            format!("Base64-encoded string must have at least four characters, but length specified was {length}");
        return Err(SearchError::illegal("Failed to decode scrollId").caused_by(SearchError::argument(cause)));
    }
    let malformed = || SearchError::illegal(format!("Malformed scrollId [{id}]"));
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(id)
        .map_err(|_| malformed())?;
    let text = String::from_utf8(bytes).map_err(|_| malformed())?;
    let number = text
        .split(';')
        .nth(2)
        .and_then(|part| part.split(':').next())
        .and_then(|number| number.parse().ok())
        .ok_or_else(malformed)?;
    let phase = if text.starts_with("queryAndFetch") {
        "query_fetch"
    } else {
        "query"
    };
    Ok((number, phase))
}

/// Returns the scroll id of the path, the parameters or the body.
fn requested_id(request: &RestRequest, in_path: Option<&str>) -> String {
    let body = || String::from_utf8_lossy(&request.body).trim().to_owned();
    in_path.or(request.param("scroll_id")).map_or_else(body, str::to_owned)
}

/// Returns the error for an unknown or expired search.
fn missing(number: u64) -> SearchError {
    let reason = format!("No search context found for id [{number}]");
    SearchError::new(404, Exception::SearchContextMissing, reason)
}

/// Subtracts deleted or closed shards from the counts of a page, and adds their failures.
fn count_lost(response: &mut Value, outcome: &Outcome, lost: &Lost, error: &SearchError) {
    let matches = lost.iter().filter_map(|at| outcome.totals.get(*at)).sum();
    response["hits"]["total"] = json!(outcome.total.saturating_sub(matches));
    let shards = &mut response["_shards"];
    let count = |of: &Value| of.as_u64().unwrap_or_default();
    shards["successful"] = json!(count(&shards["successful"]).saturating_sub(lost.len() as u64));
    shards["failed"] = json!(count(&shards["failed"]) + lost.len() as u64);
    let failure = json!({"status": error.status, "reason": error.to_string()});
    let mut failures = shards["failures"].as_array().cloned().unwrap_or_default();
    failures.extend(std::iter::repeat_n(failure, lost.len()));
    shards["failures"] = failures.into();
}

/// `GET|POST /_search/scroll[/id]`.
pub(crate) fn next(shared: &Shared, request: &RestRequest, in_path: Option<&str>) -> Result<Answer> {
    let began = (shared.cluster.options.ticks)();
    let keep = request.param("scroll").map(time).transpose()?;
    let (number, phase) = number_of(&requested_id(request, in_path))?;
    let found = shared.scrolls.get(number, keep, began);
    let (scroll, lost) = found.ok_or_else(|| {
        let reason = format!(
            "Failed to execute phase [{phase}], all shards failed; shardFailures {{{}}}",
            missing(number)
        );
        SearchError::new(404, Exception::SearchPhaseExecution, reason)
    })?;
    let mut search = scroll.request.clone();
    search.budget = request.budget.clone();
    let scanned = scroll.scanned();
    let hits = scroll.next(&shared.cluster, &search, &lost)?;
    let mut response = answer(shared, &search, &scroll.outcome, &hits, began)?;
    if let Some(scanned) = scanned {
        let shards = &mut response["_shards"];
        let failed = usize::try_from(shards["failed"].as_u64().unwrap_or_default()).unwrap_or_default();
        (shards["total"], shards["successful"]) = (scanned.into(), scanned.saturating_sub(failed).into());
    }
    if !lost.is_empty() {
        count_lost(&mut response, &scroll.outcome, &lost, &missing(number));
    }
    // Only the first page has aggregations and, unless it is a scan, a maximum score.
    if let Value::Object(response) = &mut response {
        response.remove("aggregations");
    }
    if search.search_type != SearchType::Scan {
        response["hits"]["max_score"] = Value::Null;
    }
    if keep.is_some() {
        insert_first(&mut response, "_scroll_id", scroll_id(number, &scroll.outcome).into());
    }
    Ok(Answer::ok(response))
}

/// `DELETE /_search/scroll[/id,...]`.
pub(crate) fn clear(shared: &Shared, request: &RestRequest, in_path: Option<&str>) -> Result<Answer> {
    let ids = names(&json!(requested_id(request, in_path)));
    if ids.is_empty() {
        return Err(SearchError::validation("no scroll ids specified"));
    }
    if ids.iter().any(|id| id == "_all") {
        shared.scrolls.close_all();
        return Ok(Answer::ok(json!({})));
    }
    let mut closed = 0;
    for id in &ids {
        closed += usize::from(shared.scrolls.close(number_of(id)?.0));
    }
    Ok(Answer::json(if closed > 0 { 200 } else { 404 }, json!({})))
}

/// `GET|POST [/index[/type]]/_msearch`: a header line and a body line per search.
pub(crate) fn msearch(
    shared: &Shared,
    request: &RestRequest,
    index: Option<&str>,
    types: Option<&str>,
) -> Result<Answer> {
    let max_searches = shared.cluster.options.limits.searches;
    json::derivable(request.body_or_source())?;
    let body = request.body_or_source();
    // An empty first line is skipped.
    let mut lines = body.strip_prefix(b"\n").unwrap_or(body).split(|byte| *byte == b'\n');
    if let Some(kind) = request.param("search_type") {
        SearchType::parse(kind)?;
    }
    let default = request.expand()?;
    let mut responses = Vec::new();
    while let Some(header) = lines.next() {
        if header.iter().all(u8::is_ascii_whitespace)
            && lines.clone().all(|line| line.iter().all(u8::is_ascii_whitespace))
        {
            break;
        }
        let blank = header.iter().all(u8::is_ascii_whitespace);
        let header: Value = if blank { json!({}) } else { json::value(header)? };
        if !header.is_object() {
            return Err(SearchError::null_pointer());
        }
        let expand = if blank { default } else { Expand::SHARDS };
        let header = Header::parse(&header, expand)?;
        // The last line counts only if it ends with a newline.
        let Some(body) = lines.next().filter(|_| lines.clone().next().is_some()) else {
            break;
        };
        if responses.len() >= max_searches {
            return Err(SearchError::illegal(format!(
                "at most {max_searches} searches per request"
            )));
        }
        responses.push(
            single(shared, request, header, body, index, types)
                .unwrap_or_else(|error| json!({"error": error.to_string()})),
        );
    }
    if responses.is_empty() {
        return Err(SearchError::validation("no requests added"));
    }
    Ok(Answer::ok(json!({"responses": responses})))
}

/// The header of a search of `_msearch`. Objects and nulls are ignored.
struct Header {
    indices: Option<String>,
    types: Option<String>,
    search_type: Option<String>,
    preference: Option<String>,
    routing: Option<String>,
    expand: Expand,
}

impl Header {
    /// Parses a header, with the options that it does not have.
    ///
    /// # Errors
    /// A search type or pattern option that does not exist, or an array where there must be one value.
    fn parse(header: &Value, expand: Expand) -> Result<Header> {
        let mut parsed = Header {
            indices: None,
            types: None,
            search_type: None,
            preference: None,
            routing: None,
            expand,
        };
        let entries = header.as_object().into_iter().flatten();
        for (key, value) in entries.filter(|(_, value)| !value.is_null() && !value.is_object()) {
            let text = match value {
                Value::Array(items) => items.iter().map(java_text).collect::<Vec<_>>().join(","),
                other => java_text(other),
            };
            match key.as_str() {
                "index" | "indices" => parsed.indices = Some(text),
                "type" | "types" => parsed.types = Some(text),
                "expand_wildcards" | "expandWildcards" => {
                    let given: Vec<&str> = text.split(',').filter(|state| !state.is_empty()).collect();
                    if let Some(other) = given.iter().find(|state| !matches!(**state, "open" | "closed")) {
                        let reason = format!("No valid expand wildcard value [{other}]");
                        return Err(SearchError::illegal(reason));
                    }
                    parsed.expand.open |= given.contains(&"open");
                    parsed.expand.closed |= given.contains(&"closed");
                }
                _ if value.is_array() => {
                    let reason = format!("{key} doesn't support arrays");
                    return Err(SearchError::parse(reason));
                }
                "search_type" | "searchType" => {
                    SearchType::parse(&text)?;
                    parsed.search_type = Some(text);
                }
                "preference" => parsed.preference = Some(text),
                "routing" => parsed.routing = Some(text),
                "ignore_unavailable" | "ignoreUnavailable" => {
                    parsed.expand.ignore_unavailable = crate::mapping::truth(value);
                }
                "allow_no_indices" | "allowNoIndices" => {
                    parsed.expand.allow_no_indices = crate::mapping::truth(value);
                }
                _ => {}
            }
        }
        Ok(parsed)
    }
}

fn single(
    shared: &Shared,
    request: &RestRequest,
    header: Header,
    body: &[u8],
    index: Option<&str>,
    types: Option<&str>,
) -> Result<Value> {
    let began = (shared.cluster.options.ticks)();
    check_preference(shared, header.preference.as_deref())?;
    let mut params = std::collections::BTreeMap::new();
    if let Some(kind) = header.search_type.as_deref().or(request.param("search_type")) {
        params.insert("search_type".to_owned(), kind.to_owned());
    }
    let mut wanted = SearchRequest::parse(&params, body, &shared.cluster.options.limits)?;
    wanted.types = types_of(header.types.as_deref().or(types));
    let default = request.param("routing").filter(|routing| !routing.is_empty());
    wanted.routing = header.routing.or(default.map(str::to_owned));
    wanted.preference = header.preference;
    wanted.budget = request.budget.clone();
    let indices = header.indices.as_deref().or(index).unwrap_or_default();
    let outcome = run(shared, indices, header.expand, &wanted)?;
    answer(shared, &wanted, &outcome, &outcome.hits, began)
}
