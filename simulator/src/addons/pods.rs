//! The servers of add-ons at the addresses of the pods that run their images.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::Value;

use super::Servers;
use crate::{
    api::{Object, Status, meta},
    client::ObjectKey,
    cluster::{Runtime, SYSTEM_NAMESPACE, network::Backends},
};

/// Adds and removes servers as pods of the system namespace change, until the runtime stops.
pub(super) async fn serve(runtime: &Arc<Runtime>, backends: Backends, servers: Servers) -> Result<(), Status> {
    let addresses: Mutex<HashMap<ObjectKey, BTreeSet<String>>> = Mutex::default();
    runtime.informer("v1", "pods").await?.on_change(move |change| {
        let Some(pod) = change.object() else { return };
        let key = ObjectKey::of(pod);
        if key.namespace != SYSTEM_NAMESPACE {
            return;
        }
        let mut addresses = addresses.lock();
        for address in addresses.remove(&key).into_iter().flatten() {
            backends.remove(&address);
        }
        let Some(pod) = change.new.as_ref().filter(|pod| is_serving(pod)) else {
            return;
        };
        let host = meta::text(pod, "status.podIP");
        let containers = meta::lookup(pod, "spec.containers").and_then(Value::as_array);
        for container in containers.into_iter().flatten() {
            for (port, server) in servers.of_image(container["image"].as_str().unwrap_or_default()) {
                let address = format!("{host}:{port}");
                backends.insert(address.clone(), server.clone());
                addresses.entry(key.clone()).or_default().insert(address);
            }
        }
    });
    Ok(())
}

/// Whether the servers of a pod respond: the pod runs, has an address, and is not being deleted.
fn is_serving(pod: &Object) -> bool {
    meta::text(pod, "status.phase") == "Running"
        && !meta::text(pod, "status.podIP").is_empty()
        && meta::text(pod, "metadata.deletionTimestamp").is_empty()
}
