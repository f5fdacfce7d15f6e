//! Rules for replica sets, and those they share with deployments.

use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{forms, internal, meta, pod_spec, selector};

/// Judges a set that is about to be made.
pub(super) fn create(set: &Cursor, errors: &mut Errors) {
    meta::create(&set.at("metadata"), true, NameRule::DnsSubdomain, errors);
    replicated(&set.at("spec"), errors);
}

/// Judges a change.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    create(new, errors);
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    replicated(&new.at("spec"), errors);
}

/// Judges a change of status.
pub(super) fn update_status(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    super::replicationcontroller::update_status(new, old, errors);
}

/// Judges replicas, selector and template at `spec`. (The wording about deployments is used for replica sets too.)
pub(super) fn replicated(spec: &Cursor, errors: &mut Errors) {
    let (wanted, template, replicas) = (spec.at("selector"), spec.at("template"), spec.at("replicas"));
    replicas.require_nonnegative(errors);
    if wanted.is_set() {
        selector::validate(&wanted, errors);
        if selector::is_blank(&wanted) {
            errors.push(shown(&wanted, "empty selector is not valid for deployment."));
        }
    } else {
        errors.push(wanted.required(""));
    }
    match selector::matches(&wanted, &template.at("metadata.labels")) {
        Some(matched) => pod_spec::replicated_template(&template, matched, replicas.int(), errors),
        None => errors.push(shown(&wanted, "invalid label selector.")),
    }
}

/// That the label selector at `at` is invalid.
pub(super) fn shown(at: &Cursor, detail: &str) -> crate::api::FieldError {
    at.invalid(internal::show(&forms::LABEL_SELECTOR, at.value()), detail)
}
