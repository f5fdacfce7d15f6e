//! A namespace that is being deleted is emptied; when nothing is left in it, it goes.
//!
//! - While pods end in it, it stays: until they are gone, or as v1.2 has it for half their longest grace period and a second.
//!
//! Source: `pkg/controller/namespace` of Kubernetes v1.2.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    api::{Object, Status, meta},
    client::{Api, Informer, ObjectKey},
    cluster::{
        runtime::{Queue, Reconcile, Runtime},
        scheduler::demand::is_over,
    },
    registry::ListOptions,
};

/// The finalizer that this controller takes away.
const FINALIZER: &str = "kubernetes";

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, namespaces) = (runtime.queue(), runtime.informer("v1", "namespaces").await?);
    let pods = runtime.informer("v1", "pods").await?;
    let keys = queue.clone();
    namespaces.on_change(move |change| {
        keys.extend(change.new.iter().filter(|n| is_ending(n)).map(|n| ObjectKey::of(n)));
    });
    // A pod that takes its time to end holds its namespace back.
    let waits = runtime
        .client()
        .registry()
        .profile()
        .namespace_waits_for_grace_periods();
    let (keys, cache) = (queue.clone(), namespaces.clone());
    pods.on_change(move |change| {
        if let (Some(gone), None, false) = (&change.old, &change.new, waits) {
            let key = ObjectKey::new("", meta::text(gone, "metadata.namespace"));
            keys.extend(cache.get(&key).filter(|n| is_ending(n)).map(|_| key));
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

fn is_ending(namespace: &Object) -> bool {
    !meta::text(namespace, "metadata.deletionTimestamp").is_empty()
}

fn finalizers(namespace: &Object) -> Vec<Value> {
    let finalizers = meta::lookup(namespace, "spec.finalizers").and_then(Value::as_array);
    finalizers.cloned().unwrap_or_default()
}

struct Namespaces {
    /// Whether a namespace with pods is looked at again after half their longest grace period only.
    waits: bool,
    queue: Queue,
    pods: Api,
    /// What can be in a namespace.
    contents: Vec<Api>,
    api: Api,
    namespaces: Arc<Informer>,
}

impl Reconcile for Namespaces {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(namespace) = self.namespaces.get(key).filter(|n| is_ending(n)) else {
            return Ok(());
        };
        let kept = finalizers(&namespace);
        if kept.is_empty() {
            return gone(self.api.delete(&key.name, None).await);
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
            return gone(self.api.delete(&key.name, None).await);
        }
        Ok(())
    }
}

impl Namespaces {
    /// The longest grace period of the pods in a namespace that have not ended, in seconds.
    async fn longest_grace(&self, namespace: &str) -> Result<u64, Status> {
        let pods = self.pods.in_namespace(namespace).list(&ListOptions::default()).await?;
        let running = pods.items.iter().filter(|pod| !is_over(pod));
        let grace = running.filter_map(|pod| meta::lookup(pod, "spec.terminationGracePeriodSeconds")?.as_u64());
        Ok(grace.max().unwrap_or_default())
    }

    /// Deletes what is in a namespace; whether nothing is left.
    async fn empty(&self, namespace: &str) -> Result<bool, Status> {
        let mut left = 0;
        for api in &self.contents {
            let api = api.in_namespace(namespace);
            let options = ListOptions::default();
            for object in api.list(&options).await?.items {
                if meta::text(&object, "metadata.deletionTimestamp").is_empty() || api.kind() == "Event" {
                    gone(api.delete(meta::text(&object, "metadata.name"), None).await)?;
                }
            }
            left += api.list(&options).await?.items.len();
        }
        Ok(left == 0)
    }
}

/// What is gone already is deleted.
fn gone(deleted: Result<(), Status>) -> Result<(), Status> {
    deleted.or_else(|why| if why.code == 404 { Ok(()) } else { Err(why) })
}
