//! Rules for pods and for their bindings to nodes.

use serde_json::{Value, json};

use super::validate::cursor::{Cursor, Errors, NEGATIVE};
use super::validate::name::NameRule;
use super::validate::{forms, internal, meta, pod_spec};
use crate::api::FieldError;

/// Judges a pod that is about to be made.
pub(super) fn create(pod: &Cursor, errors: &mut Errors) {
    meta::create(&pod.at("metadata"), true, NameRule::DnsSubdomain, errors);
    pod_spec::annotations(&pod.at("metadata").at("annotations"), errors);
    pod_spec::validate(&pod.at("spec"), errors);
}

/// Judges a change: nothing but images and a shorter deadline may change in the specification.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    create(new, errors);
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    pod_spec::annotations(&new.at("metadata").at("annotations"), errors);
    let containers = new.at("spec").at("containers");
    if containers.len() != old.at("spec").at("containers").len() {
        errors.push(containers.forbidden("pod updates may not add or remove containers"));
        return;
    }
    containers.items().for_each(|c| c.at("image").require_text(errors));
    if deadline_only_shrinks(
        &new.at("spec").at("activeDeadlineSeconds"),
        &old.at("spec").at("activeDeadlineSeconds"),
        errors,
    ) && !same_but_for_what_may_change(new.at("spec").value(), old.at("spec").value())
    {
        errors.push(new.at("spec").forbidden(
            "pod updates may not change fields other than `containers[*].image` or `spec.activeDeadlineSeconds`",
        ));
    }
}

/// Judges a change of the deadline; `false` where the rest of the pod is not looked at any more.
fn deadline_only_shrinks(new: &Cursor, old: &Cursor, errors: &mut Errors) -> bool {
    let fault = match (new.optional_int(), old.optional_int()) {
        (Some(now), _) if now < 0 => new.invalid(now, NEGATIVE),
        (Some(now), Some(before)) if before < now => new.invalid(now, "must be less than or equal to previous value"),
        (None, Some(_)) => {
            errors.push(new.invalid(Value::Null, "must not update from a positive integer to nil value"));
            return true;
        }
        _ => return true,
    };
    errors.push(fault);
    false
}

/// Whether two specifications with as many containers differ in nothing but images and deadline.
fn same_but_for_what_may_change(new: &Value, old: &Value) -> bool {
    let [mut new, old] = [new, old].map(forms::internal_spec);
    let taken = |from: &Value, key: &str| from.get(key).cloned().unwrap_or_default();
    let deadline = taken(&old, "activeDeadlineSeconds");
    let images: Vec<Value> = old["containers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|c| taken(c, "image"))
        .collect();
    if let Value::Object(spec) = &mut new {
        spec.insert("activeDeadlineSeconds".to_owned(), deadline);
        let containers = spec
            .get_mut("containers")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten();
        for (container, image) in containers.zip(images) {
            if let Value::Object(container) = container {
                container.insert("image".to_owned(), image);
            }
        }
    }
    internal::same(&forms::POD_SPEC, &new, &old)
}

/// Judges a change of status.
pub(super) fn update_status(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    if new.at("spec.nodeName").text() != old.at("spec.nodeName").text() {
        errors.push(new.at("status.nodeName").forbidden("may not be changed directly"));
    }
}

/// Judges the binding of a pod.
pub(super) fn binding(binding: &Cursor, errors: &mut Errors) {
    let kind = binding.at("target.kind");
    if !["", "Node"].contains(&kind.text()) {
        errors.push(FieldError::not_supported(
            kind.path(),
            json!(kind.text()),
            &["Node", "<empty>"],
        ));
    }
    binding.at("target.name").require_text(errors);
}
