//! Dynamic mapping: the kind of a field from the first value that is seen of it.

use serde_json::{Map, Value};

use super::field::{FieldType, Kind};
use super::tree::{FieldNode, TypeMapping};
use crate::dates::{DateFormat, detect};
use crate::error::Result;
use crate::pattern;

/// The field that `value` would make at `path`, or none if it says nothing (null, empty list).
pub(crate) fn guess(mapping: &TypeMapping, path: &[String], value: &Value) -> Result<Option<FieldNode>> {
    let (kind, format) = match value {
        Value::Bool(_) => (Kind::Boolean, None),
        Value::Number(number) if number.is_f64() => (Kind::Double, None),
        Value::Number(_) => (Kind::Long, None),
        Value::String(text) => of_text(mapping, text),
        Value::Null | Value::Array(_) | Value::Object(_) => return Ok(None),
    };
    let name = path.last().map_or("", String::as_str);
    if let Some(definition) = template(mapping, path, name, kind) {
        return FieldNode::parse(name, &definition).map(Some);
    }
    Ok(Some(FieldNode::of(match format {
        Some(format) => FieldType::detected_date(format),
        None => FieldType::of(kind),
    })))
}

fn of_text(mapping: &TypeMapping, text: &str) -> (Kind, Option<DateFormat>) {
    if mapping.date_detection
        && let Some(format) = detect(text, &mapping.date_formats)
    {
        return (Kind::Date, Some(format));
    }
    if mapping.numeric_detection {
        if text.parse::<i64>().is_ok() {
            return (Kind::Long, None);
        }
        if text.parse::<f64>().is_ok_and(f64::is_finite) {
            return (Kind::Double, None);
        }
    }
    (Kind::String, None)
}

/// The definition that the first fitting dynamic template gives.
fn template(mapping: &TypeMapping, path: &[String], name: &str, kind: Kind) -> Option<Map<String, Value>> {
    let full = path.join(".");
    let fits = |template: &&Map<String, Value>| {
        let accepts = |key: &str, text: &str| {
            template
                .get(key)
                .and_then(Value::as_str)
                .is_none_or(|wanted| pattern::matches(wanted, text))
        };
        let rejects = |key: &str, text: &str| {
            template
                .get(key)
                .and_then(Value::as_str)
                .is_some_and(|unwanted| pattern::matches(unwanted, text))
        };
        accepts("match", name)
            && !rejects("unmatch", name)
            && accepts("path_match", &full)
            && !rejects("path_unmatch", &full)
            && accepts("match_mapping_type", kind.name())
    };
    let found = mapping.templates.iter().find(fits)?;
    let mut definition = fill(found.get("mapping")?, name, kind);
    let Value::Object(definition) = &mut definition else {
        return None;
    };
    definition.entry("type").or_insert_with(|| kind.name().into());
    Some(std::mem::take(definition))
}

fn fill(value: &Value, name: &str, kind: Kind) -> Value {
    match value {
        Value::String(text) => Value::String(
            text.replace("{name}", name)
                .replace("{dynamic_type}", kind.name())
                .replace("{dynamicType}", kind.name()),
        ),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.replace("{name}", name), fill(value, name, kind)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(|item| fill(item, name, kind)).collect()),
        other => other.clone(),
    }
}
