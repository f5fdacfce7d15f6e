//! Whether an object may be made or changed as asked, by the rules of its kind.
//!
//! Objects come decoded, pruned to the fields of their kind, and defaulted, in the version they were sent in; what is absent is zero.
//! An update's `new` has the resource version that the storage fills in for an unconditional update.
//! Promises: every fault of an object is reported at once, in v1.2's order (entries of maps, which v1.2 visits at random, in the order of their keys),
//! with v1.2's fields and wordings, its slips included; nothing panics, whatever the object holds, and 10,000 faults are enough.
//! Limits: what needs the rest of the cluster (allocation of addresses and ports, quotas, existence) is not judged here.
//! Source: `api/validation`, `apis/extensions/validation`, and which of them each kind's strategy runs, of Kubernetes v1.2.

mod affinity;
mod autoscaler;
mod config_map;
mod container;
mod cursor;
mod daemon_set;
mod deployment;
mod endpoints;
mod event;
mod forms;
mod ingress;
mod internal;
mod job;
mod json;
mod limit_range;
mod meta;
pub mod name;
mod namespace;
mod node;
mod persistent_volume;
mod persistent_volume_claim;
mod pod;
mod pod_field;
mod pod_spec;
mod pod_template;
mod posix_regex;
mod replica_set;
mod replication_controller;
mod resource_quota;
mod resources;
mod secret;
mod selector;
mod service;
mod service_account;
mod volumes;

#[cfg(test)]
mod tests;

use cursor::{Cursor, Errors};

use crate::api::{FieldError, Object};
use name::NameRule;

/// Whether objects of `kind` are in no namespace.
fn is_cluster_wide(kind: &str) -> bool {
    ["Namespace", "Node", "PersistentVolume"].contains(&kind)
}

/// What is wrong with an object of `kind` that is about to be made.
///
/// `group` tells the faces of a kind that has two apart where the object has no `apiVersion`. A kind without rules of its own has those of all objects.
pub fn create(kind: &str, group: &str, object: &Object) -> Vec<FieldError> {
    let (at, mut errors) = (Cursor::root(object), Errors::default());
    let e = &mut errors;
    match kind {
        "Pod" => pod::create(&at, e),
        "PodTemplate" => pod_template::create(&at, e),
        "ReplicationController" => replication_controller::create(&at, e),
        "ReplicaSet" => replica_set::create(&at, e),
        "Deployment" => deployment::create(&at, e),
        "DaemonSet" => daemon_set::create(&at, e),
        "Job" => job::create(&at, group, e),
        "HorizontalPodAutoscaler" => autoscaler::create(&at, group, e),
        "Ingress" => ingress::create(&at, e),
        "Service" => service::create(&at, e),
        "Endpoints" => endpoints::create(&at, e),
        "Event" => event::create(&at, e),
        "LimitRange" => limit_range::create(&at, e),
        "ResourceQuota" => resource_quota::create(&at, e),
        "Namespace" => namespace::create(&at, e),
        "Node" => node::create(&at, e),
        "PersistentVolume" => persistent_volume::create(&at, e),
        "PersistentVolumeClaim" => persistent_volume_claim::create(&at, e),
        "Secret" => secret::create(&at, e),
        "ConfigMap" => config_map::create(&at, e),
        "ServiceAccount" => service_account::create(&at, e),
        _ => {}
    }
    if errors.is_empty() {
        meta::create(
            &at.at("metadata"),
            !is_cluster_wide(kind),
            NameRule::PathSegment,
            &mut errors,
        );
    }
    errors.into()
}

