//! Rules for persistent volumes.

use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{forms, internal, meta, resources, volumes};
use crate::api::FieldError;

/// The ways to mount, in the order in which texts list them.
pub(super) const ACCESS_MODES: [&str; 3] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"];

/// Judges a volume that is about to be made.
pub(super) fn create(volume: &Cursor, errors: &mut Errors) {
    meta::create(&volume.at("metadata"), false, NameRule::DnsSubdomain, errors);
    let spec = volume.at("spec");
    access_modes(&spec.at("accessModes"), "", errors);
    let capacity = spec.at("capacity");
    if capacity.is_empty() {
        errors.push(capacity.required(""));
    }
    if capacity.member("storage").is_none() || capacity.len() > 1 {
        errors.push(FieldError::not_supported(
            capacity.path(),
            internal::show(&forms::RESOURCE_LIST, capacity.value()),
            &["storage"],
        ));
    }
    for (_, entry) in capacity.entries() {
        resources::basic(&entry, errors);
    }
    volumes::persistent(&spec, errors);
}

/// Judges a change. Everything is looked at twice, but not what may not change.
pub(super) fn update(new: &Cursor, errors: &mut Errors) {
    create(new, errors);
    create(new, errors);
}

/// Judges a change of status.
pub(super) fn update_status(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    if new.at("metadata.resourceVersion").text().is_empty() {
        errors.push(new.at("resourceVersion").required(""));
    }
}

/// Requires ways to mount at `at`, in the words `required` if there are none.
pub(super) fn access_modes(at: &Cursor, required: &str, errors: &mut Errors) {
    if at.is_empty() {
        errors.push(at.required(required));
    }
    for mode in at.texts().filter(|mode| !ACCESS_MODES.contains(mode)) {
        errors.push(FieldError::not_supported(at.path(), mode, &ACCESS_MODES));
    }
}
