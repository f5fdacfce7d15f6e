//! The one form in which an object is kept and sent: fields in the order of their type, maps sorted, the empty left out where it is left out.
//!
//! Promises: what is canonical stays as it is.
//! Source of semantics: Go's `encoding/json` on the reference's types: an empty value goes where its field says `omitempty`, but an object by value
//! is never empty; nil is null.

use serde_json::{Map, Value};

use super::types::{Shape, Struct};

/// The canonical form of an object of type `of`, without its kind and version.
pub(super) fn structure(of: &Struct, mut given: Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::with_capacity(of.fields.len());
    for field in &of.fields {
        let value = value(&field.shape, given.remove(field.name).unwrap_or(Value::Null));
        if !(field.omit_empty && is_empty(&field.shape, &value)) {
            out.insert(field.name.to_owned(), value);
        }
    }
    out
}

fn value(shape: &Shape, given: Value) -> Value {
    match (shape, given) {
        (Shape::Pointer(_), Value::Null) => Value::Null,
        (Shape::Pointer(of), given) => value(of, given),
        (Shape::Struct(of), Value::Object(fields)) => Value::Object(structure(of, fields)),
        (Shape::Struct(of), _) => Value::Object(structure(of, Map::new())),
        (Shape::List(of), Value::Array(items)) => Value::Array(items.into_iter().map(|item| value(of, item)).collect()),
        (Shape::Map(of), Value::Object(entries)) => {
            let mut entries: Vec<(String, Value)> = entries.into_iter().map(|(key, given)| (key, value(of, given))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        (shape, Value::Null) => zero(shape),
        (_, given) => given,
    }
}

/// What a field that is not there stands for.
fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::Text { .. } => "".into(),
        Shape::Int(_) | Shape::IntOrString => 0.into(),
        Shape::Bool => false.into(),
        Shape::Quantity => "0".into(),
        Shape::Struct(of) => Value::Object(structure(of, Map::new())),
        Shape::Bytes | Shape::Time | Shape::Raw | Shape::List(_) | Shape::Map(_) | Shape::Pointer(_) => Value::Null,
    }
}

/// Whether `omitempty` leaves the value out.
fn is_empty(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::Struct(_) | Shape::Time | Shape::IntOrString | Shape::Quantity, _) => false,
        (Shape::Pointer(_), value) => value.is_null(),
        (_, Value::Null) => true,
        (_, Value::Bool(given)) => !given,
        (_, Value::Number(number)) => number.as_i64() == Some(0),
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(entries)) => entries.is_empty(),
    }
}
