//! Resource quotas.

use std::collections::BTreeSet;

use super::generic::Strategy;
use super::object::{drop_status, keep};
use super::resource_name::ResourceName;
use super::validate::cursor::{Cursor, Errors, IMMUTABLE};
use super::validate::name::NameRule;
use super::validate::{internal_form, internal_types, metadata, resources};
use crate::api::{FieldError, Object};
use crate::rng::Rng;

/// Resource of resource quotas.
pub(crate) const RESOURCE: ResourceName = ResourceName::core("resourcequotas");

const SCOPES: [&str; 4] = ["Terminating", "NotTerminating", "BestEffort", "NotBestEffort"];
/// Maximum number of scopes that are validated one by one: each error shows all of them.
const MAX_SCOPES: usize = 20;
const CONFLICTING: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

/// Strategy of resource quotas.
pub(super) struct ResourceQuotaStrategy;

impl Strategy for ResourceQuotaStrategy {
    fn prepare_for_create(&self, quota: &mut Object, _: &Rng) {
        drop_status(quota);
    }

    fn validate(&self, quota: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&quota.at("metadata"), true, NameRule::DnsSubdomain, errors);
        amounts(&quota.at("spec.hard"), errors);
        scopes(&quota.at("spec"), errors);
        amounts(&quota.at("status.hard"), errors);
        amounts(&quota.at("status.used"), errors);
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
    }

    /// Scopes are immutable.
    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        amounts(&new.at("spec.hard"), errors);
        let (now, before) = (new.at("spec.scopes"), old.at("spec.scopes"));
        if now.texts().collect::<BTreeSet<_>>() != before.texts().collect() {
            errors.push(scopes_error(&now, IMMUTABLE));
        }
        scopes(&new.at("spec"), errors);
    }

    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        if new.at("metadata.resourceVersion").text().is_empty() {
            errors.push(new.at("resourceVersion").required(""));
        }
        amounts(&new.at("status.hard"), errors);
        amounts(&new.at("status.used"), errors);
    }

    fn returns_deleted(&self) -> bool {
        true
    }

    fn quota_resources(&self) -> &'static [&'static str] {
        &["resourcequotas"]
    }
}

fn amounts(at: &Cursor, errors: &mut Errors) {
    for (resource, entry) in at.entries() {
        resources::quota_resource_name(&entry, resource, errors);
        resources::quota_amount(&entry, resource, errors);
    }
}

fn scopes_error(scopes: &Cursor, detail: &str) -> FieldError {
    scopes.invalid(internal_form::show(&internal_types::STRINGS, scopes.value()), detail)
}

fn scopes(spec: &Cursor, errors: &mut Errors) {
    let (scopes, hard) = (spec.at("scopes"), spec.at("hard"));
    if scopes.len() > MAX_SCOPES {
        errors.push(scopes_error(&scopes, "unsupported scope"));
        return;
    }
    for scope in scopes.texts() {
        if !SCOPES.contains(&scope) {
            errors.push(scopes_error(&scopes, "unsupported scope"));
        }
        for (resource, _) in hard.entries() {
            if resources::is_quota(resource) && !fits(scope, resource) {
                errors.push(scopes_error(&scopes, "unsupported scope applied to resource"));
            }
        }
    }
    for pair in CONFLICTING {
        if pair.iter().all(|scope| scopes.texts().any(|s| s == *scope)) {
            errors.push(scopes_error(&scopes, "conflicting scopes"));
        }
    }
}

/// Whether a quota of `scope` can limit `resource`.
fn fits(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "Terminating" | "NotTerminating" | "NotBestEffort" => {
            resource == "pods" || resources::is_compute_quota(resource)
        }
        _ => true,
    }
}
