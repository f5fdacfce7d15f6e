//! Rules for metadata: names, namespaces, labels, annotations, immutable fields.

use super::cursor::{Cursor, Errors, IMMUTABLE};
use super::name::{self, NameRule};
use crate::api::FieldError;

/// Maximum size of keys and values of all annotations of an object, in bytes.
const MAX_ANNOTATIONS_BYTES: usize = 256 << 10;

/// Validates the metadata at `meta` of a new object.
pub(crate) fn create(meta: &Cursor, namespaced: bool, rule: NameRule, errors: &mut Errors) {
    let prefix = meta.at("generateName");
    if let Some(Err(want)) = (!prefix.text().is_empty()).then(|| rule.prefix(prefix.text())) {
        errors.push(prefix.invalid(prefix.text(), want));
    }
    let own_name = meta.at("name");
    if own_name.text().is_empty() {
        errors.push(own_name.required("name or generateName is required"));
    } else if let Err(want) = rule.name(own_name.text()) {
        errors.push(own_name.invalid(own_name.text(), want));
    }
    namespace(&meta.at("namespace"), namespaced, errors);
    meta.at("generation").require_nonnegative(errors);
    labels(&meta.at("labels"), errors);
    annotations(&meta.at("annotations"), errors);
}

fn namespace(at: &Cursor, namespaced: bool, errors: &mut Errors) {
    match (namespaced, at.text()) {
        (true, "") => errors.push(at.required("")),
        (true, text) => {
            if let Err(want) = name::dns_label(text) {
                errors.push(at.invalid(text, want));
            }
        }
        (false, "") => {}
        (false, _) => errors.push(at.forbidden("not allowed on this type")),
    }
}

/// Validates a change of metadata from `old` to `new`.
///
/// Values that v1.2 replaces instead of rejecting count as unchanged: an empty UID, any creationTimestamp, an absent
/// deletionGracePeriodSeconds. Some kinds call this with old and new exchanged, after that replacement, so an empty
/// UID on either side is no change.
pub(crate) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    let grace = new.at("deletionGracePeriodSeconds");
    if let (Some(now), Some(before)) = (
        grace.optional_int(),
        old.at("deletionGracePeriodSeconds").optional_int(),
    ) && now != before
    {
        errors.push(grace.invalid(now, "field is immutable; may only be changed via deletion"));
    }
    let version = new.at("resourceVersion");
    if version.text().is_empty() {
        errors.push(version.invalid("", "must be specified for an update"));
    }
    immutable_text(&new.at("name"), &old.at("name"), errors);
    immutable_text(&new.at("namespace"), &old.at("namespace"), errors);
    let [uid, before] = [new, old].map(|meta| meta.at("uid"));
    if !uid.text().is_empty() && !before.text().is_empty() {
        immutable_text(&uid, &before, errors);
    }
    labels(&new.at("labels"), errors);
    annotations(&new.at("annotations"), errors);
}

/// Requires the string at `new` to equal that at `old`.
pub(crate) fn immutable_text(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    if new.text() != old.text() {
        errors.push(new.invalid(new.text(), IMMUTABLE));
    }
}

/// Validates the labels at `at`. As in v1.2, every error is reported at the map itself.
pub(crate) fn labels(at: &Cursor, errors: &mut Errors) {
    for (key, value) in at.entries() {
        label_key(at, key, errors);
        if let Err(want) = name::label_value(value.text()) {
            errors.push(at.invalid(value.text(), want));
        }
    }
}

/// Validates a label key. Errors are reported at `at`.
pub(crate) fn label_key(at: &Cursor, key: &str, errors: &mut Errors) {
    if let Err(want) = name::qualified_name(key) {
        errors.push(at.invalid(key, want));
    }
}

/// Validates the annotations at `at`: their keys (case-insensitively) and their total size.
pub(crate) fn annotations(at: &Cursor, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in at.entries() {
        if let Err(want) = name::qualified_name(&key.to_lowercase()) {
            errors.push(at.invalid(key, want));
        }
        size += key.len() + value.text().len();
    }
    if size > MAX_ANNOTATIONS_BYTES {
        errors.push(FieldError::too_long(at.path(), "", MAX_ANNOTATIONS_BYTES));
    }
}
