//! Resource requests of pods, and allocatable resources of nodes.
//!
//! Source: `plugin/pkg/scheduler` of Kubernetes v1.2.

use serde_json::Value;

use crate::api::{Object, meta, quantity::Quantity};

/// Assumed requests of a container without requests.
pub(super) const DEFAULT_REQUESTS: Resources = Resources {
    cpu: 100,
    memory: 200 * 1024 * 1024,
};

/// CPU in millicores, memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resources {
    pub(crate) cpu: i64,
    pub(crate) memory: i64,
}

impl Resources {
    pub(crate) fn add(&mut self, other: Self) {
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.memory = self.memory.saturating_add(other.memory);
    }

    pub(crate) fn subtract(&mut self, other: Self) {
        self.cpu = self.cpu.saturating_sub(other.cpu);
        self.memory = self.memory.saturating_sub(other.memory);
    }
}

/// Whether a pod has ended.
pub(crate) fn has_ended(pod: &Object) -> bool {
    matches!(meta::text(pod, "status.phase"), "Failed" | "Succeeded")
}

fn quantity(value: Option<&Value>) -> Option<Quantity> {
    value?.as_str()?.parse().ok()
}

fn containers(pod: &Object) -> impl Iterator<Item = &Value> {
    let containers = meta::lookup(pod, "spec.containers").and_then(Value::as_array);
    containers.into_iter().flatten()
}

/// Returns the requests of a pod; a container without requests counts with `default`.
pub(crate) fn requests(pod: &Object, default: Resources) -> Resources {
    let mut sum = Resources::default();
    for container in containers(pod) {
        let requests = &container["resources"]["requests"];
        let cpu = quantity(requests.get("cpu")).map_or(default.cpu, Quantity::milli_value);
        let memory = quantity(requests.get("memory")).map_or(default.memory, Quantity::value);
        sum.add(Resources { cpu, memory });
    }
    sum
}

/// Returns the allocatable resources of a node, and its maximum number of pods.
pub(crate) fn allocatable(node: &Object) -> (Resources, i64) {
    let amounts = ["status.allocatable", "status.capacity"]
        .iter()
        .find_map(|path| meta::lookup(node, path));
    let amount = |name: &str| quantity(amounts.and_then(|amounts| amounts.get(name)));
    let resources = Resources {
        cpu: amount("cpu").map_or(0, Quantity::milli_value),
        memory: amount("memory").map_or(0, Quantity::value),
    };
    (resources, amount("pods").map_or(0, Quantity::value))
}

/// Returns the host ports of a pod, with their protocols.
pub(crate) fn host_ports(pod: &Object) -> impl Iterator<Item = (i64, &str)> {
    containers(pod)
        .filter_map(|container| container["ports"].as_array())
        .flatten()
        .filter_map(|port| Some((port["hostPort"].as_i64()?, port["protocol"].as_str().unwrap_or("TCP"))))
        .filter(|(port, _)| *port > 0)
}

/// Returns the volumes of a pod that are disks.
pub(super) fn disks(pod: &Object) -> impl Iterator<Item = &Value> {
    let volumes = meta::lookup(pod, "spec.volumes").and_then(Value::as_array);
    volumes.into_iter().flatten().filter(|volume| is_disk(volume))
}

fn is_disk(volume: &Value) -> bool {
    ["gcePersistentDisk", "awsElasticBlockStore", "rbd"]
        .iter()
        .any(|kind| volume.get(kind).is_some())
}
