//! The node controller: it marks silent nodes as unknown, and evicts the pods of lost nodes.
//!
//! - A node is unknown when its kubelet has not reported for 40 seconds, or not within the first 60.
//! - Pods of a node that has not been ready for five minutes are deleted, except those of daemon sets. So are pods of
//!   deleted nodes.
//! - Source: `pkg/controller/node` of Kubernetes v1.2, with its times, reasons and texts.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    node_pods::{NodePods, has_graceful_kubelet},
    pods,
};
use crate::{
    api::{Object, Status, meta},
    client::{Api, EventRecorder, EventType, Informer, ObjectKey},
    clock::{Clock, stamp},
    cluster::runtime::{Queue, Reconcile, Runtime},
};

/// Time after which a silent node is unknown.
const MONITOR_GRACE_PERIOD: SignedDuration = SignedDuration::from_secs(40);
/// Time after which a node that has never reported is unknown.
const STARTUP_GRACE_PERIOD: SignedDuration = SignedDuration::from_secs(60);
/// Time after which the pods of a node that is not ready are deleted.
const POD_EVICTION_TIMEOUT: SignedDuration = SignedDuration::from_secs(300);
/// Interval at which pods bound to nonexistent nodes are deleted.
const ORPHAN_CHECK_PERIOD: Duration = Duration::from_secs(30);

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, nodes) = (runtime.queue(), runtime.informer("v1", "nodes").await?);
    let pods = runtime.informer("v1", "pods").await?;
    let keys = queue.clone();
    nodes.on_change(move |change| keys.extend(change.object().map(|node| ObjectKey::of(node))));
    let keys = queue.clone();
    pods.on_change(move |change| {
        let node = |pod: &Option<Arc<Object>>| pod.as_ref().map(|pod| meta::text(pod, "spec.nodeName").to_owned());
        let is_ending = |pod: &Arc<Object>| !meta::text(pod, "metadata.deletionTimestamp").is_empty();
        let name = node(&change.new)
            .or_else(|| node(&change.old))
            .filter(|name| !name.is_empty());
        let is_new = node(&change.old) != node(&change.new);
        if let Some(name) = name.filter(|_| is_new || change.new.as_ref().is_some_and(is_ending)) {
            keys.add(ObjectKey::new("", name));
        }
    });
    let recorder = runtime.recorder("controllermanager", None)?;
    let component = Nodes {
        clock: runtime.clock().clone(),
        started: runtime.clock().now(),
        queue: queue.clone(),
        api: runtime.api("v1", "nodes")?,
        pods: NodePods {
            api: runtime.api("v1", "pods")?,
            recorder: recorder.clone(),
            pods,
            daemon_sets: runtime.informer("extensions/v1beta1", "daemonsets").await?,
        },
        recorder,
        nodes,
        seen: Mutex::default(),
    };
    runtime.work(queue, component);
    Ok(())
}

struct Nodes {
    clock: Clock,
    started: Timestamp,
    queue: Queue,
    api: Api,
    pods: NodePods,
    recorder: EventRecorder,
    nodes: Arc<Informer>,
    seen: Mutex<HashMap<String, NodeStatusData>>,
}

/// The last observed status of a node.
#[derive(Clone)]
struct NodeStatusData {
    /// The kubelet's last heartbeat, and when this controller observed it.
    heartbeat: String,
    reported: Timestamp,
    /// The last transition of the `Ready` condition, and when this controller observed it.
    transition: String,
    changed: Timestamp,
    /// When the node's pods were deleted, while they terminate.
    evicted: Option<Timestamp>,
}

impl Reconcile for Nodes {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        match self.nodes.get(key) {
            Some(node) => self.monitor(key, &node).await,
            None => self.delete_orphans(key).await,
        }
    }
}

/// Returns the status of the `Ready` condition; empty if there is none.
fn readiness(node: &Object) -> &str {
    let ready = pods::condition(node, "Ready");
    ready.and_then(|ready| ready["status"].as_str()).unwrap_or_default()
}

impl Nodes {
    /// Updates a node's conditions, and deletes its pods if it has not been ready for too long.
    async fn monitor(&self, key: &ObjectKey, node: &Object) -> Result<(), Status> {
        let now = self.clock.now();
        let known = self.seen.lock().get(&key.name).cloned();
        if known.is_none() {
            let message = format!("Registered Node {} in NodeController", key.name);
            self.event(&key.name, "RegisteredNode", &message).await;
        }
        let mut seen = NodeStatusData::of(node, known, now);
        self.seen.lock().insert(key.name.clone(), seen.clone());
        let grace = if readiness(node).is_empty() {
            STARTUP_GRACE_PERIOD
        } else {
            MONITOR_GRACE_PERIOD
        };
        let silent = now.duration_since(seen.reported);
        let mut status = readiness(node).to_owned();
        if silent > grace && status != "Unknown" {
            let updated = self.mark_unknown(node, now).await?;
            seen = NodeStatusData {
                changed: now,
                ..NodeStatusData::of(&updated, None, seen.reported)
            };
            "Unknown".clone_into(&mut status);
        }
        let mut next = Vec::new();
        if status != "Unknown" {
            next.push((grace - silent).max(SignedDuration::ZERO) + SignedDuration::from_millis(1));
        }
        let since = match status.as_str() {
            "False" => Some(seen.changed),
            "Unknown" => Some(seen.reported),
            _ => None,
        };
        seen.evicted = seen.evicted.filter(|_| since.is_some());
        if let Some(since) = since {
            let left = POD_EVICTION_TIMEOUT - now.duration_since(since);
            if left.is_negative() {
                next.extend(self.evict(key, &mut seen, now).await?);
            } else {
                next.push(left + SignedDuration::from_millis(1));
            }
        }
        if !has_graceful_kubelet(node) {
            self.pods.remove_terminating(&key.name).await?;
        }
        self.seen.lock().insert(key.name.clone(), seen);
        for left in next {
            let left = Duration::try_from(left).unwrap_or_default();
            self.queue.add_after(key.clone(), left);
        }
        Ok(())
    }

