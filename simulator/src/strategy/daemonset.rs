//! Rules for daemon sets.

use super::replicaset;
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{meta, pod_spec, selector, volumes};

/// Judges a set that is about to be made.
pub(super) fn create(set: &Cursor, errors: &mut Errors) {
    meta::create(&set.at("metadata"), true, NameRule::DnsSubdomain, errors);
    spec(&set.at("spec"), errors);
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
    for name in ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled"] {
        new.at("status").at(name).require_nonnegative(errors);
    }
}

fn spec(at: &Cursor, errors: &mut Errors) {
    let (wanted, template) = (at.at("selector"), at.at("template"));
    selector::validate(&wanted, errors);
    if selector::matches(&wanted, &template.at("metadata.labels")) == Some(false) {
        errors.push(pod_spec::mismatch(&template));
    }
    if wanted.is_set() && selector::is_blank(&wanted) {
        errors.push(replicaset::shown(&wanted, "empty selector is not valid for daemonset."));
    }
    pod_spec::template(&template, errors);
    volumes::shared_disks_are_read_only(&template.at("spec.volumes"), errors);
    pod_spec::always_restarted(&template, errors);
}
