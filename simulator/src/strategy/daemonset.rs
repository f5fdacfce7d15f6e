//! Daemon sets.

use super::generic::Strategy;
use super::object::{count_generation, prepare_generations};
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{metadata, pod_spec, selector, volumes};
use crate::api::Object;
use crate::rng::Rng;

/// Strategy of daemon sets.
pub(super) struct DaemonSetStrategy;

impl Strategy for DaemonSetStrategy {
    fn prepare_for_create(&self, set: &mut Object, _: &Rng) {
        prepare_generations(set);
    }

    fn validate(&self, set: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&set.at("metadata"), true, NameRule::DnsSubdomain, errors);
        spec(&set.at("spec"), errors);
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
        for name in ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled"] {
            new.at("status").at(name).require_nonnegative(errors);
        }
    }
}

fn spec(at: &Cursor, errors: &mut Errors) {
    let (wanted, template) = (at.at("selector"), at.at("template"));
    selector::validate(&wanted, errors);
    if selector::matches(&wanted, &template.at("metadata.labels")) == Some(false) {
        errors.push(pod_spec::mismatch(&template));
    }
    pod_spec::template(&template, errors);
    volumes::shared_disks_are_read_only(&template.at("spec.volumes"), errors);
    pod_spec::always_restarted(&template, errors);
}
