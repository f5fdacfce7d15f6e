//! Node registration and status reports of kubelets.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    api::{Object, Status, meta},
    client::Api,
    clock::Clock,
    cluster::Node,
};

/// Interval of the status reports.
const REPORT_PERIOD: Duration = Duration::from_secs(10);

/// Version reported by kubelets.
const KUBELET_VERSION: &str = "v1.2.0";

/// Returns the node object registered by its kubelet.
pub(super) fn registered(node: &Node, clock: &Clock) -> Value {
    let (now, amount) = (clock.stamp(), json!({"cpu": "4", "memory": "8Gi", "pods": "110"}));
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "lastHeartbeatTime": now, "lastTransitionTime": now,
            "reason": reason, "message": message,
        })
    };
    json!({
        "metadata": {"name": node.name, "labels": {"kubernetes.io/hostname": node.name}},
        "spec": {"externalID": node.name},
        "status": {
            "capacity": amount,
            "allocatable": amount,
            "conditions": [
                condition("OutOfDisk", "False", "KubeletHasSufficientDisk",
                    "kubelet has sufficient disk space available"),
                condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
            ],
            "addresses": [
                {"type": "LegacyHostIP", "address": node.address},
                {"type": "InternalIP", "address": node.address},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "",
                "containerRuntimeVersion": "docker://1.9.1",
                "kubeletVersion": KUBELET_VERSION, "kubeProxyVersion": KUBELET_VERSION,
            },
        },
    })
}

/// Reports the status of the nodes until the future is dropped.
pub(super) async fn report(nodes: Vec<Node>, api: Api, clock: Clock) {
    loop {
        clock.sleep(REPORT_PERIOD).await;
        for node in &nodes {
            // A node that was deleted, or has just been changed by others, is reported at the next interval.
            let _ = report_one(node, &api, &clock).await;
        }
    }
}

async fn report_one(node: &Node, api: &Api, clock: &Clock) -> Result<(), Status> {
    let mut object: Object = api.get(&node.name).await?.as_ref().clone();
    let now = clock.stamp();
    let fresh = registered(node, clock);
    let conditions = fresh["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let status = meta::child(&mut object, "status");
    let mut old = match status.remove("conditions") {
        Some(Value::Array(conditions)) => conditions,
        _ => Vec::new(),
    };
    for condition in conditions {
        match old.iter_mut().find(|c| c["type"] == condition["type"]) {
            Some(same) if same["status"] == condition["status"] => same["lastHeartbeatTime"] = now.as_str().into(),
            Some(other) => *other = condition,
            None => old.push(condition),
        }
    }
    status.insert("conditions".into(), Value::Array(old));
    api.update_status(object).await.map(drop)
}
