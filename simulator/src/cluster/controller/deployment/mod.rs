//! Deployments: a replica set for each template, scaled step by step from the old ones to the new one.
//!
//! Source: `pkg/controller/deployment` of Kubernetes v1.2.

mod replica_sets;
mod rollout;

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::pods;
use crate::{
    api::{Object, Status, meta},
    client::{Api, EventRecorder, EventType, Informer, ObjectKey, reference},
    clock::Clock,
    cluster::runtime::{Queue, Reconcile, Runtime},
};
use replica_sets::ReplicaSets;

/// The annotation that numbers the templates of a deployment.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    const GROUP: &str = "extensions/v1beta1";
    let (queue, deployments) = (runtime.queue(), runtime.informer(GROUP, "deployments").await?);
    let (sets, pods) = (
        runtime.informer(GROUP, "replicasets").await?,
        runtime.informer("v1", "pods").await?,
    );
    let keys = queue.clone();
    deployments.on_change(move |change| keys.extend(change.new.iter().map(|deployment| ObjectKey::of(deployment))));
    for selected in [&sets, &pods] {
        let (keys, cache) = (queue.clone(), deployments.clone());
        selected.on_change(move |change| {
            for object in change.old.iter().chain(&change.new) {
                let deployments = cache.list_in(meta::text(object, "metadata.namespace"));
                let selecting = deployments.iter().filter(|deployment| {
                    pods::selector(deployment).is_some_and(|selector| pods::matches(&selector, object))
                });
                keys.extend(selecting.map(|deployment| ObjectKey::of(deployment)));
            }
        });
    }
    let component = Deployments {
        clock: runtime.clock().clone(),
        queue: queue.clone(),
        api: runtime.api(GROUP, "deployments")?,
        set_api: runtime.api(GROUP, "replicasets")?,
        recorder: runtime.recorder("deployment-controller", None)?,
        deployments,
        sets,
        pods,
    };
    runtime.work(queue, component);
    Ok(())
}

struct Deployments {
    clock: Clock,
    queue: Queue,
    api: Api,
    set_api: Api,
    recorder: EventRecorder,
    deployments: Arc<Informer>,
    sets: Arc<Informer>,
    pods: Arc<Informer>,
}

/// The number of the template that an object has; 0 for none.
fn revision(object: &Object) -> i64 {
    let annotations = meta::lookup(object, "metadata.annotations");
    let text = annotations.and_then(|annotations| annotations[REVISION].as_str());
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
        let sets = self.replica_sets(&deployment);
        if meta::lookup(&deployment, "spec.paused") == Some(&true.into()) {
            return self.report(&deployment, &sets).await;
        }
        if let Some(to) = meta::lookup(&deployment, "spec.rollbackTo") {
            let revision = to["revision"].as_i64().unwrap_or_default();
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
    /// Events are no reason to stop: where one cannot be recorded, the rollout goes on all the same.
    async fn event(&self, deployment: &Object, kind: EventType, reason: &str, message: &str) {
        let _ = self
            .recorder
            .record(&reference(deployment), kind, reason, message)
            .await;
    }

    /// How many pods of these replica sets have been ready for `minReadySeconds`. The deployment is looked at again when the next one is.
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

    /// Writes the status, if it has changed.
    async fn report(&self, deployment: &Object, sets: &ReplicaSets) -> Result<(), Status> {
        let all = sets.all();
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

    /// Takes the template of an earlier revision; 0 is the last but one.
    async fn roll_back(&self, deployment: &Object, sets: &ReplicaSets, to: i64) -> Result<(), Status> {
        const NOT_FOUND: &str = "DeploymentRollbackRevisionNotFound";
        let all = sets.all();
        let mut revisions: Vec<i64> = all.iter().map(|set| revision(set)).collect();
        revisions.sort_unstable();
        let last = revisions.iter().rev().nth(1).copied().unwrap_or_default();
        let to = if to == 0 { last } else { to };
        let mut changed = deployment.clone();
        meta::child(&mut changed, "spec").shift_remove("rollbackTo");
        match all.iter().find(|set| revision(set) == to) {
            _ if to == 0 => {
                self.event(
                    deployment,
                    EventType::Warning,
                    NOT_FOUND,
                    "Unable to find last revision.",
                )
                .await;
            }
            None => {
                let message = "Unable to find the revision to rollback to.";
                self.event(deployment, EventType::Warning, NOT_FOUND, message).await;
            }
            Some(set) => {
                let name = meta::text(deployment, "metadata.name");
                let template = replica_sets::without_hash(set);
                if meta::lookup(deployment, "spec.template") == Some(&template) {
                    let message =
                        format!("The rollback revision contains the same template as current deployment {name:?}");
                    let reason = "DeploymentRollbackTemplateUnchanged";
                    self.event(deployment, EventType::Warning, reason, &message).await;
                } else {
                    meta::child(&mut changed, "spec").insert("template".to_owned(), template);
                    let message = format!("Rolled back deployment {name:?} to revision {to}");
                    self.event(deployment, EventType::Normal, "DeploymentRollback", &message)
                        .await;
                }
            }
        }
        let api = self.api.in_namespace(meta::text(deployment, "metadata.namespace"));
        api.update(changed).await.map(drop)
    }

    /// Gives the deployment the number of its new template.
    async fn set_revision(&self, deployment: &Object, revision: i64) -> Result<(), Status> {
        let patch = json!({"metadata": {"annotations": {REVISION: revision.to_string()}}});
        let api = self.api.in_namespace(meta::text(deployment, "metadata.namespace"));
        api.patch(meta::text(deployment, "metadata.name"), &patch)
            .await
            .map(drop)
    }
}

/// Since when a pod is ready.
fn ready_since(pod: &Object) -> Option<Timestamp> {
    let ready = pods::condition(pod, "Ready").filter(|ready| ready["status"] == "True")?;
    ready["lastTransitionTime"].as_str()?.parse().ok()
}
