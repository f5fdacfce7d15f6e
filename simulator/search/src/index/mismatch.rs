//! Values of another form than the mapping expects: objects in fields, plain values in objects.
//!
//! Source: `ObjectMapper` and the field mappers of Elasticsearch 1.5, which read both as one stream of tokens.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::document::DocumentParser;
use crate::index::numbers::check_value;
use crate::json::{BODY, boolean_token, double, java_text, not_numeric, oversized, token_of, unreadable};
use crate::mapping::{Dynamic, FieldType, Kind, Node, ObjectNode, guess};

/// Returns the value and the boost within an object that stands for a field's value.
///
/// # Errors
/// A member other than the value and its boost, or a kind of field that has no such form.
pub(crate) fn boosted_value<'v>(field: &FieldType, object: &'v Map<String, Value>) -> Result<(&'v Value, f32)> {
    match field.kind {
        Kind::Boolean => {
            return Err(unreadable("Current token (START_OBJECT) not of boolean type", BODY));
        }
        Kind::Ip => {
            return Err(SearchError::illegal("failed to parse ip [{], not a valid ip address"));
        }
        _ => {}
    }
    let (mut found, mut boost) = (&Value::Null, 1.0);
    for (name, value) in object {
        match name.as_str() {
            "value" | "_value" => {
                // An invalid value has precedence over the members after it.
                if let Value::String(_) | Value::Bool(_) = value {
                    check_value(field, value, &java_text(value))?;
                }
                found = value;
            }
            "boost" | "_boost" => boost = boost_of(value)?,
            _ => return Err(SearchError::illegal(format!("unknown property [{name}]"))),
        }
    }
    match found {
        Value::Array(_) | Value::Object(_) if field.kind.is_numeric() => Err(not_numeric(token_of(found), BODY)),
        _ => Ok((found, boost)),
    }
}

/// Parses the boost of a value.
fn boost_of(value: &Value) -> Result<f32> {
    let boost = match value {
        Value::Number(boost) => boost.as_f64().unwrap_or(1.0),
        Value::String(boost) => double(boost)?,
        Value::Bool(boost) => return Err(not_numeric(boolean_token(*boost), BODY)),
        other => return Err(not_numeric(token_of(other), BODY)),
    };
    Ok(boost as f32)
}

/// Fails for a boost of a value of a field without norms.
pub(super) fn check_boost(field: &FieldType, boost: Option<f32>) -> Result<()> {
    let is_boosted = boost.is_some_and(|boost| boost != 1.0);
    if is_boosted && !field.norms && field.is_kept() {
        let reason = "You cannot set an index-time boost on an unindexed field, or one that omits norms";
        return Err(SearchError::argument(reason));
    }
    Ok(())
}

/// Returns the error for a field whose value cannot be parsed.
pub(super) fn unparsed(field: &str, cause: SearchError) -> SearchError {
    SearchError::mapping(format!("failed to parse [{field}]")).caused_by(cause)
}

/// Returns the error for a dynamic integer that overflows a long.
pub(super) fn unmappable_integer() -> SearchError {
    SearchError::mapping("failed to parse").caused_by(oversized())
}

/// Returns the error for a new field in an object that allows none.
pub(super) fn strict(name: &str, object: &str) -> SearchError {
    let reason = format!("mapping set to strict, dynamic introduction of [{name}] within [{object}] is not allowed");
    SearchError::new(400, Exception::StrictDynamicMapping, reason)
}

/// Returns the error for a plain value among the objects at a path.
pub(super) fn unnamed(path: &[String], value: &Value) -> SearchError {
    let name = path.last().map_or("", String::as_str);
    SearchError::mapping(format!(
        "object mapping [{name}] trying to serialize a value with no field associated with it, current value [{}]",
        java_text(value)
    ))
}

/// Returns whether a value is no object, no array and not null.
pub(super) fn is_plain(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Array(_) | Value::Object(_))
}

impl<'a> DocumentParser<'a> {
    /// Returns the error for a plain value of an object. Elasticsearch takes it and what follows for members of the
    /// object, and maps them before it fails.
    pub(super) fn misplaced(
        &mut self,
        path: &mut Vec<String>,
        node: &'a ObjectNode,
        value: &Value,
        following: &mut dyn Iterator<Item = (&String, &Value)>,
    ) -> SearchError {
        let read = self.own_value(path, node, value);
        let read = read.and_then(|()| self.members(path, Some(node), following));
        read.err()
            .unwrap_or_else(|| self.not_an_object(path.get(..1).unwrap_or_default()))
    }

    /// Reads a plain value of an object as its member of the same name.
    fn own_value(&mut self, path: &mut Vec<String>, node: &'a ObjectNode, value: &Value) -> Result<()> {
        let name = path.last().cloned().unwrap_or_default();
        let known = node.properties.get(&name);
        if known.is_none() && self.is_oversized(value) {
            return Err(unmappable_integer());
        }
        let policy = self.policy(Some(node));
        if known.is_none() && policy == Dynamic::Strict {
            return Err(strict(&name, &path.join(".")));
        }
        path.push(name.clone());
        match known {
            Some(Node::Field(_)) => self
                .value(path, known, value, false)
                .map_err(|error| match error.cause {
                    Some(cause) => unparsed(&name, *cause),
                    None => error,
                })?,
            None if policy == Dynamic::Yes => {
                if let Some(field) = guess(self.type_mapping, path, value)? {
                    self.add_unmapped(path, Node::Field(Box::new(field)))?;
                }
            }
            _ => {}
        }
        path.pop();
        Ok(())
    }

    /// Returns the error for a plain value at the path of an object.
    pub(super) fn not_an_object(&self, path: &[String]) -> SearchError {
        let name = path.last().map_or("", String::as_str);
        let object = self.object_name(path);
        SearchError::mapping(format!(
            "object mapping for [{object}] tried to parse field [{name}] as object, but got EOF, \
             has a concrete value been provided to it?"
        ))
    }

    /// Returns the name of the object that contains the member at a path.
    pub(super) fn object_name<'p>(&'p self, path: &'p [String]) -> &'p str {
        let above = path.split_last().and_then(|(_, above)| above.last());
        above.map_or(self.type_name, String::as_str)
    }

    /// Reads the items of an array. Plain values are no items of an object.
    pub(super) fn items(
        &mut self,
        path: &mut Vec<String>,
        known: Option<&'a Node>,
        items: &[Value],
        dynamic: bool,
    ) -> Result<()> {
        for item in items {
            match known {
                Some(Node::Object(node)) if is_plain(item) && node.enabled != Some(false) => {
                    return Err(unnamed(path, item));
                }
                _ => self.value(path, known, item, dynamic)?,
            }
        }
        Ok(())
    }
}
