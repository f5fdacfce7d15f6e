//! Rules for claims to persistent volumes.

use super::persistentvolume::access_modes;
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{forms, internal, meta, resources};
use crate::api::FieldError;

/// Judges a claim that is about to be made.
pub(super) fn create(claim: &Cursor, errors: &mut Errors) {
    meta::create(&claim.at("metadata"), true, NameRule::DnsSubdomain, errors);
    let spec = claim.at("spec");
    access_modes(&spec.at("accessModes"), "at least 1 accessMode is required", errors);
    let resources = spec.at("resources");
    if resources.at("requests").member("storage").is_none() {
        errors.push(FieldError::required(&resources.path().key("storage"), ""));
    }
}

/// Judges a change: a claim that has its volume stays as it is.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    create(new, errors);
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    create(new, errors);
    let (now, before) = (new.at("spec"), old.at("spec"));
    if !before.at("volumeName").text().is_empty() && !internal::same(&forms::CLAIM_SPEC, now.value(), before.value()) {
        errors.push(now.forbidden("spec is immutable once a claim has been bound to a volume"));
    }
}

/// Judges a change of status.
pub(super) fn update_status(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
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
