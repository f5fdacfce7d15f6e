//! The multi-get API.

use serde_json::{Value, json};

use super::documents::{check_version, document_json, find, placement, read_version, source_filter};
use super::search::check_preference;
use crate::error::{Result, SearchError, problems};
use crate::find::{SourceFilter, names};
use crate::index::VersionType;
use crate::json::{self, java_text};
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
        "IndexClosedException" => return Err(error),
        "IndexMissingException" | "RoutingMissingException" => error.reason,
        _ => error.to_string(),
    }
    .into();
    Ok(item)
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
    let items: Vec<Value> = match (
        body.get("docs").and_then(Value::as_array),
        body.get("ids").and_then(Value::as_array),
    ) {
        (Some(docs), _) if docs.iter().any(|doc| !doc.is_object()) => {
            return Err(SearchError::illegal("docs array element should include an object"));
        }
        (None, Some(ids)) if ids.iter().any(|id| id.is_null() || id.is_array() || id.is_object()) => {
            return Err(SearchError::illegal("ids array element should only contain ids"));
        }
        (Some(docs), _) if !docs.is_empty() => docs.clone(),
        (None, Some(ids)) if !ids.is_empty() => ids.iter().map(|id| json!({"_id": id})).collect(),
        _ => return Err(SearchError::validation("no documents to get")),
    };
    let missing: Vec<String> = items
        .iter()
        .enumerate()
        .flat_map(|(at, item)| {
            let lacks = |key: &str| item.get(key).is_none_or(Value::is_null);
            let missing = problems([(index.is_none() && lacks("_index"), "index"), (lacks("_id"), "id")]);
            missing.map(move |what| format!("{what} is missing for doc {at}"))
        })
        .collect();
    if !missing.is_empty() {
        return Err(SearchError::invalid(&missing));
    }
    let filter = source_filter(request);
    let default_fields = request.param("fields").map(|text| names(&json!(text)));
    let realtime = request.flag_or("realtime", true);
    let versions = items.iter().map(item_version).collect::<Result<Vec<_>>>()?;
    let docs = items.iter().zip(&versions).map(|(item, version)| {
        let text = |key: &str| {
            item.get(key)
                .filter(|value| !value.is_null())
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        let index = text("_index").or_else(|| index.map(str::to_owned)).unwrap_or_default();
        let type_name = text("_type").or_else(|| type_name.map(str::to_owned));
        let wanted_type = type_name.as_deref().unwrap_or("_all");
        let id = text("_id").unwrap_or_default();
        let own = item.get("_source").map(SourceFilter::parse);
        let fields = item.get("fields").map(names).or_else(|| default_fields.clone());
        let own_routing = text("_routing").or_else(|| text("routing"));
        let own_routing = own_routing.or_else(|| text("_parent")).or_else(|| text("parent"));
        let routing = own_routing.as_deref().or(placement(request).value());
        let preferred = check_preference(shared, request.param("preference"));
        let read = find(shared, &index, (wanted_type, &id), routing, realtime).and_then(|(index, found)| {
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
