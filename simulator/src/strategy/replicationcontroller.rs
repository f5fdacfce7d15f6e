//! Replication controllers.

use super::generic::Strategy;
use super::object::{count_generation, prepare_generations};
use super::resource_name::ResourceName;
use super::scale::{Scale, SelectorForm};
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{metadata, pod_spec, selector};
use crate::api::Object;
use crate::rng::Rng;

/// Resource of replication controllers.
pub(crate) const RESOURCE: ResourceName = ResourceName::core("replicationcontrollers");

static SCALE: Scale = Scale {
    group_version: "autoscaling/v1",
    target: None,
    selector: SelectorForm::Text,
};

/// Strategy of replication controllers.
pub(super) struct ReplicationControllerStrategy;

impl Strategy for ReplicationControllerStrategy {
    fn prepare_for_create(&self, controller: &mut Object, _: &Rng) {
        prepare_generations(controller);
    }

    fn validate(&self, controller: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&controller.at("metadata"), true, NameRule::DnsSubdomain, errors);
        spec(&controller.at("spec"), errors);
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        count_generation(new, old);
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        spec(&new.at("spec"), errors);
    }

    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        for name in ["replicas", "fullyLabeledReplicas", "observedGeneration"] {
            new.at("status").at(name).require_nonnegative(errors);
        }
    }

    fn scale(&self) -> Option<&'static Scale> {
        Some(&SCALE)
    }

    fn quota_resources(&self) -> &'static [&'static str] {
        &["replicationcontrollers"]
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
