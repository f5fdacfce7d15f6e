//! Replication controllers and replica sets: as many pods as asked for.
//!
//! - A pod that cannot be created is tried again when something changes, and every ten minutes.
//! - Source: `pkg/controller/replication` and `pkg/controller/replicaset` of Kubernetes v1.2.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::pods::{self, PodControl, RESYNC};
use crate::{
    api::{Object, Status, meta},
    client::{Api, Informer, ObjectKey},
    cluster::runtime::{Queue, Reconcile, Runtime},
};

/// Most pods that are made or deleted at a time.
const BURST: usize = 500;

/// Adds the controller of a kind to the runtime: of replication controllers or of replica sets.
pub(super) async fn add(
    runtime: &Arc<Runtime>,
    api_version: &'static str,
    plural: &'static str,
    component: &str,
) -> Result<(), Status> {
    let queue = runtime.queue();
    let owners = runtime.informer(api_version, plural).await?;
    let pods = runtime.informer("v1", "pods").await?;
    let keys = queue.clone();
    owners.on_change(move |change| keys.extend(change.new.iter().map(|owner| ObjectKey::of(owner))));
    let unmet = Arc::new(Mutex::new(BTreeSet::new()));
    let (keys, cache, waiting) = (queue.clone(), owners.clone(), unmet.clone());
    pods.on_change(move |change| {
        if !pods::is_recounted(change) && waiting.lock().is_empty() {
            return;
        }
        for pod in change.old.iter().chain(&change.new) {
            keys.extend(owners_of(&cache, pod));
        }
    });
    let component = Replication {
        queue: queue.clone(),
        unmet,
        api: runtime.api(api_version, plural)?,
        control: PodControl::new(runtime, component)?,
        owners,
        pods,
    };
    runtime.work(queue, component);
    Ok(())
}

/// The keys of the objects that select a pod.
fn owners_of(owners: &Informer, pod: &Object) -> Vec<ObjectKey> {
    let owners = owners.list_in(meta::text(pod, "metadata.namespace"));
    let selects = |owner: &&Arc<Object>| pods::selector(owner).is_some_and(|selector| pods::matches(&selector, pod));
    owners
        .iter()
        .filter(selects)
        .map(|owner| ObjectKey::of(owner))
        .collect()
}

struct Replication {
    queue: Queue,
    /// Those whose pods could not be made or deleted: each change of their pods has them try again.
    unmet: Arc<Mutex<BTreeSet<ObjectKey>>>,
    api: Api,
    control: PodControl,
    owners: Arc<Informer>,
    pods: Arc<Informer>,
}

impl Reconcile for Replication {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        self.unmet.lock().remove(key);
        let Some(owner) = self.owners.get(key) else {
            return Ok(());
        };
        let Some(selector) = pods::selector(&owner) else {
            return Ok(());
        };
        let mut active = pods::selected(&self.pods, &key.namespace, &selector);
        active.retain(|pod| pods::is_active(pod));
        if meta::text(&owner, "metadata.deletionTimestamp").is_empty() && self.scale(&owner, &active).await.is_err() {
            self.unmet.lock().insert(key.clone());
            self.queue.add_after(key.clone(), RESYNC);
        }
        self.report(key, &owner, &active).await
    }
}

impl Replication {
    /// Makes the pods that are missing, or deletes those that are too many.
    async fn scale(&self, owner: &Object, active: &[Arc<Object>]) -> Result<(), Status> {
        let wanted = usize::try_from(pods::number(owner, "spec.replicas")).unwrap_or(0);
        let mut outcome = Ok(());
        for _ in 0..wanted.saturating_sub(active.len()).min(BURST) {
            let created = self.control.create(owner, None).await;
            outcome = outcome.and(created);
        }
        let surplus = active.len().saturating_sub(wanted).min(BURST);
        if surplus > 0 {
            let mut ranked = active.to_vec();
            pods::rank(&mut ranked);
            for pod in ranked.iter().take(surplus) {
                let deleted = self.control.delete(owner, pod).await;
                outcome = outcome.and(deleted);
            }
        }
        outcome
    }

    /// Writes how many pods there are, if that has changed.
    async fn report(&self, key: &ObjectKey, owner: &Object, active: &[Arc<Object>]) -> Result<(), Status> {
        let template = pods::labels(owner, "spec.template.metadata.labels");
        let fully_labelled = |pod: &&Arc<Object>| {
            let labels = pods::labels(pod, "metadata.labels");
            template.is_none_or(|template| {
                template
                    .iter()
                    .all(|(name, value)| labels.is_some_and(|labels| labels.get(name) == Some(value)))
            })
        };
        let labelled = active.iter().filter(fully_labelled).count();
        let mut status = Map::new();
        status.insert("replicas".to_owned(), active.len().into());
        if labelled > 0 {
            status.insert("fullyLabeledReplicas".to_owned(), labelled.into());
        }
        status.insert(
            "observedGeneration".to_owned(),
            pods::number(owner, "metadata.generation").into(),
        );
        if owner.get("status").and_then(Value::as_object) == Some(&status) {
            return Ok(());
        }
        let mut changed = owner.clone();
        changed.insert("status".into(), Value::Object(status));
        match self.api.in_namespace(&key.namespace).update_status(changed).await {
            Err(gone) if gone.code == 404 => Ok(()),
            other => other.map(drop),
        }
    }
}
