//! The deployment controller: one replica set per template, scaled step by step from the old ones to the new one.
//!
//! - A paused deployment neither rolls out nor scales; its status is updated.
//! - Source: `pkg/controller/deployment` of Kubernetes v1.2.

mod adoption;
mod replica_sets;
mod rollback;
mod rollout;

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::pods;
use crate::{
    api::{Object, Status, meta},
    client::{Api, Change, EventRecorder, EventType, Informer, ObjectKey, reference},
    clock::Clock,
    cluster::runtime::{Queue, Reconcile, Runtime},
};
use replica_sets::ReplicaSets;

/// The annotation with the revision of a replica set or deployment.
const REVISION_ANNOTATION: &str = "deployment.kubernetes.io/revision";

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    const GROUP: &str = "extensions/v1beta1";
    let (queue, deployments) = (
        runtime.high_priority_queue(),
        runtime.informer(GROUP, "deployments").await?,
    );
    let (sets, pods) = (
        runtime.informer(GROUP, "replicasets").await?,
        runtime.informer("v1", "pods").await?,
    );
    let keys = queue.clone();
    deployments.on_change(move |change| keys.extend(change.new.iter().map(|deployment| ObjectKey::of(deployment))));
    let (keys, cache) = (queue.clone(), deployments.clone());
    sets.on_change(move |change| keys.extend(selecting(&cache, change)));
    let (keys, cache) = (queue.clone(), deployments.clone());
    pods.on_change(move |change| {
        if pods::affects_ready_count(change) {
            keys.extend(selecting(&cache, change));
        }
    });
    let component = Deployments {
        clock: runtime.clock().clone(),
        queue: queue.clone(),
        api: runtime.api(GROUP, "deployments")?,
        set_api: runtime.api(GROUP, "replicasets")?,
        pod_api: runtime.api("v1", "pods")?,
        recorder: runtime.recorder("deployment-controller", None)?,
        deployments,
        sets,
        pods,
    };
    runtime.work(queue, component);
    Ok(())
}

/// Returns the keys of the deployments that select an object, before or after its change.
fn selecting(deployments: &Informer, change: &Change) -> Vec<ObjectKey> {
    let mut keys = Vec::new();
    for object in change.old.iter().chain(&change.new) {
        let deployments = deployments.list_in(meta::text(object, "metadata.namespace"));
        let selecting = deployments
            .iter()
            .filter(|deployment| pods::selector(deployment).is_some_and(|selector| pods::matches(&selector, object)));
        keys.extend(selecting.map(|deployment| ObjectKey::of(deployment)));
    }
    keys
}

struct Deployments {
    clock: Clock,
    queue: Queue,
    api: Api,
    set_api: Api,
    pod_api: Api,
    recorder: EventRecorder,
    deployments: Arc<Informer>,
    sets: Arc<Informer>,
    pods: Arc<Informer>,
}

/// Returns the revision of an object; 0 if it has none.
fn revision(object: &Object) -> i64 {
    let annotations = meta::lookup(object, "metadata.annotations");
    let text = annotations.and_then(|annotations| annotations[REVISION_ANNOTATION].as_str());
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn replicas(object: &Object) -> i64 {
    pods::number(object, "spec.replicas")
}

impl Reconcile for Deployments {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(deployment) = self.deployments.get(key) else {
            return Ok(());
        };
        if pods::selector(&deployment).is_none() {
            return Ok(());
        }
        if !self.adopt(&deployment).await? {
            // The adoption changes objects, which enqueues the deployment again.
            return Ok(());
        }
        let mut sets = self.replica_sets(&deployment);
        if meta::lookup(&deployment, "spec.paused") == Some(&true.into()) {
            self.annotate_new(&deployment, &mut sets).await?;
            return self.report(&deployment, &sets).await;
        }
        if let Some(to) = meta::lookup(&deployment, "spec.rollbackTo") {
            let revision = to["revision"].as_i64().unwrap_or_default();
            if self.ensure_new(&deployment, &mut sets).await? {
                return Ok(());
            }
            return self.roll_back(&deployment, &sets, revision).await;
        }
        if meta::text(&deployment, "spec.strategy.type") == "Recreate" {
            self.recreate(&deployment, sets).await
        } else {
            self.roll(&deployment, sets).await
        }
    }
}

impl Deployments {
    /// Records an event. Errors are ignored: the rollout does not depend on events.
    async fn event(&self, deployment: &Object, kind: EventType, reason: &str, message: &str) {
        let _ = self
            .recorder
            .record(&reference(deployment), kind, reason, message)
            .await;
    }

    /// Returns the number of pods of these replica sets that have been ready for `minReadySeconds`. Enqueues the
    /// deployment for the time at which the next pod has been.
    fn available(&self, deployment: &Object, sets: &[&Arc<Object>], min_ready: i64) -> i64 {
        let now = self.clock.now();
        let namespace = meta::text(deployment, "metadata.namespace");
        let mut count = 0;
        for set in sets {
            let Some(selector) = pods::selector(set) else { continue };
            for pod in pods::selected(&self.pods, namespace, &selector) {
                let Some(since) = ready_since(&pod) else { continue };
                let left = SignedDuration::from_secs(min_ready) - now.duration_since(since);
                match Duration::try_from(left) {
                    Ok(left) if !left.is_zero() && min_ready > 0 => {
                        self.queue.add_after(ObjectKey::of(deployment), left);
                    }
                    _ => count += 1,
                }
            }
        }
        count
    }

    /// Updates the status if it has changed. Replica sets scaled to 0 do not count, even while they still have pods.
    async fn report(&self, deployment: &Object, sets: &ReplicaSets) -> Result<(), Status> {
        let all = sets.active();
        let sum = |sets: &[&Arc<Object>], path: &str| sets.iter().map(|set| pods::number(set, path)).sum::<i64>();
        let min_ready = pods::number(deployment, "spec.minReadySeconds");
        let available = self.available(deployment, &all, min_ready);
        let new: Vec<_> = sets.new.iter().collect();
        let mut status = Map::new();
        for (name, count) in [
            ("observedGeneration", pods::number(deployment, "metadata.generation")),
            ("replicas", sum(&all, "status.replicas")),
            ("updatedReplicas", sum(&new, "status.replicas")),
            ("availableReplicas", available),
            ("unavailableReplicas", sum(&all, "spec.replicas") - available),
        ] {
            if count != 0 {
                status.insert(name.to_owned(), count.into());
            }
        }
        if deployment.get("status").and_then(Value::as_object) == Some(&status) {
            return Ok(());
        }
        let mut changed = deployment.clone();
        changed.insert("status".into(), Value::Object(status));
        let api = self.api.in_namespace(meta::text(deployment, "metadata.namespace"));
        api.update_status(changed).await.map(drop)
    }

    /// Sets the deployment's revision annotation.
    async fn set_revision(&self, deployment: &Object, revision: i64) -> Result<(), Status> {
        let patch = json!({"metadata": {"annotations": {REVISION_ANNOTATION: revision.to_string()}}});
        let api = self.api.in_namespace(meta::text(deployment, "metadata.namespace"));
        api.patch(meta::text(deployment, "metadata.name"), &patch)
            .await
            .map(drop)
    }
}

/// Returns the time at which a pod became ready.
fn ready_since(pod: &Object) -> Option<Timestamp> {
    let ready = pods::condition(pod, "Ready").filter(|ready| ready["status"] == "True")?;
    ready["lastTransitionTime"].as_str()?.parse().ok()
}
