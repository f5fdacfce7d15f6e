//! The nodes of a cluster.

use std::net::Ipv4Addr;

use serde_json::json;

use super::{core, fields};
use crate::{api::Status, clock::Clock, registry::Registry};

/// A node that has joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name: `node-1`.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its number, counted from 1; the third part of its pods' addresses.
    pub number: u8,
}

impl Node {
    /// The address of its pod number `pod`, counted from 0.
    pub fn pod_address(&self, pod: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 244, self.number, pod.saturating_add(3))
    }
}

/// Lets `count` nodes join, all ready.
pub async fn join(registry: &Registry, clock: &Clock, count: u8) -> Result<Vec<Node>, Status> {
    let mut joined = Vec::new();
    for number in 1..=count {
        let node = Node {
            name: format!("node-{number}"),
            address: Ipv4Addr::new(10, 240, 0, number.saturating_add(1)),
            number,
        };
        let (now, amount) = (clock.stamp(), json!({"cpu": "4", "memory": "8Gi", "pods": "110"}));
        let condition = |kind: &str, status: &str, reason: &str, message: &str| json!({"type": kind, "status": status, "lastHeartbeatTime": now, "lastTransitionTime": now, "reason": reason, "message": message});
        let object = json!({
            "metadata": {"name": node.name, "labels": {"kubernetes.io/hostname": node.name}},
            "spec": {"podCIDR": format!("10.244.{number}.0/24"), "externalID": node.name},
            "status": {
                "capacity": amount,
                "allocatable": amount,
                "conditions": [
                    condition("OutOfDisk", "False", "KubeletHasSufficientDisk", "kubelet has sufficient disk space available"),
                    condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
                ],
                "addresses": [{"type": "LegacyHostIP", "address": node.address}, {"type": "InternalIP", "address": node.address}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            },
        });
        registry
            .create_from(&core(registry, "nodes", None, None)?, fields(object))
            .await?;
        joined.push(node);
    }
    Ok(joined)
}
