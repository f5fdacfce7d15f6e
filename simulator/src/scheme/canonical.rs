//! Typed form of objects, for validation and comparison, and canonical form, for storage and responses.
//!
//! - In both forms, fields are in the order of their type and maps are sorted by key. The canonical form omits empty
//!   values if the type says so. The typed form keeps empty lists and maps that were set: v1.2 distinguishes them
//!   from absent ones until it stores the object.
//! - Guarantees: both functions are idempotent; the canonical form of the typed form is the canonical form of the
//!   object.
//! - Source of the semantics: Go's `encoding/json` on v1.2's types. An empty value is omitted if its field has
//!   `omitempty`; a struct is never empty; nil is null.

use serde_json::{Map, Value};

use super::types::{Field, FieldType, StructType, Types};
use crate::compat::time;

/// Form of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Keeps empty lists and maps, and zero times.
    Typed,
    /// Omits all empty values.
    Canonical,
}

/// Converts an object of type `of` to a form, with the texts of `head` (kind and version) before its fields. Copies
/// nothing if the object has that form already.
pub(super) fn structure(
    types: &Types,
    of: &StructType,
    object: &mut Map<String, Value>,
    form: Form,
    head: &[(&str, &str)],
) {
    if in_order(types, of, object, form, head) {
        return;
    }
    // A linear search over a few names is faster than a map, which hashes each of them.
    let given = std::mem::replace(object, Map::with_capacity(head.len() + of.fields.len()));
    let mut given: Vec<(String, Value)> = given.into_iter().collect();
    for (name, text) in head {
        object.insert((*name).to_owned(), (*text).into());
    }
    for field in &of.fields {
        let (name, mut found) = match given.iter().position(|(name, _)| **name == *field.name) {
            Some(place) => given.swap_remove(place),
            None if field.omit_empty && !never_empty(&field.field_type) => continue,
            None => (field.name.to_string(), Value::Null),
        };
        value(types, &field.field_type, &mut found, form);
        if !is_omitted(field, &found, form) {
            object.insert(name, found);
        }
    }
}

/// Returns whether the fields are complete and in order. Converts the values to the form, up to the first field that
/// is not in order.
fn in_order(
    types: &Types,
    of: &StructType,
    object: &mut Map<String, Value>,
    form: Form,
    head: &[(&str, &str)],
) -> bool {
    let mut entries = object.iter_mut().peekable();
    let mut is_next = |(name, text): &(&str, &str)| {
        let entry = entries.next_if(|(key, value)| key == name && value.as_str() == Some(text));
        entry.is_some()
    };
    head.iter().all(&mut is_next)
        && of
            .fields
            .iter()
            .all(|field| match entries.next_if(|(name, _)| **name == *field.name) {
                Some((_, found)) => {
                    value(types, &field.field_type, found, form);
                    !is_omitted(field, found, form)
                }
                None => field.omit_empty && !never_empty(&field.field_type),
            })
        && entries.next().is_none()
}

fn value(types: &Types, of: &FieldType, given: &mut Value, form: Form) {
    match (of, given) {
        (FieldType::Pointer(_), Value::Null) => {}
        (FieldType::Pointer(inner), given) => value(types, inner, given, form),
        (FieldType::Struct(id), Value::Object(fields)) => structure(types, types.get(*id), fields, form, &[]),
        (FieldType::List(items), Value::Array(given)) => {
            given.iter_mut().for_each(|item| value(types, items, item, form));
        }
        (FieldType::Map(values), Value::Object(entries)) => {
            entries.values_mut().for_each(|entry| value(types, values, entry, form));
            if !entries.keys().is_sorted() {
                entries.sort_keys();
            }
        }
        (FieldType::Struct(_), given) => *given = zero(types, of, form),
        (of, given @ Value::Null) => *given = zero(types, of, form),
        (FieldType::Time, given) if form == Form::Canonical && *given == time::ZERO => *given = Value::Null,
        _ => {}
    }
}

/// Value of an absent field.
fn zero(types: &Types, of: &FieldType, form: Form) -> Value {
    match of {
        FieldType::String { .. } => "".into(),
        FieldType::Int(_) | FieldType::IntOrString => 0.into(),
        FieldType::Bool => false.into(),
        FieldType::Quantity => "0".into(),
        FieldType::Struct(id) => {
            let mut fields = Map::new();
            structure(types, types.get(*id), &mut fields, form, &[]);
            Value::Object(fields)
        }
        FieldType::Bytes
        | FieldType::Time
        | FieldType::Raw
        | FieldType::List(_)
        | FieldType::Map(_)
        | FieldType::Pointer(_) => Value::Null,
    }
}

/// Whether the form omits the field with this value.
fn is_omitted(field: &Field, value: &Value, form: Form) -> bool {
    let is_kept = form == Form::Typed && matches!(value, Value::Array(_) | Value::Object(_));
    field.omit_empty && !is_kept && is_empty(&field.field_type, value)
}

/// Whether `omitempty` never omits a value of this type.
fn never_empty(of: &FieldType) -> bool {
    matches!(
        of,
        FieldType::Struct(_) | FieldType::Time | FieldType::IntOrString | FieldType::Quantity
    )
}

/// Whether `omitempty` omits the value.
fn is_empty(of: &FieldType, value: &Value) -> bool {
    match (of, value) {
        (of, _) if never_empty(of) => false,
        (FieldType::Pointer(_), value) => value.is_null(),
        (_, Value::Null) => true,
        (_, Value::Bool(given)) => !given,
        (_, Value::Number(number)) => number.as_i64() == Some(0),
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(entries)) => entries.is_empty(),
    }
}
