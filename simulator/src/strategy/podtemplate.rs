//! Pod templates.

use super::generic::Strategy;
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{metadata, pod_spec};

/// Strategy of pod templates.
pub(super) struct PodTemplateStrategy;

impl Strategy for PodTemplateStrategy {
    fn validate(&self, template: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&template.at("metadata"), true, NameRule::DnsSubdomain, errors);
        pod_spec::template(&template.at("template"), errors);
    }

    /// v1.2 exchanges old and new metadata here.
    fn validate_update(&self, new: &Cursor, old: &Cursor, _: &str, errors: &mut Errors) {
        metadata::update(&old.at("metadata"), &new.at("metadata"), errors);
        pod_spec::template(&new.at("template"), errors);
    }

    fn returns_deleted(&self) -> bool {
        true
    }
}