    /// Deletes the pods of a node, and removes those whose grace period is over. Returns the delay until the next
    /// check.
    async fn evict(
        &self,
        key: &ObjectKey,
        seen: &mut NodeStatusData,
        now: Timestamp,
    ) -> Result<Option<SignedDuration>, Status> {
        if self.pods.delete(&key.name).await? {
            seen.evicted.get_or_insert(now);
        }
        let Some(evicted) = seen.evicted else {
            return Ok(None);
        };
        let left = self.pods.terminate(&key.name, now.duration_since(evicted)).await?;
        if left.is_none() {
            seen.evicted = None;
            let message = format!("Terminated all Pods on Node {}.", key.name);
            self.event(&key.name, "TerminatedAllPods", &message).await;
        }
        Ok(left)
    }

    /// Deletes the pods of a node that does not exist.
    async fn delete_orphans(&self, key: &ObjectKey) -> Result<(), Status> {
        if self.seen.lock().contains_key(&key.name) {
            let message = format!("Removing Node {} from NodeController", key.name);
            self.event(&key.name, "RemovingNode", &message).await;
            self.pods.delete(&key.name).await?;
            self.seen.lock().remove(&key.name);
            return self.pods.remove_all(&key.name).await;
        }
        self.pods.remove_terminating(&key.name).await?;
        if self.pods.is_empty(&key.name) {
            return Ok(());
        }
        let age = Duration::try_from(self.clock.now().duration_since(self.started)).unwrap_or_default();
        let since_last = Duration::from_secs(age.as_secs() % ORPHAN_CHECK_PERIOD.as_secs());
        if since_last.is_zero() {
            return self.pods.remove_all(&key.name).await;
        }
        self.queue.add_after(key.clone(), ORPHAN_CHECK_PERIOD - since_last);
        Ok(())
    }

    async fn event(&self, node: &str, reason: &str, message: &str) {
        self.record(node, reason, &format!("Node {node} event: {message}"))
            .await;
    }

    /// Records an event. Errors are ignored.
    async fn record(&self, node: &str, reason: &str, message: &str) {
        let involved = json!({"kind": "Node", "name": node, "uid": node});
        let _ = self
            .recorder
            .record(&involved, EventType::Normal, reason, message)
            .await;
    }

    /// Sets a node's conditions to unknown, and marks its pods as not ready if the node was ready.
    async fn mark_unknown(&self, node: &Object, now: Timestamp) -> Result<Arc<Object>, Status> {
        let mut changed = node.clone();
        let created = meta::text(node, "metadata.creationTimestamp").to_owned();
        let mut conditions = match meta::lookup(node, "status.conditions") {
            Some(Value::Array(conditions)) => conditions.clone(),
            _ => Vec::new(),
        };
        for kind in ["Ready", "OutOfDisk"] {
            match conditions.iter_mut().find(|condition| condition["type"] == kind) {
                Some(condition) if condition["status"] == "Unknown" => {}
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
        let updated = self.api.update_status(changed).await?;
        if readiness(node) == "True" {
            let name = meta::text(node, "metadata.name");
            let message = format!("Node {name} status is now: NodeNotReady");
            self.record(name, "NodeNotReady", &message).await;
            self.pods.mark_unready(name).await?;
        }
        Ok(updated)
    }
}

impl NodeStatusData {
    /// Returns the status observed now; `known` is the previous one.
    fn of(node: &Object, known: Option<Self>, now: Timestamp) -> Self {
        let ready = pods::condition(node, "Ready");
        let time = |field: &str| {
            ready
                .and_then(|ready| ready[field].as_str())
                .unwrap_or_default()
                .to_owned()
        };
        let (heartbeat, transition) = (time("lastHeartbeatTime"), time("lastTransitionTime"));
        let created = meta::text(node, "metadata.creationTimestamp").parse().unwrap_or(now);
        let first = if ready.is_none() { created } else { now };
        let same = known
            .as_ref()
            .filter(|known| known.heartbeat == heartbeat && ready.is_some());
        let reported = same.map_or(first, |known| known.reported);
        let same = known
            .as_ref()
            .filter(|known| known.transition == transition && ready.is_some());
        Self {
            reported,
            changed: same.map_or(first, |known| known.changed),
            evicted: known.and_then(|known| known.evicted),
            heartbeat,
            transition,
        }
    }
}
