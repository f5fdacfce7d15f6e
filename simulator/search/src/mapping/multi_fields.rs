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
fn unindexed(members: &Map<String, Value>) -> Map<String, Value> {
    let types = members
        .iter()
        .filter_map(|(name, own)| Some((name, type_of(own.as_object()?)?)));
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
        let has_none = |kind: Option<&str>| kind.and_then(Kind::named).is_some_and(|kind| !kind.has_multi_fields());
        let empty = Map::new();
        let members = match definition.get("fields") {
            _ if has_none(kind.as_deref()) => &empty,
            None => &empty,
            Some(Value::Object(members)) => members,
            Some(other) if is_older => return Err(not_a_map(other)),
            // Some types ignore the setting.
            Some(Value::Null) => &empty,
            Some(other) if is_empty_list(other) => &empty,
            Some(other) => {
                return Err(SearchError::mapping(format!(
                    "Expected map for property [fields] on field [{}] or [fields] but got a class {}",
                    java_text(other),
                    java_class(other)
                )));
            }
        };
        let mut own = if is_older {
            unindexed(members)
        } else {
            definition.clone()
        };
        let mut fields = IndexMap::default();
        for (other, definition) in members {
            let definition = match definition {
                Value::Object(definition) => definition,
                invalid if is_older => return Err(not_a_map(invalid)),
                _ => {
                    return Err(SearchError::mapping(format!(
                        "Illegal field [{other}], only fields can be specified inside fields"
                    )));
                }
            };
            let Some(kind) = type_of(definition) else {
                return Err(SearchError::mapping(format!(
                    "No type specified for property [{other}]"
                )));
            };
            if is_older && Kind::named(&kind).is_none() {
                let reason = format!("No handler for type [{kind}] declared on field [fields]");
                return Err(SearchError::mapping(reason));
            }
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
