//! Daemon sets: one pod on each node that fits.
//!
//! Source: `pkg/controller/daemon` of Kubernetes v1.2.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;

use super::pods::{self, PodControl};
use crate::{
    api::{Object, Status, meta},
    client::{Api, Informer, ObjectKey},
    cluster::{
        runtime::{Reconcile, Runtime},
        scheduler::predicates,
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
        let part = |node: &Option<Arc<Object>>| {
            let part = |path: &str| node.as_ref().and_then(|node| meta::lookup(node, path)).cloned();
            (part("metadata.labels"), part("spec"), part("status.allocatable"))
        };
        if change.old.is_none() || change.new.is_none() || part(&change.old) != part(&change.new) {
            keys.extend(cache.list().iter().map(|set| ObjectKey::of(set)));
        }
    });
    let component = DaemonSets {
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
        let (mut desired, mut current, mut misplaced) = (0, 0, 0);
        let mut outcome = Ok(());
        for node in self.nodes.list() {
            let name = meta::text(&node, "metadata.name");
            let mut here = by_node.remove(name).unwrap_or_default();
            let runs = !here.is_empty();
            let fits = self.fits(&set, &node, &here);
            desired += u64::from(fits);
            current += u64::from(fits && runs);
            misplaced += u64::from(!fits && runs);
            let done = if !fits {
                self.delete(&set, &here).await
            } else if here.is_empty() {
                self.control.create(&set, Some(name)).await
            } else {
                here.sort_by_key(|pod| meta::text(pod, "metadata.creationTimestamp").to_owned());
                self.delete(&set, here.get(1..).unwrap_or_default()).await
            };
            outcome = outcome.and(done);
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
        outcome
    }
}

impl DaemonSets {
    /// Whether a pod of the set fits a node, beside those of the set that are there.
    fn fits(&self, set: &Object, node: &Object, own: &[Arc<Object>]) -> bool {
        let out_of_disk = pods::condition(node, "OutOfDisk").is_some_and(|condition| condition["status"] == "True");
        let name = meta::text(node, "metadata.name");
        let spec = meta::lookup(set, "spec.template.spec").cloned().unwrap_or_default();
        let mut pod = Object::new();
        pod.insert("spec".to_owned(), spec);
        let pods = self.pods.list();
        let others: Vec<&Object> = pods
            .iter()
            .map(|other| other.as_ref())
            .filter(|other| meta::text(other, "spec.nodeName") == name && !predicates::is_over(other))
            .filter(|other| {
                let uid = meta::text(other, "metadata.uid");
                !own.iter().any(|pod| meta::text(pod, "metadata.uid") == uid)
            })
            .collect();
        !out_of_disk && predicates::general(&pod, node, &others).is_ok()
    }

    async fn delete(&self, set: &Object, pods: &[Arc<Object>]) -> Result<(), Status> {
        for pod in pods.iter().filter(|pod| pods::is_active(pod)) {
            self.control.delete(set, pod).await?;
        }
        Ok(())
    }
}
