//! Bulk: many changes in one body, a line for each action and, but for deletions, one for its document.

use serde_json::{Map, Value, json};

use super::{Indexed, delete_document, index_document, update};
use crate::search::error::{Result, SearchError};
use crate::search::http::Shared;
use crate::search::index::Condition;

/// Does what `body` says, line by line; each change succeeds or fails by itself.
///
/// # Errors
/// A body whose actions cannot be told from its documents.
pub(crate) fn bulk(shared: &Shared, index: Option<&str>, type_name: Option<&str>, body: &[u8]) -> Result<(Value, Vec<String>)> {
    let mut lines = body.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut items = Vec::new();
    let mut failed = false;
    let mut touched: Vec<String> = Vec::new();
    let mut number = 0usize;
    while let Some(line) = lines.next() {
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let malformed = || SearchError::illegal(format!("Malformed action/metadata line [{number}], expected START_OBJECT or END_OBJECT"));
        let action: Map<String, Value> = serde_json::from_slice(line).map_err(|_| malformed())?;
        let (name, meta) = action.iter().next().ok_or_else(malformed)?;
        let text = |keys: [&str; 2]| {
            keys.iter()
                .find_map(|key| meta.get(*key))
                .and_then(|value| value.as_str().map(str::to_owned).or_else(|| value.as_i64().map(|number| number.to_string())))
        };
        let missing = |what: &str| SearchError::new(400, "ActionRequestValidationException", format!("Validation Failed: 1: {what} is missing;"));
        let index = text(["_index", "index"]).or_else(|| index.map(str::to_owned)).ok_or_else(|| missing("index"))?;
        let type_name = text(["_type", "type"]).or_else(|| type_name.map(str::to_owned)).ok_or_else(|| missing("type"))?;
        let id = text(["_id", "id"]);
        let version = ["_version", "version"].iter().find_map(|key| meta.get(*key)).and_then(Value::as_u64);
        let external = text(["_version_type", "version_type"]).is_some_and(|kind| kind.starts_with("external"));
        let created_only = name == "create" || text(["op_type", "_op_type"]).as_deref() == Some("create");
        let condition = Condition { create: created_only, version, external };
        let mut source = || {
            number += 1;
            lines
                .next()
                .filter(|line| !line.is_empty())
                .ok_or_else(|| SearchError::new(400, "ActionRequestValidationException", "Validation Failed: 1: no requests added;"))
        };
        let done: Result<(Indexed, u16, bool)> = match name.as_str() {
            "index" | "create" => {
                let source = source()?;
                index_document(shared, &index, &type_name, id.as_deref(), source, condition).map(|done| {
                    let status = if done.written.fresh { 201 } else { 200 };
                    (done, status, true)
                })
            }
            "delete" => {
                let id = id.clone().ok_or_else(|| missing("id"))?;
                delete_document(shared, &index, &type_name, &id, condition).map(|done| {
                    let (status, found) = if done.written.fresh { (200, true) } else { (404, false) };
                    (done, status, found)
                })
            }
            "update" => {
                let source = source()?;
                let id = id.clone().ok_or_else(|| missing("id"))?;
                let retries = ["_retry_on_conflict", "retry_on_conflict"].iter().find_map(|key| meta.get(*key)).and_then(Value::as_u64).unwrap_or(0);
                serde_json::from_slice(source)
                    .map_err(|error| SearchError::parse(error.to_string()))
                    .and_then(|body: Value| update(shared, &index, &type_name, &id, &body, version, retries))
                    .map(|updated| {
                        let status = if updated.indexed.written.fresh { 201 } else { 200 };
                        (updated.indexed, status, true)
                    })
            }
            other => {
                return Err(SearchError::illegal(format!(
                    "Malformed action/metadata line [{number}], expected one of [create, delete, index, update] but found [{other}]"
                )));
            }
        };
        // A document without an id can only be created, and is reported so.
        let shown_name = if id.is_none() && name == "index" { "create" } else { name };
        let item = match done {
            Ok((done, status, found)) => {
                if !touched.contains(&done.index) {
                    touched.push(done.index.clone());
                }
                let mut item = json!({"_index": done.index, "_type": type_name, "_id": done.id, "_version": done.written.version, "status": status});
                if name == "delete" {
                    item["found"] = json!(found);
                }
                item
            }
            Err(error) => {
                failed = true;
                json!({"_index": index, "_type": type_name, "_id": id, "status": error.status, "error": error.to_string()})
            }
        };
        let mut entry = Map::new();
        entry.insert(shown_name.to_owned(), item);
        items.push(Value::Object(entry));
    }
    if items.is_empty() {
        return Err(SearchError::new(400, "ActionRequestValidationException", "Validation Failed: 1: no requests added;"));
    }
    Ok((json!({"took": 0, "errors": failed, "items": items}), touched))
}
