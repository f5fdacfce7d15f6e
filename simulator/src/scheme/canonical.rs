//! The one form in which an object is kept and sent: fields in the order of their type, maps sorted, the empty left out where it is left out.
//!
//! Promises: what is canonical stays as it is.
//! Source of semantics: Go's `encoding/json` on the reference's types: an empty value goes where its field says `omitempty`, but an object by value
//! is never empty; nil is null.

use serde_json::{Map, Value};

use super::types::{Field, Shape, Struct};

/// Brings an object of type `of`, without its kind and version, into its canonical form. What has it already is only looked at.
pub(super) fn structure(of: &Struct, object: &mut Map<String, Value>) {
    if in_order(of, object) {
        return;
    }
    let mut given = std::mem::replace(object, Map::with_capacity(of.fields.len()));
    for field in &of.fields {
        let (name, mut found) = given
            .remove_entry(field.name)
            .unwrap_or_else(|| (field.name.to_owned(), Value::Null));
        value(&field.shape, &mut found);
        if !left_out(field, &found) {
            object.insert(name, found);
        }
    }
}

/// Whether the fields are those that are to be there, in their order; brings their values into canonical form as far as they are.
fn in_order(of: &Struct, object: &mut Map<String, Value>) -> bool {
    let mut entries = object.iter_mut().peekable();
    of.fields
        .iter()
        .all(|field| match entries.next_if(|(name, _)| *name == field.name) {
            Some((_, found)) => {
                value(&field.shape, found);
                !left_out(field, found)
            }
            None => field.omit_empty && !always_there(&field.shape),
        })
        && entries.next().is_none()
}

fn value(shape: &Shape, given: &mut Value) {
    match (shape, given) {
        (Shape::Pointer(_), Value::Null) => {}
        (Shape::Pointer(of), given) => value(of, given),
        (Shape::Struct(of), Value::Object(fields)) => structure(of, fields),
        (Shape::List(of), Value::Array(items)) => items.iter_mut().for_each(|item| value(of, item)),
        (Shape::Map(of), Value::Object(entries)) => {
            entries.values_mut().for_each(|entry| value(of, entry));
            if !entries.keys().is_sorted() {
                entries.sort_keys();
            }
        }
        (Shape::Struct(_), given) => *given = zero(shape),
        (shape, given @ Value::Null) => *given = zero(shape),
        _ => {}
    }
}

/// What a field that is not there stands for.
fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::Text { .. } => "".into(),
        Shape::Int(_) | Shape::IntOrString => 0.into(),
        Shape::Bool => false.into(),
        Shape::Quantity => "0".into(),
        Shape::Struct(of) => {
            let mut fields = Map::new();
            structure(of, &mut fields);
            Value::Object(fields)
        }
        Shape::Bytes | Shape::Time | Shape::Raw | Shape::List(_) | Shape::Map(_) | Shape::Pointer(_) => Value::Null,
    }
}

/// Whether the field is not there if this is its value.
fn left_out(field: &Field, value: &Value) -> bool {
    field.omit_empty && is_empty(&field.shape, value)
}

/// Whether `omitempty` never leaves a value of this shape out.
fn always_there(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::Struct(_) | Shape::Time | Shape::IntOrString | Shape::Quantity
    )
}
/// Whether `omitempty` leaves the value out.
fn is_empty(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (shape, _) if always_there(shape) => false,
        (Shape::Pointer(_), value) => value.is_null(),
        (_, Value::Null) => true,
        (_, Value::Bool(given)) => !given,
        (_, Value::Number(number)) => number.as_i64() == Some(0),
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(entries)) => entries.is_empty(),
    }
}
