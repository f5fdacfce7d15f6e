//! Whether an object may be made or changed as asked, by the rules of its kind.
//!
//! Objects come decoded, pruned to the fields of their kind, and defaulted, in the version they were sent in; what is absent is zero.
//! An update's `new` has the resource version that the storage fills in for an unconditional update.
//! Promises: every fault of an object is reported at once, in v1.2's order (entries of maps, which v1.2 visits at random, in the order of their keys),
//! with v1.2's fields and wordings, its slips included; nothing panics, whatever the object holds, and 10,000 faults are enough.
//! Limits: what needs the rest of the cluster (allocation of addresses and ports, quotas, existence) is not judged here.
//! Source: `api/validation`, `apis/extensions/validation`, and which of them each kind's strategy runs, of Kubernetes v1.2.

pub(crate) mod affinity;
pub(crate) mod container;
pub(crate) mod cursor;
pub(crate) mod forms;
pub(crate) mod internal;
pub(crate) mod json;
pub(crate) mod meta;
pub(crate) mod name;
pub(crate) mod pod_field;
pub(crate) mod pod_spec;
pub(crate) mod posix_regex;
pub(crate) mod resources;
pub(crate) mod selector;
pub(crate) mod volumes;

#[cfg(test)]
mod tests;

use cursor::{Cursor, Errors};

use super::{
    configmap, daemonset, deployment, endpoints, event, horizontalpodautoscaler, ingress, job, limitrange, namespace,
    node, persistentvolume, persistentvolumeclaim, pod, podtemplate, replicaset, replicationcontroller, resourcequota,
    secret, service, serviceaccount,
};
use crate::api::{FieldError, Object};
use name::NameRule;

/// Whether objects of `kind` are in no namespace.
fn is_cluster_wide(kind: &str) -> bool {
    ["Namespace", "Node", "PersistentVolume"].contains(&kind)
}

