//! The pods of the collectors: one on each node, created again when deleted.
//!
//! Source: in v1.2, kubelets run the collector from a manifest file of the node and publish it as a mirror pod
//! without a scheduler or owner.

use std::{collections::BTreeMap, sync::Arc};

use md5::{Digest, Md5};
use serde_json::{Value, json};

use crate::{
    api::{Object, Status, meta},
    client::{Api, ObjectKey},
    cluster::{Node, Reconcile, Runtime, SYSTEM_NAMESPACE},
};

/// Returns the key of the collector's pod on a node.
pub(super) fn key(pod: &Object, node: &Node) -> ObjectKey {
    let name = meta::text(pod, "metadata.name");
    ObjectKey::new(SYSTEM_NAMESPACE, format!("{name}-{}", node.name))
}

/// Adds the component that maintains a collector's pod on each node.
pub(super) async fn add(runtime: &Arc<Runtime>, pod: &Object, nodes: &[Node]) -> Result<(), Status> {
    let wanted: BTreeMap<ObjectKey, Value> = nodes.iter().map(|node| (key(pod, node), on_node(pod, node))).collect();
    let queue = runtime.queue();
    queue.extend(wanted.keys().cloned());
    let keys = queue.clone();
    runtime.informer("v1", "pods").await?.on_change(move |change| {
        if change.new.is_none() {
            keys.extend(change.old.iter().map(|pod| ObjectKey::of(pod)));
        }
    });
    let component = CollectorPods {
        api: runtime.api("v1", "pods")?.in_namespace(SYSTEM_NAMESPACE),
        wanted,
    };
    runtime.work(queue, component);
    Ok(())
}

/// Returns the collector's pod on a node.
fn on_node(pod: &Object, node: &Node) -> Value {
    let mut pod = pod.clone();
    let name = key(&pod, node).name;
    meta::set(&mut pod, "name", &name);
    let hash: String = Md5::digest(&name).iter().map(|byte| format!("{byte:02x}")).collect();
    meta::metadata(&mut pod).insert(
        "annotations".to_owned(),
        json!({
            "kubernetes.io/config.hash": hash,
            "kubernetes.io/config.mirror": hash,
            "kubernetes.io/config.source": "file",
        }),
    );
    meta::child(&mut pod, "spec").insert("nodeName".to_owned(), node.name.as_str().into());
    Value::Object(pod)
}

struct CollectorPods {
    api: Api,
    wanted: BTreeMap<ObjectKey, Value>,
}

impl Reconcile for CollectorPods {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(pod) = self.wanted.get(key) else {
            return Ok(());
        };
        match self.api.create(pod.clone()).await {
            Err(exists) if exists.code == 409 && exists.reason == crate::api::Reason::AlreadyExists => Ok(()),
            other => other.map(drop),
        }
    }
}
