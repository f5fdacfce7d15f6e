//! The scheduler: it binds pods to nodes.
//!
//! - It binds one pod at a time to the fitting node with the highest score. Among equal scores it takes turns, in
//!   descending order of names.
//! - A pod that fits no node is retried after one second, then with doubled delays of at most one minute.
//! - Limits: zones and the maximum number of disks per node are ignored.
//! - Source: `plugin/pkg/scheduler` of Kubernetes v1.2, its texts included.

pub(crate) mod demand;
mod node_usage;
mod pods_by_labels;
pub(crate) mod predicates;
mod priorities;

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;

use super::runtime::{Queue, Reconcile, Runtime};
use crate::{
    api::{Object, Status, meta},
    client::{Api, Change, EventRecorder, EventType, Informer, ObjectKey, reference},
};
pub(crate) use node_usage::{Demand, NodeUsage};
use pods_by_labels::PodsByLabels;
use priorities::Owners;

/// Initial delay of a pod that fits no node.
const INITIAL_BACK_OFF: Duration = Duration::from_secs(1);
/// Maximum delay.
const MAX_BACK_OFF: Duration = Duration::from_secs(60);
/// The annotation with the name of the pod's scheduler.
const SCHEDULER: &str = "scheduler.alpha.kubernetes.io/name";

/// Adds the scheduler to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, pods) = (runtime.queue(), runtime.informer("v1", "pods").await?);
    let keys = queue.clone();
    pods.on_change(move |change| {
        if let Some(pod) = change.new.as_ref().filter(|pod| needs_binding(pod))
            && change.old.as_ref().is_none_or(|old| !needs_binding(old))
        {
            keys.add(ObjectKey::of(pod));
        }
    });
    let usage: Arc<Mutex<Usage>> = Arc::default();
    let counted = usage.clone();
    pods.on_change(move |change| count(&counted, change));
    let scheduler = Scheduler {
        usage,
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
        back_offs: Mutex::default(),
        last_node_index: Mutex::default(),
    };
    runtime.work(queue, scheduler);
    Ok(())
}

/// Whether this scheduler has to bind a pod.
fn needs_binding(pod: &Object) -> bool {
    let scheduler = meta::lookup(pod, "metadata.annotations").and_then(|annotations| annotations[SCHEDULER].as_str());
    meta::text(pod, "spec.nodeName").is_empty()
        && meta::text(pod, "metadata.deletionTimestamp").is_empty()
        && !demand::has_ended(pod)
        && scheduler.is_none_or(|name| name == "default-scheduler")
}

/// Updates the usage of nodes after a change of a pod.
fn count(usage: &Mutex<Usage>, change: &Change) {
    if let (Some(old), Some(new)) = (&change.old, &change.new) {
        let same = |path: &str| meta::lookup(old, path) == meta::lookup(new, path);
        let paths = ["spec.nodeName", "metadata.labels", "metadata.deletionTimestamp"];
        if paths.iter().all(|path| same(path)) && demand::has_ended(old) == demand::has_ended(new) {
            return;
        }
    }
    let mut usage = usage.lock();
    if let Some(old) = change.old.as_ref().filter(|old| is_bound(old)) {
        usage.by_node.entry(node_of(old)).or_default().remove(old);
        usage.by_labels.remove(old);
    }
    if let Some(new) = change.new.as_ref().filter(|new| is_bound(new)) {
        usage.by_node.entry(node_of(new)).or_default().add(new);
        usage.by_labels.add(new);
    }
}

fn node_of(pod: &Object) -> String {
    meta::text(pod, "spec.nodeName").to_owned()
}

fn is_bound(pod: &Object) -> bool {
    !meta::text(pod, "spec.nodeName").is_empty()
}

/// Usage of all nodes by bound pods.
#[derive(Default)]
struct Usage {
    /// Usage by node name.
    by_node: HashMap<String, NodeUsage>,
    by_labels: PodsByLabels,
}

