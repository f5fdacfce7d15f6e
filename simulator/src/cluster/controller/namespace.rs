//! The namespace controller: it deletes the contents of a terminating namespace, then the namespace.
//!
//! - A namespace with terminating pods remains until they are gone; in v1.2, for half their longest grace period plus
//!   one second.
//!
//! Source: `pkg/controller/namespace` of Kubernetes v1.2.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    api::{Object, Status, meta},
    client::{Api, Informer, ObjectKey},
    cluster::{
        runtime::{Queue, Reconcile, Runtime, ignore_not_found},
        scheduler::demand::has_ended,
    },
    registry::ListOptions,
};

/// The finalizer removed by this controller.
const FINALIZER: &str = "kubernetes";

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, namespaces) = (runtime.queue(), runtime.informer("v1", "namespaces").await?);
    let pods = runtime.informer("v1", "pods").await?;
    let keys = queue.clone();
    namespaces.on_change(move |change| {
        keys.extend(
            change
                .new
                .iter()
                .filter(|n| is_terminating(n))
                .map(|n| ObjectKey::of(n)),
        );
    });
    // A pod that is slow to end delays the removal of its namespace.
    let waits = runtime
        .client()
        .registry()
        .profile()
        .namespace_waits_for_grace_periods();
    let (keys, cache) = (queue.clone(), namespaces.clone());
    pods.on_change(move |change| {
        if let (Some(gone), None, false) = (&change.old, &change.new, waits) {
            let key = ObjectKey::new("", meta::text(gone, "metadata.namespace"));
            keys.extend(cache.get(&key).filter(|n| is_terminating(n)).map(|_| key));
        }
    });
    let component = Namespaces {
        waits,
        queue: queue.clone(),
        pods: runtime.api("v1", "pods")?,
        contents: runtime.namespaced()?,
        api: runtime.api("v1", "namespaces")?,
        namespaces,
    };
    runtime.work(queue, component);
    Ok(())
}

fn is_terminating(namespace: &Object) -> bool {
    !meta::text(namespace, "metadata.deletionTimestamp").is_empty()
}

fn finalizers(namespace: &Object) -> Vec<Value> {
    let finalizers = meta::lookup(namespace, "spec.finalizers").and_then(Value::as_array);
    finalizers.cloned().unwrap_or_default()
}

struct Namespaces {
    /// Whether a namespace with pods is reconciled again only after half their longest grace period.
    waits: bool,
    queue: Queue,
    pods: Api,
    /// All namespaced resources.
    contents: Vec<Api>,
    api: Api,
    namespaces: Arc<Informer>,
}

impl Reconcile for Namespaces {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(namespace) = self.namespaces.get(key).filter(|n| is_terminating(n)) else {
            return Ok(());
        };
        let kept = finalizers(&namespace);
        if kept.is_empty() {
            return ignore_not_found(self.api.delete(&key.name, None).await);
        }
        if !kept.contains(&FINALIZER.into()) {
            return Ok(());
        }
        let grace = if self.waits {
            self.longest_grace(&key.name).await?
        } else {
            0
        };
        let is_empty = self.empty(&key.name).await?;
        if grace > 0 {
            self.queue.add_after(key.clone(), Duration::from_secs(grace / 2 + 1));
            return Ok(());
        }
        if !is_empty {
            return Ok(());
        }
        let mut finalized = namespace.as_ref().clone();
        let kept: Vec<Value> = kept.into_iter().filter(|name| *name != FINALIZER).collect();
        let last = kept.is_empty();
        meta::child(&mut finalized, "spec").insert("finalizers".to_owned(), json!(kept));
        self.api.update_subresource(finalized, "finalize").await?;
        if last {
            return ignore_not_found(self.api.delete(&key.name, None).await);
        }
        Ok(())
    }
}

impl Namespaces {
    /// Returns the longest grace period, in seconds, of the pods in a namespace that have not ended.
    async fn longest_grace(&self, namespace: &str) -> Result<u64, Status> {
        let pods = self.pods.in_namespace(namespace).list(&ListOptions::default()).await?;
        let running = pods.items.iter().filter(|pod| !has_ended(pod));
        let grace = running.filter_map(|pod| meta::lookup(pod, "spec.terminationGracePeriodSeconds")?.as_u64());
        Ok(grace.max().unwrap_or_default())
    }

    /// Deletes the contents of a namespace. Returns true if nothing is left.
    async fn empty(&self, namespace: &str) -> Result<bool, Status> {
        let mut left = 0;
        for api in &self.contents {
            let api = api.in_namespace(namespace);
            let options = ListOptions::default();
            for object in api.list(&options).await?.items {
                if meta::text(&object, "metadata.deletionTimestamp").is_empty() || api.kind() == "Event" {
                    ignore_not_found(api.delete(meta::text(&object, "metadata.name"), None).await)?;
                }
            }
            left += api.list(&options).await?.items.len();
        }
        Ok(left == 0)
    }
}
