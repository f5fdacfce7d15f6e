//! Usage of nodes by their pods.

use std::collections::HashMap;

use serde_json::Value;

use super::demand::{DEFAULT_REQUESTS, Resources, disks, has_ended, host_ports, requests};
use crate::api::Object;

/// Usage of a node by one pod.
pub(crate) struct Demand {
    requested: Resources,
    estimated: Resources,
    ports: Vec<i64>,
    disks: Vec<Value>,
}

impl Demand {
    /// Returns the usage of a pod that has not ended.
    pub(crate) fn of(pod: &Object) -> Self {
        Self {
            requested: requests(pod, Resources::default()),
            estimated: requests(pod, DEFAULT_REQUESTS),
            ports: host_ports(pod).map(|(port, _)| port).collect(),
            disks: disks(pod).cloned().collect(),
        }
    }
}

/// Usage of a node by its pods. Pods that have ended do not count.
#[derive(Default)]
pub(crate) struct NodeUsage {
    pub(super) pods: i64,
    pub(super) requested: Resources,
    /// The same, with default requests for containers without requests.
    pub(super) estimated: Resources,
    ports: HashMap<i64, usize>,
    disks: Vec<Value>,
}

impl NodeUsage {
    /// Returns the usage by these pods.
    pub(crate) fn of<'a>(pods: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut usage = Self::default();
        pods.into_iter().for_each(|pod| usage.add(pod));
        usage
    }

    /// Adds the usage of a pod.
    pub(super) fn add(&mut self, pod: &Object) {
        if !has_ended(pod) {
            self.add_demand(&Demand::of(pod));
        }
    }

    /// Adds the usage of a pod.
    pub(crate) fn add_demand(&mut self, demand: &Demand) {
        self.pods += 1;
        self.requested.add(demand.requested);
        self.estimated.add(demand.estimated);
        for port in &demand.ports {
            *self.ports.entry(*port).or_default() += 1;
        }
        self.disks.extend(demand.disks.iter().cloned());
    }

    /// Subtracts the usage of a pod that was added unchanged.
    pub(super) fn remove(&mut self, pod: &Object) {
        if !has_ended(pod) {
            self.remove_demand(&Demand::of(pod));
        }
    }

    /// Subtracts the usage of a pod.
    pub(crate) fn remove_demand(&mut self, demand: &Demand) {
        self.pods -= 1;
        self.requested.subtract(demand.requested);
        self.estimated.subtract(demand.estimated);
        for port in &demand.ports {
            if let Some(count) = self.ports.get_mut(port) {
                *count = count.saturating_sub(1);
            }
        }
        for disk in &demand.disks {
            if let Some(at) = self.disks.iter().position(|taken| taken == disk) {
                self.disks.swap_remove(at);
            }
        }
    }

    /// Whether a port is in use by any protocol: v1.2 does not distinguish protocols here.
    pub(super) fn has_port(&self, port: i64) -> bool {
        self.ports.get(&port).is_some_and(|count| *count > 0)
    }

    /// Returns the attached disks.
    pub(super) fn disks(&self) -> &[Value] {
        &self.disks
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(cpu: &str) -> Object {
        let container = json!({"resources": {"requests": {"cpu": cpu}}, "ports": [{"hostPort": 80}]});
        let volume = json!({"name": "d", "gcePersistentDisk": {"pdName": "p"}});
        match json!({"spec": {"containers": [container], "volumes": [volume]}}) {
            Value::Object(pod) => pod,
            _ => Object::new(),
        }
    }

    #[test]
    fn added_pods_can_be_removed() {
        let (web, db) = (pod("300m"), pod("1"));
        let mut usage = NodeUsage::of([&web, &db, &web]);
        assert_eq!((usage.pods, usage.requested.cpu), (3, 1600));
        usage.remove(&web);
        usage.remove(&db);
        assert_eq!((usage.pods, usage.requested.cpu), (1, 300));
        assert_eq!((usage.has_port(80), usage.disks().len()), (true, 1));
        usage.remove(&web);
        assert_eq!((usage.has_port(80), usage.disks().len()), (false, 0));
    }

    #[test]
    fn ended_pods_use_nothing() {
        let mut ended = pod("1");
        ended.insert("status".to_owned(), json!({"phase": "Failed"}));
        let usage = NodeUsage::of([&ended]);
        assert_eq!((usage.pods, usage.estimated), (0, Resources::default()));
    }
}
