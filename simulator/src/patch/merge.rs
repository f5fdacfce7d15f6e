//! Merge patch: a document of what differs.
//!
//! Under the documented profile it is RFC 7386: objects are merged, null removes, anything else replaces. Under the recorded one, v1.2's library of early 2016:
//! the same but that a list that comes new, or in the place of anything but an object, loses its nulls and those of the objects in it, that a list in the place of an
//! object is taken as it is, and that a patch that is no object is refused (`Invalid JSON Patch`), or, if it is a list, taken for the whole document.
//! Promises: applying a patch twice is applying it once. Limits: a patch cannot set a null, nor change an item of a list.
//! Source of semantics: RFC 7386; `patches.har` of the recordings.

use serde_json::{Map, Value};

use super::PatchError;
use crate::profile::Profile;

/// `document` with `patch` merged into it.
pub fn apply(mut document: Value, patch: &[u8], profile: Profile) -> Result<Value, PatchError> {
    let malformed = || PatchError::Malformed("Invalid JSON Patch".to_owned());
    let patch: Value = serde_json::from_slice(patch).map_err(|_| malformed())?;
    if profile.full_merge_patch() {
        return if patch.is_object() {
            Ok(merge(document, patch))
        } else {
            Err(malformed())
        };
    }
    match (&mut document, patch) {
        (Value::Object(map), Value::Object(patch)) => {
            merge_recorded(map, patch);
            Ok(document)
        }
        (_, patch @ (Value::Object(_) | Value::Array(_))) => Ok(pruned(patch)),
        _ => Err(malformed()),
    }
}

/// `target` with `patch` merged into it, as RFC 7386 defines it for any two values.
pub fn merge(target: Value, patch: Value) -> Value {
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

/// The same as v1.2 does it. What it has gone through it writes anew, with sorted names.
fn merge_recorded(target: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, value) in patch {
        match target.get_mut(&name) {
            _ if value.is_null() => {
                target.shift_remove(&name);
            }
            Some(Value::Object(place)) => match value {
                Value::Object(value) => merge_recorded(place, value),
                other => {
                    target.insert(name, other);
                }
            },
            _ => {
                target.insert(name, pruned(value));
            }
        }
    }
    target.sort_keys();
}

/// `value` without its nulls.
fn pruned(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut map: Map<String, Value> = map
                .into_iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(k, v)| (k, pruned(v)))
                .collect();
            map.sort_keys();
            Value::Object(map)
        }
        Value::Array(items) => Value::Array(items.into_iter().filter(|v| !v.is_null()).map(pruned).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
