//! The status of a pod, computed from the states of its containers.
//!
//! Source: `pkg/kubelet` of Kubernetes v1.2 (`GetPhase`, `GeneratePodReadyCondition`).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    probe::Probes,
    state::{ContainerState, PodState},
};
use crate::{
    api::{Object, meta},
    clock::stamp,
};

/// Returns the name of a pod in messages: `NAME_NAMESPACE(UID)`.
pub(super) fn long_name(pod: &Object) -> String {
    let text = |path: &str| meta::text(pod, path);
    format!(
        "{}_{}({})",
        text("metadata.name"),
        text("metadata.namespace"),
        text("metadata.uid")
    )
}

/// Returns the phase of a pod with these containers.
fn phase(pod: &Object, state: &PodState) -> &'static str {
    let policy = meta::text(pod, "spec.restartPolicy");
    let running = state.containers.iter().filter(|c| c.running.is_some()).count();
    let created = state.containers.iter().all(|c| c.running.is_some() || c.last.is_some());
    match () {
        () if !created => "Pending",
        () if running > 0 || policy == "Always" => "Running",
        () if !state.containers.iter().any(ContainerState::failed) => "Succeeded",
        () if policy == "Never" => "Failed",
        () => "Running",
    }
}

/// Returns the status of a pod, and the time of its next change without an event.
pub(super) fn status(
    pod: &Object,
    state: &PodState,
    host: &str,
    probes: &Probes,
    now: Timestamp,
) -> (Object, Option<Duration>) {
    let phase = phase(pod, state);
    let mut next: Option<Timestamp> = None;
    let mut unready = Vec::new();
    let mut statuses: Vec<Value> = Vec::new();
    for container in &state.containers {
        let ready = container.running.as_ref().is_some_and(|run| probes.is_ready(run));
        if !ready {
            unready.push(container.name.as_str());
        }
        let ends = container.running.as_ref().and_then(|run| run.detected_at());
        next = ends.into_iter().chain(next).min();
        statuses.push(container_status(container, ready));
    }
    statuses.sort_by_key(|status| status["name"].as_str().unwrap_or_default().to_owned());
    let mut status = Map::new();
    status.insert("phase".into(), phase.into());
    let condition = ready_condition(pod, phase, &unready, now);
    status.insert("conditions".into(), Value::Array(vec![condition]));
    status.insert("hostIP".into(), host.into());
    let seen = !meta::text(pod, "status.podIP").is_empty();
    if let Some(address) = &state.address
        && (seen || matches!(phase, "Running"))
    {
        status.insert("podIP".into(), address.as_str().into());
    }
    status.insert("startTime".into(), stamp(state.started).into());
    status.insert("containerStatuses".into(), Value::Array(statuses));
    let left = next.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
    (status, left)
}

fn container_status(container: &ContainerState, ready: bool) -> Value {
    let (state, last_state) = container.states();
    let mut status = json!({
        "name": container.name,
        "state": state,
        "lastState": last_state,
        "ready": ready,
        "restartCount": container.restarts,
        "image": container.image,
        "imageID": "",
    });
    if let Some(id) = container.id() {
        status["imageID"] = format!("docker://{}", container.image).into();
        status["containerID"] = id.into();
    }
    status
}

fn ready_condition(pod: &Object, phase: &str, unready: &[&str], now: Timestamp) -> Value {
    let ready = if unready.is_empty() && phase == "Running" {
        "True"
    } else {
        "False"
    };
    let before = meta::lookup(pod, "status.conditions")
        .and_then(Value::as_array)
        .and_then(|conditions| conditions.iter().find(|c| c["type"] == "Ready"))
        .filter(|before| before["status"] == ready);
    let since = before.map_or_else(|| stamp(now).into(), |before| before["lastTransitionTime"].clone());
    let mut condition = json!({"type": "Ready", "status": ready, "lastProbeTime": null, "lastTransitionTime": since});
    if phase == "Succeeded" {
        condition["reason"] = "PodCompleted".into();
    } else if !unready.is_empty() {
        condition["reason"] = "ContainersNotReady".into();
        condition["message"] = format!("containers with unready status: [{}]", unready.join(" ")).into();
    }
    condition
}
