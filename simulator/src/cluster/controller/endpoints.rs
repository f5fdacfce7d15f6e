//! The endpoints controller: the endpoints of a service are the addresses of the pods that it selects.
//!
//! - A service is reconciled when it or its pods change, and every 30 seconds, so that endpoints changed by others
//!   are restored.
//!
//! Source: `pkg/controller/endpoint` of Kubernetes v1.2.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value, json};

use super::pods::{self, RESYNC};
use crate::{
    api::{Object, Status, labels::Selector, meta},
    client::{Api, Informer, ObjectKey},
    cluster::{
        names::HOST_NAMES,
        runtime::{Queue, Reconcile, Runtime, ignore_not_found},
    },
    strategy::subsets::repack,
};

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, services) = (runtime.queue(), runtime.informer("v1", "services").await?);
    let pods = runtime.informer("v1", "pods").await?;
    let keys = queue.clone();
    services.on_change(move |change| keys.extend(change.object().map(|service| ObjectKey::of(service))));
    let (keys, cache) = (queue.clone(), services.clone());
    pods.on_change(move |change| {
        for pod in change.old.iter().chain(&change.new) {
            let services = cache.list_in(meta::text(pod, "metadata.namespace"));
            let selecting = services.iter().filter(|service| selects(service, pod));
            keys.extend(selecting.map(|service| ObjectKey::of(service)));
        }
    });
    let component = Endpoints {
        queue: queue.clone(),
        api: runtime.api("v1", "endpoints")?,
        endpoints: runtime.informer("v1", "endpoints").await?,
        services,
        pods,
    };
    runtime.work(queue, component);
    Ok(())
}

fn selector(service: &Object) -> Option<Selector> {
    let map = pods::labels(service, "spec.selector").filter(|map| !map.is_empty())?;
    Some(Selector::from_map(map))
}

fn selects(service: &Object, pod: &Object) -> bool {
    selector(service).is_some_and(|selector| pods::matches(&selector, pod))
}

struct Endpoints {
    queue: Queue,
    api: Api,
    endpoints: Arc<Informer>,
    services: Arc<Informer>,
    pods: Arc<Informer>,
}

impl Reconcile for Endpoints {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let api = self.api.in_namespace(&key.namespace);
        let Some(service) = self.services.get(key) else {
            return ignore_not_found(api.delete(&key.name, None).await);
        };
        let Some(selector) = selector(&service) else {
            return Ok(());
        };
        self.queue.add_after(key.clone(), RESYNC);
        let pods = pods::selected(&self.pods, &key.namespace, &selector);
        let mut wanted = Object::new();
        wanted.insert("subsets".to_owned(), Value::Array(subsets(&service, &pods)));
        repack(&mut wanted);
        let subsets = wanted.remove("subsets").unwrap_or_default();
        let labels = meta::lookup(&service, "metadata.labels");
        let host_names = host_names(&key.name, &pods);
        let Some(current) = self.endpoints.get(key) else {
            let mut metadata = json!({"name": key.name});
            if let Some(labels) = labels {
                metadata["labels"] = labels.clone();
            }
            if let Some(host_names) = host_names {
                metadata["annotations"] = json!({HOST_NAMES: host_names});
            }
            return api
                .create(json!({"metadata": metadata, "subsets": subsets}))
                .await
                .map(drop);
        };
        let annotation = pods::annotation(&current, HOST_NAMES);
        let same_labels = meta::lookup(&current, "metadata.labels") == labels;
        if current.get("subsets") == Some(&subsets) && same_labels && annotation == host_names.as_deref() {
            return Ok(());
        }
        let mut changed = current.as_ref().clone();
        changed.insert("subsets".to_owned(), subsets);
        let metadata = meta::metadata(&mut changed);
        match labels {
            Some(labels) => drop(metadata.insert("labels".to_owned(), labels.clone())),
            None => drop(metadata.shift_remove("labels")),
        }
        match (
            host_names,
            metadata.get_mut("annotations").and_then(Value::as_object_mut),
        ) {
            (Some(names), Some(annotations)) => drop(annotations.insert(HOST_NAMES.to_owned(), names.into())),
            (Some(names), None) => drop(metadata.insert("annotations".to_owned(), json!({HOST_NAMES: names}))),
            (None, Some(annotations)) => drop(annotations.shift_remove(HOST_NAMES)),
            (None, None) => {}
        }
        api.update(changed).await.map(drop)
    }
}

/// Returns the host names of the pods in the service's subdomain by address (JSON), or `None` if there are none.
fn host_names(service: &str, pods: &[Arc<Object>]) -> Option<String> {
    let mut names = BTreeMap::new();
    for pod in pods.iter().filter(|pod| is_reachable(pod)) {
        let annotation = |name: &str| pods::annotation(pod, name);
        let subdomain = annotation("pod.beta.kubernetes.io/subdomain");
        let host_name = annotation("pod.beta.kubernetes.io/hostname").filter(|name| !name.is_empty());
        if let Some(name) = host_name.filter(|_| subdomain == Some(service)) {
            names.insert(meta::text(pod, "status.podIP"), json!({"HostName": name}));
        }
    }
    (!names.is_empty()).then(|| json!(names).to_string())
}

/// Whether a pod has an address and is not being deleted.
fn is_reachable(pod: &Object) -> bool {
    !meta::text(pod, "status.podIP").is_empty() && meta::text(pod, "metadata.deletionTimestamp").is_empty()
}

/// Returns a subset for each port of each pod with an address.
fn subsets(service: &Object, pods: &[Arc<Object>]) -> Vec<Value> {
    let ports = meta::lookup(service, "spec.ports").and_then(Value::as_array);
    let mut subsets = Vec::new();
    for pod in pods.iter().filter(|pod| is_reachable(pod)) {
        let text = |path: &str| meta::text(pod, path);
        for port in ports.into_iter().flatten() {
            let Some(number) = target_port(pod, port) else { continue };
            let mut offered = Map::new();
            if let Some(name) = port.get("name") {
                offered.insert("name".to_owned(), name.clone());
            }
            offered.insert("port".to_owned(), number.into());
            offered.insert("protocol".to_owned(), port["protocol"].clone());
            let address = json!({
                "ip": text("status.podIP"),
                "targetRef": {
                    "kind": "Pod",
                    "namespace": text("metadata.namespace"),
                    "name": text("metadata.name"),
                    "uid": text("metadata.uid"),
                    "resourceVersion": text("metadata.resourceVersion"),
                },
            });
            let list = if pods::is_ready(pod) {
                "addresses"
            } else {
                "notReadyAddresses"
            };
            subsets.push(json!({list: [address], "ports": [offered]}));
        }
    }
    subsets
}

/// Returns the container port number of a service's port for a pod.
fn target_port(pod: &Object, port: &Value) -> Option<u64> {
    let target = &port["targetPort"];
    let Some(name) = target.as_str() else {
        return target.as_u64();
    };
    let containers = meta::lookup(pod, "spec.containers")?.as_array()?;
    let mut ports = containers.iter().filter_map(|c| c["ports"].as_array()).flatten();
    let named = ports.find(|offered| offered["name"] == name && offered["protocol"] == port["protocol"])?;
    named["containerPort"].as_u64()
}
