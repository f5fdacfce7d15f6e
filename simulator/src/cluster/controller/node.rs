//! Nodes whose kubelets no longer report become unknown, and lose their pods; pods of nodes that are gone go, too.
//!
//! Source: `pkg/controller/node` of Kubernetes v1.2.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::pods;
use crate::{
    api::{Object, Status, meta},
    client::{Api, EventRecorder, EventType, Informer, ObjectKey},
    clock::{Clock, stamp},
    cluster::runtime::{Queue, Reconcile, Runtime},
};

/// How long a kubelet may be silent.
const GRACE: SignedDuration = SignedDuration::from_secs(40);
/// The same for one that has never reported.
const STARTUP_GRACE: SignedDuration = SignedDuration::from_secs(60);
/// How long a node is unknown before its pods are deleted.
const EVICTION: SignedDuration = SignedDuration::from_secs(300);

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, nodes) = (runtime.queue(), runtime.informer("v1", "nodes").await?);
    let pods = runtime.informer("v1", "pods").await?;
    let keys = queue.clone();
    nodes.on_change(move |change| keys.extend(change.object().map(|node| ObjectKey::of(node))));
    let keys = queue.clone();
    pods.on_change(move |change| {
        let node = change.new.as_ref().map(|pod| meta::text(pod, "spec.nodeName"));
        keys.extend(
            node.filter(|node| !node.is_empty())
                .map(|node| ObjectKey::new("", node)),
        );
    });
    let component = Nodes {
        clock: runtime.clock().clone(),
        queue: queue.clone(),
        api: runtime.api("v1", "nodes")?,
        pod_api: runtime.api("v1", "pods")?,
        recorder: runtime.recorder("controllermanager", None)?,
        nodes,
        pods,
        seen: Mutex::default(),
    };
    runtime.work(queue, component);
    Ok(())
}

struct Nodes {
    clock: Clock,
    queue: Queue,
    api: Api,
    pod_api: Api,
    recorder: EventRecorder,
    nodes: Arc<Informer>,
    pods: Arc<Informer>,
    /// The last report of each node, and when it was seen.
    seen: Mutex<HashMap<String, (String, Timestamp)>>,
}

impl Reconcile for Nodes {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(node) = self.nodes.get(key) else {
            self.seen.lock().remove(&key.name);
            return self.delete_pods(&key.name).await;
        };
        let now = self.clock.now();
        let report = pods::condition(&node, "Ready").map(|ready| &ready["lastHeartbeatTime"]);
        let report = report.and_then(Value::as_str).unwrap_or_default();
        let grace = if report.is_empty() { STARTUP_GRACE } else { GRACE };
        let since = {
            let mut seen = self.seen.lock();
            let created = meta::text(&node, "metadata.creationTimestamp").parse().unwrap_or(now);
            let first = if report.is_empty() { created } else { now };
            let last = seen
                .entry(key.name.clone())
                .or_insert_with(|| (report.to_owned(), first));
            if last.0 != report && !is_unknown(&node) {
                *last = (report.to_owned(), now);
            }
            last.1
        };
        let silent = now.duration_since(since);
        let next = if silent < grace {
            grace - silent
        } else {
            if !is_unknown(&node) {
                self.mark_unknown(&node, now).await?;
            }
            if silent >= grace + EVICTION {
                return self.delete_pods(&key.name).await;
            }
            grace + EVICTION - silent
        };
        let next = Duration::try_from(next).unwrap_or_default();
        self.queue.add_after(key.clone(), next.max(Duration::from_millis(1)));
        Ok(())
    }
}

fn is_unknown(node: &Object) -> bool {
    pods::condition(node, "Ready").is_some_and(|ready| ready["status"] == "Unknown")
}

impl Nodes {
    /// Says of a node that nothing is known of it, and of its pods that they are not ready.
    async fn mark_unknown(&self, node: &Object, now: Timestamp) -> Result<(), Status> {
        let mut changed = node.clone();
        let created = meta::text(node, "metadata.creationTimestamp").to_owned();
        let mut conditions = match meta::lookup(node, "status.conditions") {
            Some(Value::Array(conditions)) => conditions.clone(),
            _ => Vec::new(),
        };
        for kind in ["OutOfDisk", "Ready"] {
            match conditions.iter_mut().find(|condition| condition["type"] == kind) {
                Some(condition) => {
                    condition["status"] = "Unknown".into();
                    condition["reason"] = "NodeStatusUnknown".into();
                    condition["message"] = "Kubelet stopped posting node status.".into();
                    condition["lastTransitionTime"] = stamp(now).into();
                }
                None => conditions.push(json!({
                    "type": kind,
                    "status": "Unknown",
                    "lastHeartbeatTime": created,
                    "lastTransitionTime": stamp(now),
                    "reason": "NodeStatusNeverUpdated",
                    "message": "Kubelet never posted node status.",
                })),
            }
        }
        meta::child(&mut changed, "status").insert("conditions".to_owned(), Value::Array(conditions));
        self.api.update_status(changed).await?;
        let name = meta::text(node, "metadata.name");
        let involved = json!({"kind": "Node", "name": name, "uid": name});
        let message = format!("Node {name} status is now: NodeNotReady");
        // An event is no reason to stop.
        let _ = self
            .recorder
            .record(&involved, EventType::Normal, "NodeNotReady", &message)
            .await;
        for pod in self.pods_on(name) {
            self.mark_unready(&pod, now).await?;
        }
        Ok(())
    }

    async fn mark_unready(&self, pod: &Object, now: Timestamp) -> Result<(), Status> {
        let mut changed = pod.clone();
        let conditions = meta::child(&mut changed, "status").get_mut("conditions");
        let ready = conditions
            .and_then(Value::as_array_mut)
            .and_then(|conditions| conditions.iter_mut().find(|c| c["type"] == "Ready"))
            .filter(|ready| ready["status"] == "True");
        let Some(ready) = ready else { return Ok(()) };
        ready["status"] = "False".into();
        ready["lastTransitionTime"] = stamp(now).into();
        let api = self.pod_api.in_namespace(meta::text(pod, "metadata.namespace"));
        api.update_status(changed).await.map(drop)
    }

    fn pods_on(&self, node: &str) -> Vec<Arc<Object>> {
        let mut pods = self.pods.list();
        pods.retain(|pod| meta::text(pod, "spec.nodeName") == node);
        pods
    }

    /// Deletes the pods of a node that nobody runs.
    async fn delete_pods(&self, node: &str) -> Result<(), Status> {
        for pod in self.pods_on(node) {
            let key = ObjectKey::of(&pod);
            match self
                .pod_api
                .in_namespace(&key.namespace)
                .delete(&key.name, Some(0))
                .await
            {
                Err(gone) if gone.code == 404 => {}
                other => other?,
            }
        }
        Ok(())
    }
}
