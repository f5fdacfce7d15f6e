//! Admission of pods by a kubelet.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    api::{Object, meta},
    client::ObjectKey,
    cluster::scheduler::{Demand, NodeUsage, predicates},
};

/// The reason and message of a pod's rejection.
pub(super) struct Rejection {
    pub(super) reason: &'static str,
    pub(super) message: &'static str,
}

/// The pods that a kubelet has admitted, and their usage of its node.
#[derive(Default)]
pub(super) struct Admitted {
    demands: BTreeMap<ObjectKey, Demand>,
    usage: NodeUsage,
}

impl Admitted {
    /// Adds a pod; it replaces a pod with the same key.
    pub(super) fn insert(&mut self, key: &ObjectKey, pod: &Object) {
        self.remove(key);
        let demand = Demand::of(pod);
        self.usage.add_demand(&demand);
        self.demands.insert(key.clone(), demand);
    }

    /// Removes a pod.
    pub(super) fn remove(&mut self, key: &ObjectKey) {
        if let Some(demand) = self.demands.remove(key) {
            self.usage.remove_demand(&demand);
        }
    }

    /// Returns the keys of the pods.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.demands.keys()
    }

    /// Whether a pod fits the node beside the admitted pods, assuming that none of them has ended.
    pub(super) fn fits(&self, pod: &Object, node: &Object) -> bool {
        predicates::general(pod, node, &self.usage).is_ok()
    }
}

/// Returns why the kubelet of `node` rejects `pod`, given all pods; `None` if it admits the pod.
pub(super) fn rejection(pod: &Object, node: &Object, pods: &[Arc<Object>]) -> Option<Rejection> {
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
    Some(Rejection { reason, message })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(value: Value) -> Object {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_pod_fits_until_the_admitted_pods_use_up_the_node() {
        let node = object(json!({"status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "2"}}}));
        let pod = |port: u16| object(json!({"spec": {"containers": [{"ports": [{"hostPort": port}]}]}}));
        let (web, other) = (ObjectKey::new("n", "web"), ObjectKey::new("n", "other"));
        let mut admitted = Admitted::default();
        admitted.insert(&web, &pod(80));
        admitted.insert(&web, &pod(81));
        assert!(admitted.fits(&pod(80), &node) && !admitted.fits(&pod(81), &node));
        admitted.insert(&other, &pod(82));
        assert!(!admitted.fits(&pod(80), &node));
        admitted.remove(&web);
        assert!(admitted.fits(&pod(81), &node));
        assert_eq!(admitted.keys().collect::<Vec<_>>(), [&other]);
    }
}
