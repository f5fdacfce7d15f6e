//! Rules for replication controllers.

use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{meta, pod_spec, selector};
use crate::api::Object;

/// Judges a controller that is about to be made.
pub(super) fn create(controller: &Cursor, errors: &mut Errors) {
    meta::create(&controller.at("metadata"), true, NameRule::DnsSubdomain, errors);
    spec(&controller.at("spec"), errors);
}

/// Judges a change.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    create(new, errors);
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    spec(&new.at("spec"), errors);
}

/// Judges a change of status.
pub(super) fn update_status(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    for name in ["replicas", "fullyLabeledReplicas", "observedGeneration"] {
        new.at("status").at(name).require_nonnegative(errors);
    }
}

fn spec(at: &Cursor, errors: &mut Errors) {
    let (wanted, template, replicas) = (at.at("selector"), at.at("template"), at.at("replicas"));
    let selector = selector::of_map(&wanted);
    if selector.is_everything() {
        errors.push(wanted.required(""));
    }
    replicas.require_nonnegative(errors);
    if template.is_set() {
        let matched = selector.matches(template.at("metadata.labels").members().unwrap_or(&Object::new()));
        pod_spec::replicated_template(&template, matched, replicas.int(), errors);
    } else {
        errors.push(template.required(""));
    }
}
