//! The mapping APIs: get, put, delete, and mappings of single fields.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::described;
use crate::cluster::{Block, Expand, Index, refresh};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json;
use crate::mapping::{FieldType, TypeMapping, metadata_fields, with_defaults};
use crate::pattern;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// `GET [/index]/_mapping[/type]`.
pub(crate) fn get(shared: &Shared, request: &RestRequest, indices: &str, types: Option<&str>) -> Result<Answer> {
    let named = described(shared, request, indices)?;
    let wanted = types.unwrap_or_default();
    let is_all = matches!(wanted, "_all" | "*");
    let first = |list: &str| list.split(',').next().unwrap_or_default().to_owned();
    if is_all && named.is_empty() && !indices.is_empty() {
        return Err(SearchError::index_missing(&first(indices)));
    }
    let mut response = Map::new();
    for index in named {
        let all = index.mapping().describe();
        let kept: Map<String, Value> = all
            .into_iter()
            .filter(|(name, _)| types.is_none_or(|types| pattern::matches_any(types, name)))
            .collect();
        // An index without mappings is only shown if there is no list of types.
        if !kept.is_empty() || types.is_none() {
            response.insert(index.name.clone(), json!({"mappings": kept}));
        }
    }
    match (response.is_empty(), indices.is_empty(), wanted.is_empty()) {
        (true, true, false) => Err(SearchError::new(
            404,
            Exception::TypeMissing,
            format!("[_all] type[[{}]] missing", first(wanted)),
        )),
        _ => Ok(Answer::ok(response.into())),
    }
}

/// `HEAD /index/type`.
pub(crate) fn type_exists(shared: &Shared, request: &RestRequest, indices: &str, types: &str) -> Result<Answer> {
    let named = described(shared, request, indices);
    Answer::found(named.map(|named| {
        let has = |name: &str| named.iter().all(|index| index.mapping().type_mapping(name).is_some());
        !named.is_empty() && types.split(',').all(has)
    }))
}

/// `PUT /index/_mapping/type`.
pub(crate) fn put(shared: &Shared, request: &RestRequest, indices: &str, type_name: &str) -> Result<Answer> {
    request.check_timeouts()?;
    let source = request.body_or_source();
    if source.is_empty() {
        return Err(SearchError::validation("mapping source is empty"));
    }
    let now = (shared.cluster.options.ticks)();
    let named = shared.cluster.named(indices, request.expand_or(Expand::CHANGES)?)?;
    if json::derivable(source).is_err() {
        return Err(SearchError::null_pointer());
    }
    shared.cluster.check_blocks(&named, Block::Metadata)?;
    let failed = |error: SearchError| SearchError::parse("Failed to parse content to map").caused_by(error);
    let body = json::members(source).map_err(failed)?;
    if body.is_empty() {
        return Err(SearchError::mapping("malformed mapping no root object found"));
    }
    if type_name.starts_with('_') && type_name != "_default_" {
        let reason = "Document mapping type name can't start with '_'";
        return Err(SearchError::new(400, Exception::InvalidTypeName, reason));
    }
    if named.is_empty() {
        return Err(SearchError::new(500, Exception::NoSuchElement, "null"));
    }
    let body = Value::Object(body);
    for index in &named {
        // Before: operations in the translog must not be replayed under the new mapping, which may refuse them.
        index.save_changes(now)?;
        index.change_mapping(|mapping| mapping.put(type_name, &body, request.flag("ignore_conflicts")))?;
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged(request.acknowledged()?))
}

/// `DELETE /index/type` and `DELETE /index/_mapping/type`: deletes the mapping and the documents of a type.
pub(crate) fn delete(shared: &Shared, request: &RestRequest, indices: &str, types: &str) -> Result<Answer> {
    request.check_timeouts()?;
    let now = (shared.cluster.options.ticks)();
    let mut found = false;
    let named = shared.cluster.allowed(indices, request.expand()?, Block::Metadata)?;
    for index in &named {
        let names: Vec<String> = index
            .mapping()
            .type_names()
            .filter(|name| pattern::matches_any(types, name))
            .map(str::to_owned)
            .collect();
        for name in names {
            found |= index.change_mapping(|mapping| mapping.remove_type(&name));
            for shard in &index.shards {
                shard.forget_where(|type_name, _| type_name == name, now)?;
            }
        }
        refresh(&[&**index])?;
        index.save_changes(now)?;
    }
    if !found {
        return Err(SearchError::new(
            404,
            Exception::TypeMissing,
            format!(
                "[_all] type[[{}]] missing: No index has the type.",
                types.replace(',', ", ")
            ),
        ));
    }
    shared.cluster.changed(&named)?;
    Ok(Answer::acknowledged(request.acknowledged()?))
}

