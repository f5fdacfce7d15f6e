//! The daemon set controller: one pod on each node that fits.
//!
//! - A set is reconciled when its pods or the labels of a node change, and every 30 seconds, so that a node with
//!   newly free resources gets its pod.
//!
//! Source: `pkg/controller/daemon` of Kubernetes v1.2.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::json;

use super::pods::{self, PodControl, RESYNC};
use crate::{
    api::{Object, Status, meta},
    client::{Api, Informer, ObjectKey},
    cluster::{
        runtime::{Queue, Reconcile, Runtime},
        scheduler::{
            demand::{self, Resources},
            predicates,
        },
    },
};

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, sets) = (
        runtime.queue(),
        runtime.informer("extensions/v1beta1", "daemonsets").await?,
    );
    let (pods, nodes) = (
        runtime.informer("v1", "pods").await?,
        runtime.informer("v1", "nodes").await?,
    );
    let keys = queue.clone();
    sets.on_change(move |change| keys.extend(change.new.iter().map(|set| ObjectKey::of(set))));
    let (keys, cache) = (queue.clone(), sets.clone());
    pods.on_change(move |change| {
        if !pods::affects_active_count(change) {
            return;
        }
        for pod in change.old.iter().chain(&change.new) {
            let sets = cache.list_in(meta::text(pod, "metadata.namespace"));
            let selecting = sets
                .iter()
                .filter(|set| pods::selector(set).is_some_and(|selector| pods::matches(&selector, pod)));
            keys.extend(selecting.map(|set| ObjectKey::of(set)));
        }
    });
    let (keys, cache) = (queue.clone(), sets.clone());
    nodes.on_change(move |change| {
        // A heartbeat changes nothing here.
        let labels = |node: &Option<Arc<Object>>| {
            node.as_ref()
                .and_then(|node| meta::lookup(node, "metadata.labels").cloned())
        };
        if change.old.is_none() || change.new.is_none() || labels(&change.old) != labels(&change.new) {
            keys.extend(cache.list().iter().map(|set| ObjectKey::of(set)));
        }
    });
    let component = DaemonSets {
        queue: queue.clone(),
        api: runtime.api("extensions/v1beta1", "daemonsets")?,
        control: PodControl::new(runtime, "daemon-set")?,
        sets,
        pods,
        nodes,
    };
    runtime.work(queue, component);
    Ok(())
}

struct DaemonSets {
    queue: Queue,
    api: Api,
    control: PodControl,
    sets: Arc<Informer>,
    pods: Arc<Informer>,
    nodes: Arc<Informer>,
}

impl Reconcile for DaemonSets {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(set) = self.sets.get(key) else { return Ok(()) };
        let Some(selector) = pods::selector(&set) else {
            return Ok(());
        };
        let mut by_node: BTreeMap<String, Vec<Arc<Object>>> = BTreeMap::new();
        for pod in pods::selected(&self.pods, &key.namespace, &selector) {
            let node = meta::text(&pod, "spec.nodeName").to_owned();
            by_node.entry(node).or_default().push(pod);
        }
        self.queue.add_after(key.clone(), RESYNC);
        let (mut desired, mut current, mut misplaced) = (0, 0, 0);
        for node in self.nodes.list() {
            let name = meta::text(&node, "metadata.name");
            let mut here = by_node.remove(name).unwrap_or_default();
            let runs = !here.is_empty();
            let fits = self.fits(&set, &node, &here);
            desired += u64::from(fits);
            current += u64::from(fits && runs);
            misplaced += u64::from(!fits && runs);
            // After an error, the next reconciliation tries again.
            let _ = if !fits {
                self.delete(&set, &here).await
            } else if here.is_empty() {
                self.control.create(&set, Some(name)).await
            } else {
                here.sort_by_key(|pod| meta::text(pod, "metadata.creationTimestamp").to_owned());
                self.delete(&set, here.get(1..).unwrap_or_default()).await
            };
        }
        let status = json!({
            "currentNumberScheduled": current,
            "numberMisscheduled": misplaced,
            "desiredNumberScheduled": desired,
        });
        if set.get("status") != Some(&status) {
            let mut changed = set.as_ref().clone();
            changed.insert("status".into(), status);
            self.api.in_namespace(&key.namespace).update_status(changed).await?;
        }
        Ok(())
    }
}

impl DaemonSets {
    /// Whether a pod of the set fits a node beside all other pods bound to it, including those that have ended.
    fn fits(&self, set: &Object, node: &Object, own: &[Arc<Object>]) -> bool {
        let out_of_disk = pods::condition(node, "OutOfDisk").is_some_and(|condition| condition["status"] == "True");
        let name = meta::text(node, "metadata.name");
        let mut pod = Object::new();
        let spec = meta::lookup(set, "spec.template.spec").cloned().unwrap_or_default();
        pod.insert("spec".to_owned(), spec);
        let wanted = meta::text(&pod, "spec.nodeName");
        if out_of_disk || !predicates::has_node_labels(&pod, node) || !(wanted.is_empty() || wanted == name) {
            return false;
        }
        let pods = self.pods.list_indexed(name);
        let is_own = |other: &Object| own.iter().any(|pod| std::ptr::eq(pod.as_ref(), other));
        let other_pods = pods.iter().map(AsRef::as_ref).filter(|other| !is_own(other));
        let (has, _) = demand::allocatable(node);
        let (mut used, mut ports) = (Resources::default(), BTreeSet::new());
        for pod in std::iter::once(&pod).chain(other_pods) {
            let requested = demand::requests(pod, Resources::default());
            used.cpu = used.cpu.saturating_add(requested.cpu);
            used.memory = used.memory.saturating_add(requested.memory);
            if !demand::host_ports(pod).all(|port| ports.insert(port)) {
                return false;
            }
        }
        used.cpu <= has.cpu && used.memory <= has.memory
    }

    async fn delete(&self, set: &Object, pods: &[Arc<Object>]) -> Result<(), Status> {
        for pod in pods.iter().filter(|pod| pods::is_active(pod)) {
            self.control.delete(set, pod).await?;
        }
        Ok(())
    }
}