struct Scheduler {
    usage: Arc<Mutex<Usage>>,
    queue: Queue,
    pods: Arc<Informer>,
    nodes: Arc<Informer>,
    owners: Owners,
    api: Api,
    recorder: EventRecorder,
    back_offs: Mutex<HashMap<ObjectKey, Duration>>,
    last_node_index: Mutex<usize>,
}

impl Reconcile for Scheduler {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(pod) = self.pods.get(key).filter(|pod| needs_binding(pod)) else {
            self.back_offs.lock().remove(key);
            return Ok(());
        };
        match self.choose(&pod) {
            Ok(node) => {
                self.api.in_namespace(&key.namespace).bind(&key.name, &node).await?;
                self.back_offs.lock().remove(key);
                let message = format!("Successfully assigned {} to {node}", key.name);
                self.event(&pod, EventType::Normal, "Scheduled", &message).await;
            }
            Err(why) => {
                self.event(&pod, EventType::Warning, "FailedScheduling", &why).await;
                let wait = {
                    let mut back_offs = self.back_offs.lock();
                    let wait = back_offs
                        .get(key)
                        .map_or(INITIAL_BACK_OFF, |last| (2 * *last).min(MAX_BACK_OFF));
                    back_offs.insert(key.clone(), wait);
                    wait
                };
                self.queue.add_after(key.clone(), wait);
            }
        }
        Ok(())
    }
}

impl Scheduler {
    /// Records an event. Errors are ignored: scheduling does not depend on events.
    async fn event(&self, pod: &Object, kind: EventType, reason: &str, message: &str) {
        let _ = self.recorder.record(&reference(pod), kind, reason, message).await;
    }

    /// Chooses the node of a pod. Fails with the event's message if no node fits.
    fn choose(&self, pod: &Object) -> Result<String, String> {
        let nodes: Vec<_> = self.nodes.list().into_iter().filter(|node| is_usable(node)).collect();
        if nodes.is_empty() {
            return Err("no nodes available to schedule pods".to_owned());
        }
        let usage = self.usage.lock();
        let none = NodeUsage::default();
        let mut failures = format!("pod ({}) failed to fit in any node\n", meta::text(pod, "metadata.name"));
        let mut fits = Vec::new();
        for node in &nodes {
            let name = meta::text(node, "metadata.name");
            let taken = usage.by_node.get(name).unwrap_or(&none);
            let fit = match predicates::has_disk_conflict(pod, taken) {
                true => Err("NoDiskConflict".to_owned()),
                false => predicates::general(pod, node, taken),
            };
            match fit {
                Ok(()) => fits.push((node, taken)),
                Err(why) => failures.push_str(&format!("fit failure on node ({name}): {why}\n")),
            }
        }
        let (selectors, namespace) = (self.owners.selectors(pod), meta::text(pod, "metadata.namespace"));
        let selected = usage.by_labels.selected(namespace, &selectors);
        let count = |node: &Object| selected.get(meta::text(node, "metadata.name")).copied().unwrap_or(0);
        let counts: Vec<usize> = fits.iter().map(|(node, _)| count(node)).collect();
        let max_count = counts.iter().copied().max().unwrap_or(0);
        let fitting: Vec<&Object> = fits.iter().map(|(node, _)| node.as_ref()).collect();
        let preferred = priorities::preferred(pod, &fitting);
        let scores: Vec<i64> = fits
            .iter()
            .zip(&counts)
            .zip(preferred)
            .map(|(((node, taken), count), preferred)| {
                priorities::resources(pod, node, taken) + priorities::spread(*count, max_count) + preferred
            })
            .collect();
        let best = scores.iter().copied().max().ok_or(failures)?;
        let best: Vec<&str> = fits
            .iter()
            .zip(&scores)
            .filter(|(_, score)| **score == best)
            .map(|((node, _), _)| meta::text(node, "metadata.name"))
            .collect();
        let mut last_node_index = self.last_node_index.lock();
        let chosen = best
            .iter()
            .rev()
            .nth(*last_node_index % best.len())
            .copied()
            .unwrap_or_default();
        *last_node_index = last_node_index.wrapping_add(1);
        Ok(chosen.to_owned())
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
