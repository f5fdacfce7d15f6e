//! What a kubelet reports of its node.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    api::{Object, Status, meta},
    client::Api,
    clock::Clock,
    cluster::Node,
};

/// How often a kubelet reports.
const REPORT: Duration = Duration::from_secs(10);

/// The version that kubelets say they have.
const VERSION: &str = "v1.2.0";

/// A node as its kubelet registers it.
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
                condition("OutOfDisk", "False", "KubeletHasSufficientDisk", "kubelet has sufficient disk space available"),
                condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
            ],
            "addresses": [
                {"type": "LegacyHostIP", "address": node.address},
                {"type": "InternalIP", "address": node.address},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "",
                "containerRuntimeVersion": "docker://1.9.1", "kubeletVersion": VERSION, "kubeProxyVersion": VERSION,
            },
        },
    })
}

/// Reports the state of the nodes for as long as it is polled.
pub(super) async fn report(nodes: Vec<Node>, api: Api, clock: Clock) {
    loop {
        clock.sleep(REPORT).await;
        for node in &nodes {
            // A node that somebody has deleted, or changes just now, is reported the next time.
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
