//! Nodes whose kubelets no longer report become unknown, and lose their pods; pods of nodes that are gone go, too.
//!
//! - A node is unknown when its kubelet has been silent for 40 seconds, or has not reported in the first 60.
//! - A node that has not been ready for five minutes loses its pods, except those of daemon sets.
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

/// How long a kubelet may be silent.
const GRACE: SignedDuration = SignedDuration::from_secs(40);
/// The same for one that has never reported.
const STARTUP_GRACE: SignedDuration = SignedDuration::from_secs(60);
/// How long a node is not ready before its pods are deleted.
const EVICTION: SignedDuration = SignedDuration::from_secs(300);
/// How often pods are looked for whose node was never there.
const ORPHANS: Duration = Duration::from_secs(30);

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
    seen: Mutex<HashMap<String, Seen>>,
}

/// What was last seen of a node.
#[derive(Clone)]
struct Seen {
    /// The time of the kubelet's last report, and when it was seen.
    heartbeat: String,
    reported: Timestamp,
    /// Since when the condition `Ready` says what it says, and when that was seen.
    transition: String,
    changed: Timestamp,
    /// When its pods were deleted, while they are ending.
    evicted: Option<Timestamp>,
}

impl Reconcile for Nodes {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        match self.nodes.get(key) {
            Some(node) => self.look_at(key, &node).await,
            None => self.forget(key).await,
        }
    }
}

/// The status of the condition `Ready`; empty if there is none.
fn readiness(node: &Object) -> &str {
    let ready = pods::condition(node, "Ready");
    ready.and_then(|ready| ready["status"].as_str()).unwrap_or_default()
}

impl Nodes {
    /// Brings a node's conditions up to date, and deletes its pods if it has not been ready for long.
    async fn look_at(&self, key: &ObjectKey, node: &Object) -> Result<(), Status> {
        let now = self.clock.now();
        let known = self.seen.lock().get(&key.name).cloned();
        if known.is_none() {
            let message = format!("Registered Node {} in NodeController", key.name);
            self.event(&key.name, "RegisteredNode", &message).await;
        }
        let mut seen = Seen::of(node, known, now);
        self.seen.lock().insert(key.name.clone(), seen.clone());
        let grace = if readiness(node).is_empty() {
            STARTUP_GRACE
        } else {
            GRACE
        };
        let silent = now.duration_since(seen.reported);
        let mut status = readiness(node).to_owned();
        if silent > grace && status != "Unknown" {
            let updated = self.mark_unknown(node, now).await?;
            seen = Seen {
                changed: now,
                ..Seen::of(&updated, None, seen.reported)
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
            let left = EVICTION - now.duration_since(since);
            if left.is_negative() {
                next.extend(self.evict(key, &mut seen, now).await?);
            } else {
                next.push(left + SignedDuration::from_millis(1));
            }
        }
        if !has_graceful_kubelet(node) {
            self.pods.remove_ending(&key.name).await?;
        }
        self.seen.lock().insert(key.name.clone(), seen);
        for left in next {
            let left = Duration::try_from(left).unwrap_or_default();
            self.queue.add_after(key.clone(), left);
        }
        Ok(())
    }

    /// Deletes the pods of a node, and removes those whose time to end is over; when to look again.
    async fn evict(&self, key: &ObjectKey, seen: &mut Seen, now: Timestamp) -> Result<Option<SignedDuration>, Status> {
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

    /// Deletes the pods of a node that is gone, or was never there.
    async fn forget(&self, key: &ObjectKey) -> Result<(), Status> {
        if self.seen.lock().contains_key(&key.name) {
            let message = format!("Removing Node {} from NodeController", key.name);
            self.event(&key.name, "RemovingNode", &message).await;
            self.pods.delete(&key.name).await?;
            self.seen.lock().remove(&key.name);
            return self.pods.remove_all(&key.name).await;
        }
        self.pods.remove_ending(&key.name).await?;
        if self.pods.is_empty(&key.name) {
            return Ok(());
        }
        let age = Duration::try_from(self.clock.now().duration_since(self.started)).unwrap_or_default();
        let since_last = Duration::from_secs(age.as_secs() % ORPHANS.as_secs());
        if since_last.is_zero() {
            return self.pods.remove_all(&key.name).await;
        }
        self.queue.add_after(key.clone(), ORPHANS - since_last);
        Ok(())
    }

    async fn event(&self, node: &str, reason: &str, message: &str) {
        self.record(node, reason, &format!("Node {node} event: {message}"))
            .await;
    }

    /// An event is no reason to stop.
    async fn record(&self, node: &str, reason: &str, message: &str) {
        let involved = json!({"kind": "Node", "name": node, "uid": node});
        let _ = self
            .recorder
            .record(&involved, EventType::Normal, reason, message)
            .await;
    }

    /// Says of a node that nothing is known of it, and of its pods that they are not ready, if it was.
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

impl Seen {
    /// What is seen of a node now, after what was `known` of it.
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
