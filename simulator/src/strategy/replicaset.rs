//! Replica sets.

use super::generic::Strategy;
use super::object::{count_generation, prepare_generations};
use super::replicationcontroller::ReplicationControllerStrategy;
use super::scale::{Scale, SelectorForm};
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{internal_form, internal_types, metadata, pod_spec, selector};
use crate::api::Object;
use crate::rng::Rng;

static SCALE: Scale = Scale {
    group_version: "extensions/v1beta1",
    target: None,
    selector: SelectorForm::LabelSelector,
};

/// Strategy of replica sets.
pub(super) struct ReplicaSetStrategy;

impl Strategy for ReplicaSetStrategy {
    fn prepare_for_create(&self, set: &mut Object, _: &Rng) {
        prepare_generations(set);
    }

    fn validate(&self, set: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&set.at("metadata"), true, NameRule::DnsSubdomain, errors);
        replicated(&set.at("spec"), errors);
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        count_generation(new, old);
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        replicated(&new.at("spec"), errors);
    }

    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        ReplicationControllerStrategy.validate_status_update(new, old, errors);
    }

    fn scale(&self) -> Option<&'static Scale> {
        Some(&SCALE)
    }
}

/// Validates replicas, selector and template at `spec`. As in v1.2, the texts of replica sets mention deployments.
pub(super) fn replicated(spec: &Cursor, errors: &mut Errors) {
    let (wanted, template, replicas) = (spec.at("selector"), spec.at("template"), spec.at("replicas"));
    replicas.require_nonnegative(errors);
    if wanted.is_set() {
        selector::validate(&wanted, errors);
        if selector::is_blank(&wanted) {
            errors.push(selector_error(&wanted, "empty selector is not valid for deployment."));
        }
    } else {
        errors.push(wanted.required(""));
    }
    match selector::matches(&wanted, &template.at("metadata.labels")) {
        Some(matched) => pod_spec::replicated_template(&template, matched, replicas.int(), errors),
        None => errors.push(selector_error(&wanted, "invalid label selector.")),
    }
}

/// Error of an invalid label selector at `at`.
pub(super) fn selector_error(at: &Cursor, detail: &str) -> crate::api::FieldError {
    at.invalid(internal_form::show(&internal_types::LABEL_SELECTOR, at.value()), detail)
}
