//! Pods.

use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::action::Action;
use super::binding::Bind;
use super::deletion::{Deletion, gracefully};
use super::generic::Strategy;
use super::location::{Location, Lookup, ObjectId, with_port};
use super::object::{keep, set_status};
use super::resource_name::ResourceName;
use super::usage::Usage;
use super::validate::cursor::{Cursor, Errors, NEGATIVE};
use super::validate::name::NameRule;
use super::validate::{internal_form, internal_types, metadata, pod_spec};
use super::{limits, pod_usage, token_mount};
use crate::api::{Object, Status, meta};
use crate::rng::Rng;

const PODS: ResourceName = ResourceName::core("pods");

/// Strategy of pods.
pub(super) struct PodStrategy;

impl Strategy for PodStrategy {
    fn prepare_for_create(&self, pod: &mut Object, _: &Rng) {
        set_status(pod, json!({"phase": "Pending"}));
    }

    fn validate(&self, pod: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&pod.at("metadata"), true, NameRule::DnsSubdomain, errors);
        pod_spec::annotations(&pod.at("metadata").at("annotations"), errors);
        pod_spec::validate(&pod.at("spec"), errors);
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
    }

    fn prepare_for_status_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "spec");
        meta::metadata(new).shift_remove("deletionTimestamp");
    }

    /// In the specification, only images and a shorter deadline may change.
    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
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
        ) && !differs_only_in_mutable_fields(new.at("spec").value(), old.at("spec").value())
        {
            errors.push(new.at("spec").forbidden(
                "pod updates may not change fields other than `containers[*].image` or `spec.activeDeadlineSeconds`",
            ));
        }
    }

    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        if new.at("spec.nodeName").text() != old.at("spec.nodeName").text() {
            errors.push(new.at("status.nodeName").forbidden("may not be changed directly"));
        }
    }

    /// Only a pod that is assigned to a node and still runs has a grace period.
    fn before_delete(&self, pod: &mut Object, grace: &mut Option<i64>, now: Timestamp) -> Result<Deletion, Status> {
        Ok(gracefully(pod, grace, now, |pod, requested| {
            let default = || meta::lookup(pod, "spec.terminationGracePeriodSeconds").and_then(Value::as_i64);
            if has_ended(pod) || meta::text(pod, "spec.nodeName").is_empty() {
                0
            } else {
                requested.or_else(default).unwrap_or(0)
            }
        }))
    }

    fn returns_deleted(&self) -> bool {
        true
    }

    fn action(&self, subresource: Option<&str>) -> Option<&'static dyn Action> {
        (subresource == Some("binding")).then_some(&Bind as &dyn Action)
    }

    fn is_admitted_on_update(&self) -> bool {
        true
    }

    fn runs_as_service_account(&self) -> bool {
        true
    }

    fn run_as_service_account(&self, pod: &mut Object, name: &str, account: &Object, token: Option<&str>) {
        token_mount::run_as(pod, name, account, token);
    }

    fn has_limits(&self) -> bool {
        true
    }

    fn apply_limits(&self, pod: &mut Object, limits: &[Object]) -> Vec<String> {
        limits::apply(pod, limits)
    }

    fn quota_resources(&self) -> &'static [&'static str] {
        &pod_usage::QUOTA_RESOURCES
    }

    /// A pod that has ended uses nothing.
    fn quota_usage(&self, pod: &Object) -> Usage {
        if has_ended(pod) {
            return Usage::default();
        }
        pod_usage::of(pod)
    }

    fn check_quota_request(&self, pod: &Object, limited: &Usage) -> Result<(), String> {
        pod_usage::check_request(pod, limited)
    }

    fn is_in_quota_scope(&self, pod: &Object, scope: &str) -> bool {
        pod_usage::is_in_scope(pod, scope)
    }

    fn location<'a>(
        &'a self,
        objects: &'a dyn Lookup,
        object: ObjectId<'a>,
    ) -> BoxFuture<'a, Result<Location, Status>> {
        Box::pin(locate(objects, object))
    }
}

/// Location of a pod: its address, by default with the first port of its containers.
async fn locate(objects: &dyn Lookup, object: ObjectId<'_>) -> Result<Location, Status> {
    let parts = object.parts("pod")?;
    let pod = object.find(objects, PODS, parts.name).await?;
    let pod = Cursor::root(&pod);
    let address = pod.at("status.podIP").text();
    let first = pod
        .at("spec.containers")
        .items()
        .flat_map(|container| container.at("ports").items().collect::<Vec<_>>())
        .find_map(|port| port.at("containerPort").optional_int());
    let port = match parts.port {
        "" => first.map(|port| port.to_string()),
        port => Some(port.to_owned()),
    };
    let host = port.map_or_else(|| address.to_owned(), |port| with_port(address, &port));
    Ok(Location::of_host(parts.scheme, host))
}

/// Validates a change of the deadline. Returns false if the rest of the pod is not validated.
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

/// Whether two specifications with the same number of containers differ only in images and deadline.
fn differs_only_in_mutable_fields(new: &Value, old: &Value) -> bool {
    let [mut new, old] = [new, old].map(internal_types::internal_spec);
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
    internal_form::same(&internal_types::POD_SPEC, &new, &old)
}

/// Whether every container has ended for good.
fn has_ended(pod: &Object) -> bool {
    matches!(meta::text(pod, "status.phase"), "Failed" | "Succeeded")
}