/// A field with its description.
struct DescribedField {
    /// Full name, name in the index, short name.
    names: [String; 3],
    description: Value,
}

/// Describes the fields of a type, with its metadata.
fn described_fields(type_mapping: &TypeMapping, defaults: bool) -> Vec<DescribedField> {
    let leaves = type_mapping.root.leaves().into_iter().map(|(name, node)| {
        let short = name.rsplit('.').next().unwrap_or(&name).to_owned();
        let own = node.field_type.setting("index_name").and_then(Value::as_str);
        let index_name = own.unwrap_or(&name).to_owned();
        let definition = match defaults {
            true => with_defaults(&short, node),
            false => node.describe(FieldType::describe),
        };
        DescribedField {
            description: json!({"full_name": name, "mapping": {&short: definition}}),
            names: [name, index_name, short],
        }
    });
    let metadata = metadata_fields(type_mapping).into_iter().map(|(name, settings)| {
        let mut inner = Map::new();
        match type_mapping.metadata(&name) {
            Some(own) if !defaults => drop(inner.insert(name.clone(), own.clone())),
            _ if defaults && !settings.is_null() => drop(inner.insert(name.clone(), settings)),
            _ => {}
        }
        let full_name = match name.as_str() {
            "_boost" => type_mapping.boost_name().to_owned(),
            _ => name,
        };
        DescribedField {
            description: json!({"full_name": full_name, "mapping": inner}),
            names: [full_name.clone(), full_name.clone(), full_name],
        }
    });
    leaves.chain(metadata).collect()
}

/// Adds the fields that a name or pattern stands for: by full name, else by name in the index, else by short name. A
/// name stands for one field, which is added by that name.
fn add_fields(wanted: &str, fields: &[DescribedField], found: &mut Map<String, Value>) {
    if wanted.contains('*') {
        for field in fields {
            if let Some(name) = field.names.iter().find(|name| pattern::matches(wanted, name)) {
                found.insert(name.clone(), field.description.clone());
            }
        }
        return;
    }
    let named = |kind: usize| {
        fields
            .iter()
            .find(|field| field.names.get(kind).is_some_and(|name| name == wanted))
    };
    if let Some(field) = (0..3).find_map(named) {
        found.insert(wanted.to_owned(), field.description.clone());
    }
}

/// `GET [/index]/_mapping[/type]/field/name`.
pub(crate) fn fields(
    shared: &Shared,
    request: &RestRequest,
    indices: &str,
    types: Option<&str>,
    fields: &str,
) -> Result<Answer> {
    let defaults = request.flag("include_defaults");
    let types = types.filter(|types| !matches!(*types, "*" | "_all"));
    let mut response = Map::new();
    let mut is_missing = false;
    let named = shared.cluster.named(indices, request.expand_or(Expand::METADATA)?)?;
    let is_pattern = |text: &str| text.contains([',', '*']);
    let is_single = named.len() == 1 && types.is_some_and(|types| !types.contains(',')) && !is_pattern(fields);
    let is_readable = |index: &&Arc<Index>| !index.is_closed() && index.check_block(Block::Read).is_ok();
    for index in named.iter().filter(is_readable) {
        let mapping = index.mapping();
        let mut by_type = Map::new();
        let mut has_type = types.is_none();
        for type_name in mapping
            .type_names()
            .filter(|name| types.is_none_or(|types| pattern::matches_any(types, name)))
        {
            let Some(type_mapping) = mapping.type_mapping(type_name) else {
                continue;
            };
            has_type = true;
            let described = described_fields(type_mapping, defaults);
            let mut found = Map::new();
            for wanted in fields.split(',') {
                add_fields(wanted, &described, &mut found);
            }
            // A single field that is missing has an empty mapping.
            if is_single && found.is_empty() {
                is_missing = true;
                found.insert(fields.to_owned(), json!({"full_name": "", "mapping": ""}));
            }
            if !found.is_empty() {
                by_type.insert(type_name.to_owned(), found.into());
            }
        }
        if has_type {
            response.insert(index.name.clone(), json!({"mappings": by_type}));
        }
    }
    let status = if response.is_empty() { 404 } else { 200 };
    // The request for it in one index, by name or pattern, has nothing to show.
    if is_missing && indices.split(',').filter(|name| !name.is_empty()).count() == 1 {
        response.clear();
    }
    Ok(Answer::json(status, response.into()))
}
