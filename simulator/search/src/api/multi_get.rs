//! The multi-get API.

use serde_json::{Value, json};

use super::documents::{check_version, document_json, find, placement, read_version};
use super::search::check_preference;
use crate::error::{Result, SearchError, problems};
use crate::exception::Exception;
use crate::find::{SourceFilter, names};
use crate::index::VersionType;
use crate::json::{self, Tokens, is_scalar, java_text, spread};
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// Parses the version that the document of an item of `_mget` must have.
fn item_version(item: &Value) -> Result<Option<u64>> {
    let own = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| item.get(*name));
        found.filter(|value| !value.is_null()).map(java_text)
    };
    let given = own(["_version", "version"]).map(|text| text.parse().map_err(|_| SearchError::number(&text)));
    let version_type = own(["_version_type", "version_type"]).map(|name| VersionType::parse(&name));
    read_version((given.transpose()?, version_type.transpose()?.unwrap_or_default()))
}

/// Adds the error of an item to the response to it.
///
/// # Errors
/// A closed index fails the request, a missing one only its documents.
pub(super) fn failed_item(mut item: Value, error: SearchError) -> Result<Value> {
    // Failures before a shard is asked have no name.
    item["error"] = match error.kind {
        Exception::IndexClosed => return Err(error),
        Exception::IndexMissing | Exception::RoutingMissing => error.reason,
        _ => error.to_string(),
    }
    .into();
    Ok(item)
}

/// Returns the documents that a body asks for, each with its settings.
fn items(body: &Value) -> Result<Vec<Value>> {
    let mut items = Vec::new();
    for (key, value) in body.as_object().into_iter().flatten() {
        let Value::Array(listed) = value else { continue };
        for item in listed {
            match (key.as_str(), item) {
                // An object as a setting ends the document for Elasticsearch.
                ("docs", Value::Object(own))
                    if own.iter().all(|(key, value)| !value.is_object() || key == "_source") =>
                {
                    items.push(item.clone());
                }
                ("docs", _) => return Err(SearchError::illegal("docs array element should include an object")),
                ("ids", id) if is_scalar(id) => items.push(json!({"_id": id})),
                ("ids", _) => return Err(SearchError::illegal("ids array element should only contain ids")),
                _ => {}
            }
        }
    }
    match items.is_empty() {
        true => Err(SearchError::validation("no documents to get")),
        false => Ok(items),
    }
}

/// Returns the `_source` of a document.
fn item_filter(item: &Value) -> Result<Option<SourceFilter>> {
    match item.get("_source") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) if number.is_f64() => {
            Err(SearchError::parse("illegal type for _source: [VALUE_NUMBER]"))
        }
        Some(value) => SourceFilter::read(&mut Tokens::new(value)).map(Some),
    }
}

/// Returns a member of an item as text. The last of several values counts.
fn text(item: &Value, name: &str) -> Option<String> {
    let values = item.get(name).map(spread).unwrap_or_default();
    values.into_iter().rfind(|value| is_scalar(value)).map(java_text)
}

/// Returns the `fields` of a document: a name, or a list of names.
fn item_fields(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(name) => Some(vec![name.clone()]),
        Value::Array(_) => Some(names(value)),
        _ => None,
    }
}

/// `GET|POST [/index[/type]]/_mget`.
pub(crate) fn mget(
    shared: &Shared,
    request: &RestRequest,
    index: Option<&str>,
    type_name: Option<&str>,
) -> Result<Answer> {
    json::derivable(request.body_or_source())?;
    let body = request.json()?.unwrap_or_default();
    let items = items(&body)?;
    let missing: Vec<String> = items
        .iter()
        .enumerate()
        .flat_map(|(at, item)| {
            let lacks = |key: &str| text(item, key).is_none();
            let missing = problems([(index.is_none() && lacks("_index"), "index"), (lacks("_id"), "id")]);
            missing.map(move |what| format!("{what} is missing for doc {at}"))
        })
        .collect();
    let versions = items.iter().map(item_version).collect::<Result<Vec<_>>>()?;
    let filters = items.iter().map(item_filter).collect::<Result<Vec<_>>>()?;
    if !missing.is_empty() {
        return Err(SearchError::invalid(&missing));
    }
    let filter = SourceFilter::of_params(&request.params);
    let default_fields = request.param("fields").filter(|text| !text.is_empty());
    let default_fields = default_fields.map(|text| names(&json!(text)));
    let realtime = request.flag_or("realtime", true);
    let refreshes = request.flag("refresh");
    let docs = items.iter().zip(&versions).zip(&filters).map(|((item, version), own)| {
        let given = |key: &str| item.get(key).filter(|value| !value.is_null());
        let text = |key: &str| text(item, key);
        let index = text("_index").or_else(|| index.map(str::to_owned)).unwrap_or_default();
        let type_name = text("_type").or_else(|| type_name.map(str::to_owned));
        let wanted_type = type_name.as_deref().unwrap_or("_all");
        let id = text("_id").unwrap_or_default();
        let fields = given("fields").and_then(item_fields).or_else(|| default_fields.clone());
        let own_routing = text("_routing").or_else(|| text("routing"));
        let own_routing = own_routing.or_else(|| text("_parent")).or_else(|| text("parent"));
        let routing = own_routing.as_deref().or(placement(request).value());
        // As in Elasticsearch, an alias that does not name one document fails the request.
        shared.cluster.index_routing(&index, routing)?;
        let preferred = check_preference(shared, request.param("preference"));
        let read =
            find(shared, &index, (wanted_type, &id), routing, (realtime, refreshes)).and_then(|(index, found)| {
                preferred?;
                check_version(&index, &id, routing, *version, found.as_ref())?;
                let filter = own.as_ref().or(filter.as_ref());
                document_json(
                    &index,
                    type_name.as_deref(),
                    &id,
                    found,
                    filter,
                    fields.as_deref(),
                    shared.cluster.now(),
                )
            });
        read.or_else(|error| failed_item(json!({"_index": index, "_type": type_name, "_id": id}), error))
    });
    Ok(Answer::ok(json!({"docs": docs.collect::<Result<Vec<_>>>()?})))
}
