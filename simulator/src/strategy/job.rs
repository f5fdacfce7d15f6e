//! Jobs.

use serde_json::{Map, Value};

use super::generic::Strategy;
use super::object::{drop_status, keep};
use super::replicaset;
use super::validate::cursor::{Cursor, Errors, IMMUTABLE};
use super::validate::name::NameRule;
use super::validate::{internal_form, internal_types, metadata, pod_spec, selector};
use crate::api::{Object, meta};
use crate::rng::Rng;

/// Strategy of jobs.
pub(super) struct JobStrategy;

impl Strategy for JobStrategy {
    fn prepare_for_create(&self, job: &mut Object, _: &Rng) {
        drop_status(job);
    }

    /// Generates selector and labels from the UID, if that is requested.
    fn complete(&self, job: &mut Object) {
        if meta::lookup(job, "spec.manualSelector").and_then(Value::as_bool) == Some(true) {
            return;
        }
        let [name, uid] = ["metadata.name", "metadata.uid"].map(|path| meta::text(job, path).to_owned());
        let spec = meta::child(job, "spec");
        let labels = meta::child(meta::metadata(meta::child(spec, "template")), "labels");
        labels.entry("job-name").or_insert(name.into());
        labels.entry("controller-uid").or_insert(uid.clone().into());
        meta::child(meta::child(spec, "selector"), "matchLabels")
            .entry("controller-uid")
            .or_insert(uid.into());
    }

    fn validate(&self, job: &Cursor, group: &str, errors: &mut Errors) {
        metadata::create(&job.at("metadata"), true, NameRule::DnsSubdomain, errors);
        generated_selector(job, group, errors);
        spec(&job.at("spec"), errors);
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
    }

    /// In its second check of the metadata, v1.2 exchanges old and new.
    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        metadata::update(&old.at("metadata"), &new.at("metadata"), errors);
        let (now, before) = (new.at("spec"), old.at("spec"));
        spec(&now, errors);
        immutable(
            &now.at("completions"),
            &before.at("completions"),
            &internal_types::OPTIONAL_INT,
            Value::clone,
            errors,
        );
        immutable(
            &now.at("selector"),
            &before.at("selector"),
            &internal_types::LABEL_SELECTOR,
            Value::clone,
            errors,
        );
        immutable(
            &now.at("template"),
            &before.at("template"),
            &internal_types::POD_TEMPLATE,
            internal_types::with_internal_spec,
            errors,
        );
    }

    /// v1.2 exchanges old and new metadata here.
    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&old.at("metadata"), &new.at("metadata"), errors);
        for name in ["active", "succeeded", "failed"] {
            new.at("status").at(name).require_nonnegative(errors);
        }
    }
}

fn immutable(
    new: &Cursor,
    old: &Cursor,
    internal_type: &internal_form::InternalType,
    convert: fn(&Value) -> Value,
    errors: &mut Errors,
) {
    let [now, before] = [new.value(), old.value()].map(convert);
    if !internal_form::same(internal_type, &now, &before) {
        errors.push(new.invalid(internal_form::show(internal_type, &now), IMMUTABLE));
    }
}

/// Whether the user sets the selector: `manualSelector` in batch, no `autoSelector` in extensions.
fn is_manual(job: &Cursor, group: &str) -> bool {
    let spec = job.at("spec");
    let version = job.at("apiVersion");
    let extensions = version.text().starts_with("extensions/") || (version.text().is_empty() && group == "extensions");
    if extensions {
        !spec.at("autoSelector").is_true()
    } else {
        spec.at("manualSelector").is_true()
    }
}

/// Requires the selector to be the one generated from UID and name, unless it is set by the user.
fn generated_selector(job: &Cursor, group: &str, errors: &mut Errors) {
    let wanted = job.at("spec").at("selector");
    if is_manual(job, group) || !wanted.is_set() {
        return;
    }
    let (uid, own) = (job.at("metadata").at("uid"), job.at("metadata").at("name").text());
    if uid.text().is_empty() {
        errors.extend([uid.required(""), uid.required("")]);
    }
    let generated = [("controller-uid", uid.text()), ("job-name", own)];
    let labels = job.at("spec").at("template").at("metadata").at("labels");
    for (key, value) in generated {
        match labels.member(key) {
            None => errors.push(labels.required(&format!("{key}={value}"))),
            Some(found) if found.as_str() != Some(value) => {
                errors.push(labels.invalid(
                    internal_form::show(&internal_types::LABELS, labels.value()),
                    format!("expected {key}={value}"),
                ));
            }
            Some(_) => {}
        }
    }
    let expected: Map<String, Value> = generated
        .iter()
        .map(|(k, v)| ((*k).to_owned(), Value::from(*v)))
        .collect();
    if selector::matches(&wanted, &Cursor::root(&expected)) == Some(false) {
        errors.push(replicaset::selector_error(&wanted, "`selector` not auto-generated"));
    }
}

fn spec(at: &Cursor, errors: &mut Errors) {
    for name in ["parallelism", "completions", "activeDeadlineSeconds"] {
        at.at(name).require_nonnegative(errors);
    }
    let (wanted, template) = (at.at("selector"), at.at("template"));
    if wanted.is_set() {
        selector::validate(&wanted, errors);
    } else {
        errors.push(wanted.required(""));
    }
    if selector::matches(&wanted, &template.at("metadata.labels")) == Some(false) {
        errors.push(pod_spec::mismatch(&template));
    }
    pod_spec::template(&template, errors);
    let policy = template.at("spec.restartPolicy");
    if !["OnFailure", "Never"].contains(&policy.text()) {
        errors.push(policy.not_supported(&["OnFailure", "Never"]));
    }
}
