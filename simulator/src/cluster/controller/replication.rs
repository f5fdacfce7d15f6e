//! The replication controller, for replication controllers and replica sets: it keeps the requested number of pods.
//!
//! - If several owners select a pod, its changes enqueue only the oldest. Another owner that creates or deletes such
//!   pods never observes that, and does not scale again before its expectations expire, after five minutes.
//! - After a failed creation, the owner is reconciled when something changes, or after 30 seconds.
//! - Source: `pkg/controller/replication` and `pkg/controller/replicaset` of Kubernetes v1.2.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::pods::{self, PodControl, RESYNC};
use crate::{
    api::{Object, Status, meta},
    client::{Api, Informer, ObjectKey},
    clock::Clock,
    cluster::runtime::{Queue, Reconcile, Runtime, ignore_not_found},
};

/// Maximum number of pods created or deleted at once.
const BURST: usize = 500;
/// Time after which unobserved creations and deletions no longer block an owner.
const EXPECTATIONS_TIMEOUT: Duration = Duration::from_secs(300);

/// Adds the controller of one kind: of replication controllers or of replica sets.
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
        if !pods::affects_active_count(change) && waiting.lock().is_empty() {
            return;
        }
        for pod in change.old.iter().chain(&change.new) {
            keys.extend(owner_of(&cache, pod));
        }
    });
    let component = Replication {
        clock: runtime.clock().clone(),
        queue: queue.clone(),
        expectations: Mutex::default(),
        unmet,
        api: runtime.api(api_version, plural)?,
        control: PodControl::new(runtime, component)?,
        owners,
        pods,
    };
    runtime.work(queue, component);
    Ok(())
}

/// Returns the key of the oldest owner that selects a pod.
fn owner_of(owners: &Informer, pod: &Object) -> Option<ObjectKey> {
    let mut owners = owners.list_in(meta::text(pod, "metadata.namespace"));
    owners.retain(|owner| pods::selector(owner).is_some_and(|selector| pods::matches(&selector, pod)));
    let age = |owner: &Arc<Object>| {
        let text = |path: &str| meta::text(owner, path).to_owned();
        (text("metadata.creationTimestamp"), text("metadata.name"))
    };
    owners.into_iter().min_by_key(age).map(|owner| ObjectKey::of(&owner))
}

struct Replication {
    clock: Clock,
    queue: Queue,
    /// Expiry of the expectations that are not observed.
    expectations: Mutex<HashMap<ObjectKey, Timestamp>>,
    /// Owners whose pods could not be created or deleted: each change of their pods enqueues them.
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
            self.expectations.lock().remove(key);
            return Ok(());
        };
        let Some(selector) = pods::selector(&owner) else {
            return Ok(());
        };
        let mut active = pods::selected(&self.pods, &key.namespace, &selector);
        active.retain(|pod| pods::is_active(pod));
        let waits = self
            .expectations
            .lock()
            .get(key)
            .is_some_and(|until| *until > self.clock.now());
        let is_kept = meta::text(&owner, "metadata.deletionTimestamp").is_empty();
        if is_kept && !waits && self.scale(&owner, &active).await.is_err() {
            self.unmet.lock().insert(key.clone());
            self.queue.add_after(key.clone(), RESYNC);
        }
        self.report(key, &owner, &active).await
    }
}

impl Replication {
    /// Creates missing pods, or deletes surplus ones.
    async fn scale(&self, owner: &Object, active: &[Arc<Object>]) -> Result<(), Status> {
        let wanted = usize::try_from(pods::number(owner, "spec.replicas")).unwrap_or(0);
        let mut outcome = Ok(());
        let missing = wanted.saturating_sub(active.len()).min(BURST);
        for _ in 0..missing {
            let created = self.control.create(owner, None).await;
            outcome = outcome.and(created);
        }
        if missing > 0 {
            let labels = meta::lookup(owner, "spec.template.metadata.labels");
            let pod = json!({"namespace": meta::text(owner, "metadata.namespace"), "labels": labels});
            self.expect(owner, &Object::from_iter([("metadata".to_owned(), pod)]));
        }
        let surplus = active.len().saturating_sub(wanted).min(BURST);
        if surplus > 0 {
            let mut ranked = active.to_vec();
            pods::rank(&mut ranked);
            for pod in ranked.iter().take(surplus) {
                let deleted = self.control.delete(owner, pod).await;
                outcome = outcome.and(deleted);
                self.expect(owner, pod);
            }
        }
        outcome
    }

    /// Sets expectations of an owner that has created or deleted a pod whose changes enqueue another owner.
    fn expect(&self, owner: &Object, pod: &Object) {
        let key = ObjectKey::of(owner);
        if owner_of(&self.owners, pod).as_ref() != Some(&key) {
            let until = self
                .clock
                .now()
                .saturating_add(EXPECTATIONS_TIMEOUT)
                .unwrap_or(Timestamp::MAX);
            self.expectations.lock().insert(key.clone(), until);
            self.queue.add_after(key, EXPECTATIONS_TIMEOUT);
        }
    }

    /// Updates the number of replicas in the status, if it has changed.
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
        ignore_not_found(self.api.in_namespace(&key.namespace).update_status(changed).await)
    }
}
