//! Access to metadata and other fields of an object's tree.

use serde_json::Value;

use super::Object;

/// String at a dotted `path` below `object`. Empty if it is absent: the wire format omits empty strings.
pub(crate) fn text<'a>(object: &'a Object, path: &str) -> &'a str {
    lookup(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// Value at a dotted `path` below `object`.
pub(crate) fn lookup<'a>(object: &'a Object, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let first = object.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// Metadata of the object. Created if it is missing.
pub(crate) fn metadata(object: &mut Object) -> &mut Object {
    child(object, "metadata")
}

/// Map under `key`. Created if it is missing.
pub(crate) fn child<'a>(object: &'a mut Object, key: &str) -> &'a mut Object {
    let value = object.entry(key).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Object::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// Sets a string in the object's metadata. An empty value removes the field.
pub(crate) fn set(object: &mut Object, field: &str, value: &str) {
    let meta = metadata(object);
    if value.is_empty() {
        meta.shift_remove(field);
    } else {
        meta.insert(field.to_owned(), value.into());
    }
}