/// What is wrong with a change of an object of `kind` from `old` to `new`.
pub fn update(kind: &str, group: &str, new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old, mut errors) = (Cursor::root(new), Cursor::root(old), Errors::default());
    let e = &mut errors;
    // A service is judged by its own rules alone before the common ones are run, and passes the latter if it passes the former.
    if kind != "Service" {
        meta::update(&new.at("metadata"), &old.at("metadata"), e);
    }
    match kind {
        "Pod" => pod::update(&new, &old, e),
        "PodTemplate" => pod_template::update(&new, &old, e),
        "ReplicationController" => replication_controller::update(&new, &old, e),
        "ReplicaSet" => replica_set::update(&new, &old, e),
        "Deployment" => deployment::update(&new, &old, e),
        "DaemonSet" => daemon_set::update(&new, &old, e),
        "Job" => job::update(&new, &old, group, e),
        "HorizontalPodAutoscaler" => autoscaler::update(&new, &old, group, e),
        "Ingress" => ingress::update(&new, &old, e),
        "Service" => service::update(&new, &old, e),
        "Endpoints" => endpoints::update(&new, &old, e),
        "Event" => event::create(&new, e),
        "LimitRange" => limit_range::create(&new, e),
        "ResourceQuota" => resource_quota::update(&new, &old, e),
        "Namespace" => namespace::update(&new, &old, e),
        "Node" => node::update(&new, &old, e),
        "PersistentVolume" => persistent_volume::update(&new, e),
        "PersistentVolumeClaim" => persistent_volume_claim::update(&new, &old, e),
        "Secret" => secret::update(&new, &old, e),
        "ConfigMap" => config_map::update(&new, &old, e),
        "ServiceAccount" => service_account::update(&new, &old, e),
        _ => {}
    }
    errors.into()
}

/// What is wrong with a change of the status of an object of `kind` from `old` to `new`. (No status differs between the faces of a kind.)
pub fn update_status(kind: &str, _group: &str, new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old, mut errors) = (Cursor::root(new), Cursor::root(old), Errors::default());
    let e = &mut errors;
    meta::update(&new.at("metadata"), &old.at("metadata"), e);
    match kind {
        "Pod" => pod::update_status(&new, &old, e),
        "ReplicationController" => replication_controller::update_status(&new, &old, e),
        "ReplicaSet" => replica_set::update_status(&new, &old, e),
        "Deployment" => deployment::update_status(&new, &old, e),
        "DaemonSet" => daemon_set::update_status(&new, &old, e),
        "Job" => job::update_status(&new, &old, e),
        "HorizontalPodAutoscaler" => autoscaler::update_status(&new, &old, e),
        "Ingress" => ingress::update_status(&new, &old, e),
        "Service" => service::update_status(&new, &old, e),
        "ResourceQuota" => resource_quota::update_status(&new, &old, e),
        "Namespace" => namespace::update_status(&new, &old, e),
        "Node" => node::update_status(&new, &old, e),
        "PersistentVolume" => persistent_volume::update_status(&new, &old, e),
        "PersistentVolumeClaim" => persistent_volume_claim::update_status(&new, &old, e),
        _ => {}
    }
    errors.into()
}

/// What is wrong with a change of a namespace's finalizers.
pub fn finalize(new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old, mut errors) = (Cursor::root(new), Cursor::root(old), Errors::default());
    meta::update(&new.at("metadata"), &old.at("metadata"), &mut errors);
    namespace::finalize(&new, &old, &mut errors);
    errors.into()
}

/// What is wrong with a scale that is about to be set.
pub fn scale(scale: &Object) -> Vec<FieldError> {
    let (at, mut errors) = (Cursor::root(scale), Errors::default());
    meta::create(&at.at("metadata"), true, NameRule::DnsSubdomain, &mut errors);
    at.at("spec.replicas").require_nonnegative(&mut errors);
    errors.into()
}

/// What is wrong with the resources that the containers of `pod` ask for and are held to.
pub fn container_resources(pod: &Object) -> Vec<FieldError> {
    let mut errors = Errors::default();
    for container in Cursor::root(pod).at("spec").at("containers").items() {
        resources::requirements(&container.at("resources"), &mut errors);
    }
    errors.into()
}

/// What is wrong with a request to bind a pod to a node.
pub fn binding(binding: &Object) -> Vec<FieldError> {
    let mut errors = Errors::default();
    pod::binding(&Cursor::root(binding), &mut errors);
    errors.into()
}

/// What is wrong with a request to roll a deployment back.
pub fn rollback(rollback: &Object) -> Vec<FieldError> {
    let mut errors = Errors::default();
    deployment::rollback(&Cursor::root(rollback), &mut errors);
    errors.into()
}
