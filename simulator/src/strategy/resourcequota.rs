//! Rules for resource quotas.

use std::collections::BTreeSet;

use super::validate::cursor::{Cursor, Errors, IMMUTABLE};
use super::validate::name::NameRule;
use super::validate::{forms, internal, meta, resources};
use crate::api::FieldError;

const SCOPES: [&str; 4] = ["Terminating", "NotTerminating", "BestEffort", "NotBestEffort"];
/// As many scopes as are judged one by one: every fault shows all of them.
const MOST_JUDGED: usize = 20;
const CONFLICTING: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

/// Judges a quota that is about to be made.
pub(super) fn create(quota: &Cursor, errors: &mut Errors) {
    meta::create(&quota.at("metadata"), true, NameRule::DnsSubdomain, errors);
    amounts(&quota.at("spec.hard"), errors);
    scopes(&quota.at("spec"), errors);
    amounts(&quota.at("status.hard"), errors);
    amounts(&quota.at("status.used"), errors);
}

/// Judges a change: the scopes stay.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    create(new, errors);
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    amounts(&new.at("spec.hard"), errors);
    let (now, before) = (new.at("spec.scopes"), old.at("spec.scopes"));
    if now.texts().collect::<BTreeSet<_>>() != before.texts().collect() {
        errors.push(shown(&now, IMMUTABLE));
    }
    scopes(&new.at("spec"), errors);
}

/// Judges a change of status.
pub(super) fn update_status(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    if new.at("metadata.resourceVersion").text().is_empty() {
        errors.push(new.at("resourceVersion").required(""));
    }
    amounts(&new.at("status.hard"), errors);
    amounts(&new.at("status.used"), errors);
}

fn amounts(at: &Cursor, errors: &mut Errors) {
    for (resource, entry) in at.entries() {
        resources::quota_resource_name(&entry, resource, errors);
        resources::quota_amount(&entry, resource, errors);
    }
}

fn shown(scopes: &Cursor, detail: &str) -> FieldError {
    scopes.invalid(internal::show(&forms::STRINGS, scopes.value()), detail)
}

fn scopes(spec: &Cursor, errors: &mut Errors) {
    let (scopes, hard) = (spec.at("scopes"), spec.at("hard"));
    if scopes.len() > MOST_JUDGED {
        errors.push(shown(&scopes, "unsupported scope"));
        return;
    }
    for scope in scopes.texts() {
        if !SCOPES.contains(&scope) {
            errors.push(shown(&scopes, "unsupported scope"));
        }
        for (resource, _) in hard.entries() {
            if resources::is_quota(resource) && !fits(scope, resource) {
                errors.push(shown(&scopes, "unsupported scope applied to resource"));
            }
        }
    }
    for pair in CONFLICTING {
        if pair.iter().all(|scope| scopes.texts().any(|s| s == *scope)) {
            errors.push(shown(&scopes, "conflicting scopes"));
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
