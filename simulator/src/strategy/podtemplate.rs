//! Rules for pod templates.

use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{meta, pod_spec};

/// Judges a template that is about to be made.
pub(super) fn create(template: &Cursor, errors: &mut Errors) {
    meta::create(&template.at("metadata"), true, NameRule::DnsSubdomain, errors);
    pod_spec::template(&template.at("template"), errors);
}

/// Judges a change. v1.2 takes the old metadata for the new here.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&old.at("metadata"), &new.at("metadata"), errors);
    pod_spec::template(&new.at("template"), errors);
}
