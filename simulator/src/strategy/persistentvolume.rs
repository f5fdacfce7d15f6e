//! Persistent volumes.

use serde_json::json;

use super::generic::Strategy;
use super::object::{drop_status, keep, set_status};
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{internal_form, internal_types, metadata, resources, volumes};
use crate::api::{FieldError, Object};
use crate::rng::Rng;

/// Access modes, in the order of error texts.
pub(super) const ACCESS_MODES: [&str; 3] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"];

/// Strategy of persistent volumes.
pub(super) struct PersistentVolumeStrategy;

impl Strategy for PersistentVolumeStrategy {
    fn prepare_for_create(&self, volume: &mut Object, _: &Rng) {
        drop_status(volume);
    }

    fn validate(&self, volume: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&volume.at("metadata"), false, NameRule::DnsSubdomain, errors);
        let spec = volume.at("spec");
        access_modes(&spec.at("accessModes"), "", errors);
        let capacity = spec.at("capacity");
        if capacity.is_empty() {
            errors.push(capacity.required(""));
        }
        if capacity.member("storage").is_none() || capacity.len() > 1 {
            errors.push(FieldError::not_supported(
                capacity.path(),
                internal_form::show(&internal_types::RESOURCE_LIST, capacity.value()),
                &["storage"],
            ));
        }
        for (_, entry) in capacity.entries() {
            resources::basic(&entry, errors);
        }
        volumes::persistent(&spec, errors);
    }

    fn set_initial_status(&self, volume: &mut Object) {
        set_status(volume, json!({"phase": "Pending"}));
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
    }

    /// v1.2 validates everything twice, but does not check immutable fields.
    fn validate_update(&self, new: &Cursor, _: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        self.validate(new, group, errors);
    }

    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        if new.at("metadata.resourceVersion").text().is_empty() {
            errors.push(new.at("resourceVersion").required(""));
        }
    }

    /// v1.2 stores a new object without its phase. The next write adds it.
    fn hidden_state(&self, is_new: bool) -> &'static str {
        if is_new { "no phase" } else { "" }
    }

    fn returns_deleted(&self) -> bool {
        true
    }
}

/// Requires access modes at `at`. `required` is the error text if there are none.
pub(super) fn access_modes(at: &Cursor, required: &str, errors: &mut Errors) {
    if at.is_empty() {
        errors.push(at.required(required));
    }
    for mode in at.texts().filter(|mode| !ACCESS_MODES.contains(mode)) {
        errors.push(FieldError::not_supported(at.path(), mode, &ACCESS_MODES));
    }
}
