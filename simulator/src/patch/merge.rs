//! Merge patch: a partial document to be merged.
//!
//! - Objects are merged, null removes, any other value replaces.
//! - Guarantee: a patch is idempotent.
//! - Limits: a patch cannot set a null, nor change a single list item.
//! - Source of the semantics: RFC 7386. For v1.2's behaviour see [`crate::compat::json_patch`].

use serde_json::{Map, Value};

use super::PatchError;

/// Merges `patch` into `document`. Fails if the patch is not an object.
pub(super) fn apply(document: Value, patch: &[u8]) -> Result<Value, PatchError> {
    match serde_json::from_slice(patch) {
        Ok(patch @ Value::Object(_)) => Ok(merge(document, patch)),
        _ => Err(PatchError::Malformed("Invalid JSON Patch".to_owned())),
    }
}

/// Merges `patch` into `target` as in RFC 7386, for any two values.
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
