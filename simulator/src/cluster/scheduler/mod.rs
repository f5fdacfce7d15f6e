//! The scheduler: it binds pods to nodes.
//!
//! - One pod at a time: the nodes that it fits, of those the ones with the highest score, of those the next in turn.
//! - A pod that fits no node is tried again after a second, then after twice as long each time, at most a minute.
//! - Limits: volumes and zones are not looked at.
//! - Source: `plugin/pkg/scheduler` of Kubernetes v1.2, its texts included.

pub(crate) mod predicates;
mod priorities;

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;

use super::runtime::{Queue, Reconcile, Runtime};
use crate::{
    api::{Object, Status, meta},
    client::{Api, EventRecorder, EventType, Informer, ObjectKey, reference},
};
use priorities::Owners;

/// The first wait of a pod that fits no node.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The annotation that names another scheduler.
const SCHEDULER: &str = "scheduler.alpha.kubernetes.io/name";

/// Adds the scheduler to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, pods) = (runtime.queue(), runtime.informer("v1", "pods").await?);
    let keys = queue.clone();
    pods.on_change(move |change| {
        if let Some(pod) = change.new.as_ref().filter(|pod| waits(pod))
            && change.old.as_ref().is_none_or(|old| !waits(old))
        {
            keys.add(ObjectKey::of(pod));
        }
    });
    let scheduler = Scheduler {
        queue: queue.clone(),
        pods,
        nodes: runtime.informer("v1", "nodes").await?,
        owners: Owners {
            services: runtime.informer("v1", "services").await?,
            controllers: runtime.informer("v1", "replicationcontrollers").await?,
            replica_sets: runtime.informer("extensions/v1beta1", "replicasets").await?,
        },
        api: runtime.api("v1", "pods")?,
        recorder: runtime.recorder("default-scheduler", None)?,
        waits: Mutex::default(),
        turn: Mutex::default(),
    };
    runtime.work(queue, scheduler);
    Ok(())
}

/// Whether this scheduler has to bind a pod.
fn waits(pod: &Object) -> bool {
    let scheduler = meta::lookup(pod, "metadata.annotations").and_then(|annotations| annotations[SCHEDULER].as_str());
    meta::text(pod, "spec.nodeName").is_empty()
        && meta::text(pod, "metadata.deletionTimestamp").is_empty()
        && !predicates::is_over(pod)
        && scheduler.is_none_or(|name| name == "default-scheduler")
}

struct Scheduler {
    queue: Queue,
    pods: Arc<Informer>,
    nodes: Arc<Informer>,
    owners: Owners,
    api: Api,
    recorder: EventRecorder,
    waits: Mutex<HashMap<ObjectKey, Duration>>,
    turn: Mutex<usize>,
}

impl Reconcile for Scheduler {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(pod) = self.pods.get(key).filter(|pod| waits(pod)) else {
            self.waits.lock().remove(key);
            return Ok(());
        };
        match self.choose(&pod) {
            Ok(node) => {
                self.api.in_namespace(&key.namespace).bind(&key.name, &node).await?;
                self.waits.lock().remove(key);
                let message = format!("Successfully assigned {} to {node}", key.name);
                self.event(&pod, EventType::Normal, "Scheduled", &message).await;
            }
            Err(why) => {
                self.event(&pod, EventType::Warning, "FailedScheduling", &why).await;
                let wait = {
                    let mut waits = self.waits.lock();
                    let wait = waits.get(key).map_or(FIRST_WAIT, |last| (2 * *last).min(LONGEST_WAIT));
                    waits.insert(key.clone(), wait);
                    wait
                };
                self.queue.add_after(key.clone(), wait);
            }
        }
        Ok(())
    }
}

impl Scheduler {
    /// Events are no reason to stop: where one cannot be recorded, pods are bound all the same.
    async fn event(&self, pod: &Object, kind: EventType, reason: &str, message: &str) {
        let _ = self.recorder.record(&reference(pod), kind, reason, message).await;
    }

    /// The node for a pod, or what says that there is none.
    fn choose(&self, pod: &Object) -> Result<String, String> {
        let nodes: Vec<_> = self.nodes.list().into_iter().filter(|node| is_usable(node)).collect();
        if nodes.is_empty() {
            return Err("no nodes available to schedule pods".to_owned());
        }
        let pods = self.pods.list();
        let mut by_node: HashMap<&str, Vec<&Object>> = HashMap::new();
        for other in pods.iter().filter(|other| !predicates::is_over(other)) {
            by_node
                .entry(meta::text(other, "spec.nodeName"))
                .or_default()
                .push(other);
        }
        let none = Vec::new();
        let mut failures = format!("pod ({}) failed to fit in any node\n", meta::text(pod, "metadata.name"));
        let mut fits = Vec::new();
        for node in &nodes {
            let name = meta::text(node, "metadata.name");
            let others = by_node.get(name).unwrap_or(&none);
            match predicates::general(pod, node, others) {
                Ok(()) => fits.push((node, others)),
                Err(why) => failures.push_str(&format!("fit failure on node ({name}): {why}\n")),
            }
        }
        let selectors = self.owners.selectors(pod);
        let counts: Vec<usize> = fits
            .iter()
            .map(|(_, others)| priorities::alike(pod, others, &selectors))
            .collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        let scores: Vec<i64> = fits
            .iter()
            .zip(&counts)
            .map(|((node, others), count)| priorities::resources(pod, node, others) + priorities::spread(*count, most))
            .collect();
        let best = scores.iter().copied().max().ok_or(failures)?;
        let best: Vec<&str> = fits
            .iter()
            .zip(&scores)
            .filter(|(_, score)| **score == best)
            .map(|((node, _), _)| meta::text(node, "metadata.name"))
            .collect();
        let mut turn = self.turn.lock();
        *turn = turn.wrapping_add(1);
        Ok(best.get(*turn % best.len()).copied().unwrap_or_default().to_owned())
    }
}

/// Whether pods may be bound to a node: it is ready, has disk space, and is not cordoned.
fn is_usable(node: &Object) -> bool {
    let conditions = meta::lookup(node, "status.conditions").and_then(serde_json::Value::as_array);
    let ready = conditions.is_some_and(|conditions| {
        conditions.iter().all(|condition| match condition["type"].as_str() {
            Some("Ready") => condition["status"] == "True",
            Some("OutOfDisk") => condition["status"] == "False",
            _ => true,
        })
    });
    ready && meta::lookup(node, "spec.unschedulable") != Some(&true.into())
}
