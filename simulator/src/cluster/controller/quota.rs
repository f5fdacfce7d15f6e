//! The resource quota controller: it updates the `used` status of quotas after deletions.
//!
//! Admission counts what is created, before it is stored: a status that admission has changed is counted again only
//! after a deletion, or at the periodic resync.
//! Source: `pkg/controller/resourcequota` of Kubernetes v1.2. Unlike there, the objects are also counted a second after
//! a creation: a deletion that was counted before the new object was stored leaves it out.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    api::{Object, Status, meta},
    client::{Api, Informer, ObjectKey},
    cluster::{
        runtime::{Queue, Reconcile, Runtime},
        scheduler::demand::has_ended,
    },
    registry,
};

/// Interval at which every quota is counted again: `--resource-quota-sync-period` of v1.2.
const RESYNC: Duration = Duration::from_secs(300);

/// Delay after a creation until the quotas of its namespace are counted again.
const RECOUNT: Duration = Duration::from_secs(1);

/// The resources whose objects quotas count.
const COUNTED: [&str; 7] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, quotas) = (runtime.queue(), runtime.informer("v1", "resourcequotas").await?);
    let keys = queue.clone();
    quotas.on_change(move |change| {
        let hard = |quota| meta::lookup(quota, "spec.hard");
        let is_same = |quota| change.old.as_ref().is_some_and(|old| hard(old) == hard(quota));
        let changed = change.new.iter().filter(|quota| !is_same(quota));
        keys.extend(changed.map(|quota| ObjectKey::of(quota)));
    });
    let mut counted = Vec::new();
    for plural in COUNTED {
        let informer = runtime.informer("v1", plural).await?;
        let (keys, cache) = (queue.clone(), quotas.clone());
        informer.on_change(move |change| {
            let ended = |object: &Arc<Object>| plural == "pods" && has_ended(object);
            let delay = match (&change.old, &change.new) {
                (Some(_), None) => Duration::ZERO,
                (Some(old), Some(new)) if !ended(old) && ended(new) => Duration::ZERO,
                (None, Some(_)) => RECOUNT,
                _ => return,
            };
            if let Some(object) = change.object() {
                let quotas = cache.list_in(meta::text(object, "metadata.namespace"));
                quotas
                    .iter()
                    .for_each(|quota| keys.add_after(ObjectKey::of(quota), delay));
            }
        });
        counted.push((plural, informer));
    }
    let component = Quotas {
        queue: queue.clone(),
        api: runtime.api("v1", "resourcequotas")?,
        quotas,
        counted,
    };
    runtime.work(queue, component);
    Ok(())
}

struct Quotas {
    queue: Queue,
    api: Api,
    quotas: Arc<Informer>,
    counted: Vec<(&'static str, Arc<Informer>)>,
}

impl Reconcile for Quotas {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(quota) = self.quotas.get(key) else {
            return Ok(());
        };
        self.queue.add_after(key.clone(), RESYNC);
        let objects: Vec<(&str, Arc<Object>)> = self
            .counted
            .iter()
            .flat_map(|(plural, informer)| {
                let objects = informer.list_in(&key.namespace);
                objects.into_iter().map(|object| (*plural, object))
            })
            .collect();
        let counted = registry::quota_total(
            &quota,
            objects.iter().map(|(plural, object)| (*plural, object.as_ref())),
        );
        // A resource that is no longer limited keeps its last count.
        let mut used = match meta::lookup(&quota, "status.used") {
            Some(Value::Object(used)) => used.clone(),
            _ => Object::new(),
        };
        used.extend(counted);
        let hard = meta::lookup(&quota, "spec.hard").cloned().unwrap_or_default();
        let status = json!({"hard": hard, "used": Value::Object(used)});
        if quota.get("status") == Some(&status) {
            return Ok(());
        }
        let mut changed = quota.as_ref().clone();
        changed.insert("status".into(), status);
        self.api
            .in_namespace(&key.namespace)
            .update_status(changed)
            .await
            .map(drop)
    }
}
