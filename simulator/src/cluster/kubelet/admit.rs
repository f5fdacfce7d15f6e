//! Whether a kubelet takes a pod on.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    api::{Object, meta},
    client::ObjectKey,
    cluster::scheduler::{Demand, NodeUsage, predicates},
};

/// Why a kubelet refuses a pod.
pub(super) struct Refusal {
    pub(super) reason: &'static str,
    pub(super) message: &'static str,
}

/// The pods that a kubelet has taken on, and what they take of its node.
#[derive(Default)]
pub(super) struct Admitted {
    demands: BTreeMap<ObjectKey, Demand>,
    usage: NodeUsage,
}

impl Admitted {
    /// Adds a pod, in the place of one of this key.
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

    /// The keys of the pods.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.demands.keys()
    }

    /// Whether a node has room for a pod beside these, even if none of them has ended by now.
    pub(super) fn leaves_room(&self, pod: &Object, node: &Object) -> bool {
        predicates::general(pod, node, &self.usage).is_ok()
    }
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(value: Value) -> Object {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn there_is_room_until_the_pods_that_were_taken_on_take_all() {
        let node = object(json!({"status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "2"}}}));
        let pod = |port: u16| object(json!({"spec": {"containers": [{"ports": [{"hostPort": port}]}]}}));
        let (web, other) = (ObjectKey::new("n", "web"), ObjectKey::new("n", "other"));
        let mut admitted = Admitted::default();
        admitted.insert(&web, &pod(80));
        admitted.insert(&web, &pod(81));
        assert!(admitted.leaves_room(&pod(80), &node) && !admitted.leaves_room(&pod(81), &node));
        admitted.insert(&other, &pod(82));
        assert!(!admitted.leaves_room(&pod(80), &node));
        admitted.remove(&web);
        assert!(admitted.leaves_room(&pod(81), &node));
        assert_eq!(admitted.keys().collect::<Vec<_>>(), [&other]);
    }
}
