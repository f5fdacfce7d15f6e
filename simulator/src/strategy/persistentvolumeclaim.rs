//! Persistent volume claims.

use serde_json::{Value, json};

use super::generic::Strategy;
use super::object::{drop_status, keep, set_status};
use super::persistentvolume::access_modes;
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{internal_form, internal_types, metadata, resources};
use crate::api::{FieldError, Object, meta};
use crate::rng::Rng;

/// Strategy of persistent volume claims.
pub(super) struct PersistentVolumeClaimStrategy;

impl Strategy for PersistentVolumeClaimStrategy {
    fn prepare_for_create(&self, claim: &mut Object, _: &Rng) {
        drop_status(claim);
    }

    fn validate(&self, claim: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&claim.at("metadata"), true, NameRule::DnsSubdomain, errors);
        let spec = claim.at("spec");
        access_modes(&spec.at("accessModes"), "at least 1 accessMode is required", errors);
        let resources = spec.at("resources");
        if resources.at("requests").member("storage").is_none() {
            errors.push(FieldError::required(&resources.path().key("storage"), ""));
        }
    }

    fn set_initial_status(&self, claim: &mut Object) {
        set_status(claim, json!({"phase": "Pending"}));
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
    }

    /// The specification of a bound claim is immutable.
    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        self.validate(new, group, errors);
        let (now, before) = (new.at("spec"), old.at("spec"));
        if !before.at("volumeName").text().is_empty()
            && !internal_form::same(&internal_types::CLAIM_SPEC, now.value(), before.value())
        {
            errors.push(now.forbidden("spec is immutable once a claim has been bound to a volume"));
        }
    }

    /// v1.2 validates a claim before it copies the old specification: the request must have access modes.
    fn prepare_for_status_update(&self, new: &mut Object, old: &Object) {
        let modes = meta::lookup(new, "spec.accessModes").and_then(Value::as_array);
        let has_modes = modes.is_some_and(|modes| !modes.is_empty());
        keep(new, old, "spec");
        if !has_modes {
            meta::child(new, "spec").shift_remove("accessModes");
        }
    }

    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        if new.at("metadata.resourceVersion").text().is_empty() {
            errors.push(new.at("resourceVersion").required(""));
        }
        let modes = new.at("spec").at("accessModes");
        if modes.is_empty() {
            errors.push(new.at("Spec.accessModes").required(""));
        }
        for (_, entry) in new.at("status.capacity").entries() {
            resources::basic(&entry, errors);
        }
    }

    /// v1.2 stores a new object without its phase. The next write adds it.
    fn hidden_state(&self, is_new: bool) -> &'static str {
        if is_new { "no phase" } else { "" }
    }

    fn returns_deleted(&self) -> bool {
        true
    }

    fn quota_resources(&self) -> &'static [&'static str] {
        &["persistentvolumeclaims"]
    }
}
