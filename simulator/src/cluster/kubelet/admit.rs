//! Whether a kubelet takes a pod on.

use std::sync::Arc;

use crate::{
    api::{Object, meta},
    cluster::scheduler::{NodeUsage, predicates},
};

/// Why a kubelet refuses a pod.
pub(super) struct Refusal {
    pub(super) reason: &'static str,
    pub(super) message: &'static str,
}

/// Why the kubelet of `node` refuses `pod`, given all pods; `None` if it takes it on.
pub(super) fn refusal(pod: &Object, node: &Object, pods: &[Arc<Object>]) -> Option<Refusal> {
    let name = meta::text(node, "metadata.name");
    let others = pods
        .iter()
        .map(|other| other.as_ref())
        .filter(|other| meta::text(other, "spec.nodeName") == name)
        .filter(|other| meta::text(other, "metadata.uid") != meta::text(pod, "metadata.uid"));
    let failure = predicates::general(pod, node, &NodeUsage::of(others)).err()?;
    let (reason, message) = match failure.as_str() {
        "MatchNodeSelector" => (
            "NodeSelectorMismatching",
            "cannot be started due to node selector mismatch",
        ),
        "HostName" => ("HostNameMismatching", "cannot be started due to hostname mismatch"),
        "PodFitsHostPorts" => ("HostPortConflict", "cannot start the pod due to host port conflict."),
        _ => (
            "InsufficientFreeResource",
            "cannot start the pod due to insufficient resources.",
        ),
    };
    Some(Refusal { reason, message })
}
