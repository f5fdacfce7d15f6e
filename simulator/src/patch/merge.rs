//! Merge patch: a document of what differs.
//!
//! Objects are merged, null removes, anything else replaces.
//! Promises: applying a patch twice is applying it once. Limits: a patch cannot set a null, nor change an item of a list.
//! Source of semantics: RFC 7386. What v1.2 makes of such a patch is [`crate::compat::json_patch`].

use serde_json::{Map, Value};

use super::PatchError;

/// `document` with `patch` merged into it; a patch that is no object is refused.
pub(super) fn apply(document: Value, patch: &[u8]) -> Result<Value, PatchError> {
    match serde_json::from_slice(patch) {
        Ok(patch @ Value::Object(_)) => Ok(merge(document, patch)),
        _ => Err(PatchError::Malformed("Invalid JSON Patch".to_owned())),
    }
}

/// `target` with `patch` merged into it, as RFC 7386 defines it for any two values.
fn merge(target: Value, patch: Value) -> Value {
    let Value::Object(patch) = patch else { return patch };
    let mut merged = match target {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    for (name, value) in patch {
        if value.is_null() {
            merged.shift_remove(&name);
        } else if let Some(place) = merged.get_mut(&name) {
            *place = merge(place.take(), value);
        } else {
            merged.insert(name, merge(Value::Null, value));
        }
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests;
