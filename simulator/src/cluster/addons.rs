//! Add-ons: a service of the system namespace, and the controller and pods behind it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Node, core, fields};
use crate::{
    api::{Object, Status, meta},
    clock::Clock,
    registry::Registry,
};

/// The namespace that add-ons live in.
pub const SYSTEM_NAMESPACE: &str = "kube-system";

/// Name of the log search add-on.
pub const LOG_SEARCH: &str = "elasticsearch-logging";

/// What an add-on is made of.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Addon {
    service: Object,
    replication_controller: Object,
}

impl Addon {
    /// The add-on `name` of `fixtures/addons`.
    ///
    /// # Errors
    /// An internal error if there is no such add-on or its manifest is malformed.
    pub fn named(name: &str) -> Result<Self, Status> {
        let text = stuntdouble_fixtures::text(&stuntdouble_fixtures::ADDONS, &format!("{name}.json"))
            .ok_or_else(|| Status::internal(format!("there is no add-on {name}")))?;
        serde_json::from_str(text).map_err(|e| Status::internal(format!("the add-on {name} is malformed: {e}")))
    }
}

/// Sets an add-on up on `nodes`, its pods running; the addresses (`HOST:PORT`) at which its service expects them to answer.
pub async fn install(registry: &Registry, clock: &Clock, nodes: &[Node], addon: Addon) -> Result<Vec<String>, Status> {
    let Addon {
        service,
        replication_controller,
    } = addon;
    let namespace = Some(SYSTEM_NAMESPACE);
    match registry
        .create_from(
            &core(registry, "namespaces", None, None)?,
            fields(json!({"metadata": {"name": SYSTEM_NAMESPACE}})),
        )
        .await
    {
        Err(status) if status.code != 409 => return Err(status),
        _ => {}
    }
    let service_name = meta::text(&service, "metadata.name").to_owned();
    let ports = meta::lookup(&service, "spec.ports").cloned().unwrap_or_default();
    registry
        .create_from(&core(registry, "services", namespace, None)?, service)
        .await?;
    let controller = registry
        .create_from(
            &core(registry, "replicationcontrollers", namespace, None)?,
            replication_controller,
        )
        .await?;
    let replicas = meta::lookup(&controller, "spec.replicas")
        .and_then(Value::as_u64)
        .unwrap_or(1);
    let mut pods = Vec::new();
    for (number, node) in (0..replicas).zip(nodes.iter().cycle()) {
        pods.push(
            start_pod(
                registry,
                clock,
                &controller,
                node,
                u8::try_from(number).unwrap_or(u8::MAX),
            )
            .await?,
        );
    }
    let name = meta::text(&controller, "metadata.name");
    let status = json!({"replicas": replicas, "observedGeneration": 1});
    registry
        .set_status(
            &core(registry, "replicationcontrollers", namespace, Some(name))?,
            status,
        )
        .await?;
    let ports = numbered(&ports, &controller);
    let addresses: Vec<Value> = pods.iter().map(target).collect();
    let subset = json!({"addresses": addresses, "ports": ports});
    let endpoints = json!({"metadata": {"name": service_name, "labels": meta::lookup(&controller, "metadata.labels")}, "subsets": [subset]});
    registry
        .create_from(&core(registry, "endpoints", namespace, None)?, fields(endpoints))
        .await?;
    let numbers = ports.iter().filter_map(|p| p.get("port")?.as_u64());
    Ok(pods
        .iter()
        .flat_map(|pod| {
            numbers
                .clone()
                .map(|port| format!("{}:{port}", meta::text(pod, "status.podIP")))
        })
        .collect())
}

/// The service's ports by the number that its pods have for them.
fn numbered(ports: &Value, controller: &Object) -> Vec<Value> {
    let containers = meta::lookup(controller, "spec.template.spec.containers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let offered: Vec<&Value> = containers
        .filter_map(|c| c.get("ports")?.as_array())
        .flatten()
        .collect();
    let number = |port: &Value| {
        let wanted = port.get("targetPort")?;
        wanted.as_u64().or_else(|| {
            offered
                .iter()
                .find(|o| o.get("name") == Some(wanted))?
                .get("containerPort")?
                .as_u64()
        })
    };
    ports
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|port| Some(json!({"port": number(port)?, "protocol": "TCP"})))
        .collect()
}

/// A pod as endpoints point to it.
fn target(pod: &Object) -> Value {
    let text = |path: &str| meta::text(pod, path);
    json!({
        "ip": text("status.podIP"),
        "targetRef": {"kind": "Pod", "namespace": SYSTEM_NAMESPACE, "name": text("metadata.name"), "uid": text("metadata.uid"), "resourceVersion": text("metadata.resourceVersion")},
    })
}

/// Starts a pod of a controller on a node.
async fn start_pod(
    registry: &Registry,
    clock: &Clock,
    controller: &Object,
    node: &Node,
    number: u8,
) -> Result<Object, Status> {
    let mut spec = meta::lookup(controller, "spec.template.spec")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    spec.insert("nodeName".to_owned(), node.name.clone().into());
    let labels = meta::lookup(controller, "spec.template.metadata.labels");
    let pod = json!({"metadata": {"generateName": format!("{}-", meta::text(controller, "metadata.name")), "labels": labels}, "spec": spec});
    let pod = registry
        .create_from(&core(registry, "pods", Some(SYSTEM_NAMESPACE), None)?, fields(pod))
        .await?;
    let now = clock.stamp();
    let containers = meta::lookup(&pod, "spec.containers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let statuses: Vec<Value> = containers
        .map(|c| {
            json!({"name": c.get("name"), "state": {"running": {"startedAt": now}}, "lastState": {}, "ready": true, "restartCount": 0, "image": c.get("image"), "imageID": "", "containerID": ""})
        })
        .collect();
    let status = json!({
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": now}],
        "hostIP": node.address,
        "podIP": node.pod_address(number.saturating_add(3)),
        "startTime": now,
        "containerStatuses": statuses,
    });
    registry
        .set_status(
            &core(
                registry,
                "pods",
                Some(SYSTEM_NAMESPACE),
                Some(meta::text(&pod, "metadata.name")),
            )?,
            status,
        )
        .await
}