/// What is wrong with an object of `kind` that is about to be made.
///
/// `group` tells the faces of a kind that has two apart where the object has no `apiVersion`. A kind without rules of its own has those of all objects.
pub(crate) fn create(kind: &str, group: &str, object: &Object) -> Vec<FieldError> {
    let (at, mut errors) = (Cursor::root(object), Errors::default());
    let e = &mut errors;
    match kind {
        "Pod" => pod::create(&at, e),
        "PodTemplate" => podtemplate::create(&at, e),
        "ReplicationController" => replicationcontroller::create(&at, e),
        "ReplicaSet" => replicaset::create(&at, e),
        "Deployment" => deployment::create(&at, e),
        "DaemonSet" => daemonset::create(&at, e),
        "Job" => job::create(&at, group, e),
        "HorizontalPodAutoscaler" => horizontalpodautoscaler::create(&at, group, e),
        "Ingress" => ingress::create(&at, e),
        "Service" => service::create(&at, e),
        "Endpoints" => endpoints::create(&at, e),
        "Event" => event::create(&at, e),
        "LimitRange" => limitrange::create(&at, e),
        "ResourceQuota" => resourcequota::create(&at, e),
        "Namespace" => namespace::create(&at, e),
        "Node" => node::create(&at, e),
        "PersistentVolume" => persistentvolume::create(&at, e),
        "PersistentVolumeClaim" => persistentvolumeclaim::create(&at, e),
        "Secret" => secret::create(&at, e),
        "ConfigMap" => configmap::create(&at, e),
        "ServiceAccount" => serviceaccount::create(&at, e),
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
pub(crate) fn update(kind: &str, group: &str, new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old, mut errors) = (Cursor::root(new), Cursor::root(old), Errors::default());
    let e = &mut errors;
    // A service is judged by its own rules alone before the common ones are run, and passes the latter if it passes the former.
    if kind != "Service" {
        meta::update(&new.at("metadata"), &old.at("metadata"), e);
    }
    match kind {
        "Pod" => pod::update(&new, &old, e),
        "PodTemplate" => podtemplate::update(&new, &old, e),
        "ReplicationController" => replicationcontroller::update(&new, &old, e),
        "ReplicaSet" => replicaset::update(&new, &old, e),
        "Deployment" => deployment::update(&new, &old, e),
        "DaemonSet" => daemonset::update(&new, &old, e),
        "Job" => job::update(&new, &old, group, e),
        "HorizontalPodAutoscaler" => horizontalpodautoscaler::update(&new, &old, group, e),
        "Ingress" => ingress::update(&new, &old, e),
        "Service" => service::update(&new, &old, e),
        "Endpoints" => endpoints::update(&new, &old, e),
        "Event" => event::create(&new, e),
        "LimitRange" => limitrange::create(&new, e),
        "ResourceQuota" => resourcequota::update(&new, &old, e),
        "Namespace" => namespace::update(&new, &old, e),
        "Node" => node::update(&new, &old, e),
        "PersistentVolume" => persistentvolume::update(&new, e),
        "PersistentVolumeClaim" => persistentvolumeclaim::update(&new, &old, e),
        "Secret" => secret::update(&new, &old, e),
        "ConfigMap" => configmap::update(&new, &old, e),
        "ServiceAccount" => serviceaccount::update(&new, &old, e),
        _ => {}
    }
    errors.into()
}

/// What is wrong with a change of the status of an object of `kind` from `old` to `new`. (No status differs between the faces of a kind.)
pub(crate) fn update_status(kind: &str, _group: &str, new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old, mut errors) = (Cursor::root(new), Cursor::root(old), Errors::default());
    let e = &mut errors;
    meta::update(&new.at("metadata"), &old.at("metadata"), e);
    match kind {
        "Pod" => pod::update_status(&new, &old, e),
        "ReplicationController" => replicationcontroller::update_status(&new, &old, e),
        "ReplicaSet" => replicaset::update_status(&new, &old, e),
        "Deployment" => deployment::update_status(&new, &old, e),
        "DaemonSet" => daemonset::update_status(&new, &old, e),
        "Job" => job::update_status(&new, &old, e),
        "HorizontalPodAutoscaler" => horizontalpodautoscaler::update_status(&new, &old, e),
        "Ingress" => ingress::update_status(&new, &old, e),
        "Service" => service::update_status(&new, &old, e),
        "ResourceQuota" => resourcequota::update_status(&new, &old, e),
        "Namespace" => namespace::update_status(&new, &old, e),
        "Node" => node::update_status(&new, &old, e),
        "PersistentVolume" => persistentvolume::update_status(&new, &old, e),
        "PersistentVolumeClaim" => persistentvolumeclaim::update_status(&new, &old, e),
        _ => {}
    }
    errors.into()
}

/// What is wrong with a change of a namespace's finalizers.
pub(crate) fn finalize(new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old, mut errors) = (Cursor::root(new), Cursor::root(old), Errors::default());
    meta::update(&new.at("metadata"), &old.at("metadata"), &mut errors);
    namespace::finalize(&new, &old, &mut errors);
    errors.into()
}

/// What is wrong with a scale that is about to be set.
pub(crate) fn scale(scale: &Object) -> Vec<FieldError> {
    let (at, mut errors) = (Cursor::root(scale), Errors::default());
    meta::create(&at.at("metadata"), true, NameRule::DnsSubdomain, &mut errors);
    at.at("spec.replicas").require_nonnegative(&mut errors);
    errors.into()
}

/// What is wrong with the resources that the containers of `pod` ask for and are held to.
pub(crate) fn container_resources(pod: &Object) -> Vec<FieldError> {
    let mut errors = Errors::default();
    for container in Cursor::root(pod).at("spec").at("containers").items() {
        resources::requirements(&container.at("resources"), &mut errors);
    }
    errors.into()
}

/// What is wrong with a request to bind a pod to a node.
pub(crate) fn binding(binding: &Object) -> Vec<FieldError> {
    let mut errors = Errors::default();
    pod::binding(&Cursor::root(binding), &mut errors);
    errors.into()
}

/// What is wrong with a request to roll a deployment back.
pub(crate) fn rollback(rollback: &Object) -> Vec<FieldError> {
    let mut errors = Errors::default();
    deployment::rollback(&Cursor::root(rollback), &mut errors);
    errors.into()
}
