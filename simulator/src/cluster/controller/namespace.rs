//! A namespace that is being deleted is emptied; when nothing is left in it, it goes.
//!
//! Source: `pkg/controller/namespace` of Kubernetes v1.2.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    api::{Object, Status, meta},
    client::{Api, Informer, ObjectKey},
    cluster::runtime::{Reconcile, Runtime},
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
    let (keys, cache) = (queue.clone(), namespaces.clone());
    pods.on_change(move |change| {
        if let (Some(gone), None) = (&change.old, &change.new) {
            let key = ObjectKey::new("", meta::text(gone, "metadata.namespace"));
            keys.extend(cache.get(&key).filter(|n| is_ending(n)).map(|_| key));
        }
    });
    let component = Namespaces {
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
        if !kept.contains(&FINALIZER.into()) || !self.empty(&key.name).await? {
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
