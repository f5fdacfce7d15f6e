//! Helpers of several strategies that change an object.

use std::sync::LazyLock;

use serde_json::Value;

use crate::api::{Object, meta};

/// Copies `field` from `old` to `new`.
pub(super) fn keep(new: &mut Object, old: &Object, field: &str) {
    match old.get(field) {
        Some(value) => drop(new.insert(field.to_owned(), value.clone())),
        None => drop(new.shift_remove(field)),
    }
}

/// Metadata of `object`. Empty if it has none.
pub(super) fn metadata_of(object: &Object) -> &Object {
    static NONE: LazyLock<Object> = LazyLock::new(Object::new);
    object.get("metadata").and_then(Value::as_object).unwrap_or(&NONE)
}

/// Removes the status of a new object.
pub(super) fn drop_status(object: &mut Object) {
    object.shift_remove("status");
}

/// Sets the status of an object.
pub(super) fn set_status(object: &mut Object, status: Value) {
    object.insert("status".to_owned(), status);
}

/// Sets the generation.
pub(super) fn set_generation(object: &mut Object, generation: i64) {
    meta::metadata(object).insert("generation".to_owned(), generation.into());
}

/// Sets the generation of `object` to that of `old` plus one.
pub(super) fn next_generation(object: &mut Object, old: &Object) {
    let generation = meta::lookup(old, "metadata.generation")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    set_generation(object, generation.wrapping_add(1));
}

/// Whether the specification differs from that of `old`. An empty list or map differs from an absent one.
pub(super) fn spec_differs(new: &Object, old: &Object) -> bool {
    new.get("spec") != old.get("spec")
}

/// Removes the status of a new object and sets its generation to 1.
pub(super) fn prepare_generations(object: &mut Object) {
    drop_status(object);
    set_generation(object, 1);
}

/// Copies the status from `old`, and increments the generation if the specification differs.
pub(super) fn count_generation(new: &mut Object, old: &Object) {
    keep(new, old, "status");
    if spec_differs(new, old) {
        next_generation(new, old);
    }
}

/// Adds the entries of the map at `path` of `from` to the annotations of `object`.
pub(super) fn add_annotations(object: &mut Object, from: &Object, path: &str) {
    if let Some(annotations) = meta::lookup(from, path).and_then(Value::as_object) {
        let all = meta::child(meta::metadata(object), "annotations");
        all.extend(annotations.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
}
