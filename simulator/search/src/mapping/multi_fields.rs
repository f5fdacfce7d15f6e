//! Definitions of fields with their multi-fields, in both forms: `fields` of a field, and the type `multi_field`.
//!
//! Source: `TypeParsers.parseMultiField` of Elasticsearch 1.5.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::Kind;
use super::contexts::Contexts;
use super::field::{FieldType, type_of};
use super::point_fields;
use super::tree::{FieldNode, is_empty_list};
use crate::error::{Result, SearchError};
use crate::json::{java_class, java_text, not_a_map};
use crate::ties::in_hash_order;

/// The older form: a field and its multi-fields are the members of `fields`.
const MULTI_FIELD: &str = "multi_field";

/// Returns the definition of the field itself, if none of the members of `fields` in the older form defines it: it has
/// the type of the first of them, and is not indexed.
fn unindexed(members: Option<&Map<String, Value>>) -> Map<String, Value> {
    let members = members.into_iter().flatten();
    let types = members.filter_map(|(name, own)| Some((name, type_of(own.as_object()?)?)));
    let types = in_hash_order(types.collect(), |(name, _)| (*name).clone());
    let first = types.into_iter().map(|(_, kind)| kind).next();
    let first = first
        .filter(|kind| kind != MULTI_FIELD)
        .unwrap_or_else(|| "string".to_owned());
    let mut own = Map::new();
    if Kind::named(&first).is_some_and(|kind| kind.has_setting("index")) {
        own.insert("index".to_owned(), "no".into());
    }
    own.insert("type".to_owned(), first.into());
    own
}

/// Returns whether fields of a type cannot have multi-fields.
fn has_none(kind: Option<&str>) -> bool {
    kind.and_then(Kind::named).is_some_and(|kind| !kind.has_multi_fields())
}

/// Returns the setting `fields` of a definition, if it counts.
fn members_of<'a>(definition: &'a Map<String, Value>, kind: Option<&str>) -> Result<Option<&'a Map<String, Value>>> {
    match definition.get("fields") {
        _ if has_none(kind) => Ok(None),
        None => Ok(None),
        Some(Value::Object(members)) => Ok(Some(members)),
        Some(other) if kind == Some(MULTI_FIELD) => Err(not_a_map(other)),
        // Some types ignore the setting.
        Some(Value::Null) => Ok(None),
        Some(other) if is_empty_list(other) => Ok(None),
        Some(other) => Err(SearchError::mapping(format!(
            "Expected map for property [fields] on field [{}] or [fields] but got a class {}",
            java_text(other),
            java_class(other)
        ))),
    }
}

/// Returns the definition of a member of `fields`, and its type.
fn member<'a>(name: &str, definition: &'a Value, is_older: bool) -> Result<(&'a Map<String, Value>, String)> {
    let definition = match definition {
        Value::Object(definition) => definition,
        invalid if is_older => return Err(not_a_map(invalid)),
        _ => {
            return Err(SearchError::mapping(format!(
                "Illegal field [{name}], only fields can be specified inside fields"
            )));
        }
    };
    match type_of(definition) {
        None => Err(SearchError::mapping(format!("No type specified for property [{name}]"))),
        Some(kind) if is_older && Kind::named(&kind).is_none() => Err(SearchError::mapping(format!(
            "No handler for type [{kind}] declared on field [fields]"
        ))),
        Some(kind) => Ok((definition, kind)),
    }
}

impl FieldNode {
    /// Parses the field at a path.
    pub(super) fn parse_at(name: &str, path: &str, definition: &Map<String, Value>) -> Result<FieldNode> {
        let node = FieldNode::parse(name, definition)?;
        node.check_doc_values(path)?;
        Ok(node)
    }

    fn parse(name: &str, definition: &Map<String, Value>) -> Result<FieldNode> {
        let kind = type_of(definition);
        let is_older = kind.as_deref() == Some(MULTI_FIELD);
        let members = members_of(definition, kind.as_deref())?;
        let mut own = if is_older {
            unindexed(members)
        } else {
            definition.clone()
        };
        let mut fields = IndexMap::default();
        for (other, definition) in members.into_iter().flatten() {
            let (definition, kind) = member(other, definition, is_older)?;
            if is_older && other == name && kind != MULTI_FIELD {
                own = definition.clone();
            } else {
                fields.insert(other.clone(), FieldNode::parse(other, definition)?);
            }
        }
        if is_older {
            own.extend(definition.get("path").map(|path| ("path".to_owned(), path.clone())));
            if has_none(type_of(&own).as_deref()) {
                fields.clear();
            }
        }
        let field_type = FieldType::parse(name, &own)?;
        if field_type.kind == Kind::Completion {
            Contexts::parse(field_type.setting("context"))?;
        }
        for (other, subfield) in point_fields::subfields(&field_type)? {
            fields.insert(other.to_owned(), FieldNode::of(subfield));
        }
        Ok(FieldNode { field_type, fields })
    }
}
