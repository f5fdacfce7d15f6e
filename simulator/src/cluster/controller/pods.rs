//! Functions shared by the controllers of pods: which pods count, and how they are created and deleted.
//!
//! Source: `pkg/controller/controller_utils.go` of Kubernetes v1.2.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use crate::{
    api::{Object, Status, labels::Selector, meta},
    client::{Api, Change, EventRecorder, EventType, Informer, reference},
    cluster::{runtime::Runtime, scheduler::demand::has_ended},
};

/// Interval at which controllers reconcile an unchanged object.
pub(super) const RESYNC: Duration = Duration::from_secs(30);

/// Whether a pod is active: it has not ended and is not being deleted.
pub(super) fn is_active(pod: &Object) -> bool {
    !has_ended(pod) && meta::text(pod, "metadata.deletionTimestamp").is_empty()
}

/// Whether a change affects the count of active pods: a pod was added or removed, became active or inactive, or its
/// labels changed.
pub(super) fn affects_active_count(change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else {
        return true;
    };
    let differs = |path: &str| meta::lookup(old, path) != meta::lookup(new, path);
    is_active(old) != is_active(new)
        || meta::text(old, "status.phase") != meta::text(new, "status.phase") && has_ended(new)
        || differs("metadata.labels")
}

/// Whether a change affects the count of ready pods.
pub(super) fn affects_ready_count(change: &Change) -> bool {
    let ready = |pod: &Option<Arc<Object>>| pod.as_ref().and_then(|pod| condition(pod, "Ready").cloned());
    affects_active_count(change) || ready(&change.old) != ready(&change.new)
}

/// Returns the condition `kind` of an object.
pub(super) fn condition<'a>(object: &'a Object, kind: &str) -> Option<&'a Value> {
    let conditions = meta::lookup(object, "status.conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

/// Whether a pod is ready.
pub(super) fn is_ready(pod: &Object) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready["status"] == "True")
}

/// Returns the integer at a dotted path; 0 if there is none.
pub(super) fn number(object: &Object, path: &str) -> i64 {
    meta::lookup(object, path).and_then(Value::as_i64).unwrap_or_default()
}

/// Returns the annotation `name` of an object.
pub(super) fn annotation<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    meta::lookup(object, "metadata.annotations")?.get(name)?.as_str()
}

/// Returns the labels at a dotted path.
pub(super) fn labels<'a>(object: &'a Object, path: &str) -> Option<&'a Object> {
    meta::lookup(object, path).and_then(Value::as_object)
}

/// Returns the selector at `spec.selector`: a map for a replication controller, a label selector for the others.
pub(super) fn selector(object: &Object) -> Option<Selector> {
    let selector = meta::lookup(object, "spec.selector")?;
    if meta::text(object, "kind") == "ReplicationController" {
        let map = selector.as_object().filter(|map| !map.is_empty())?;
        return Some(Selector::from_map(map));
    }
    let selector = Selector::from_label_selector(selector).ok()?;
    (!selector.is_everything()).then_some(selector)
}

/// Whether a selector matches an object's labels.
pub(super) fn matches(selector: &Selector, object: &Object) -> bool {
    match labels(object, "metadata.labels") {
        Some(labels) => selector.matches(labels),
        None => selector.matches(&Object::new()),
    }
}

/// Returns the pods of a namespace that a selector matches.
pub(super) fn selected(pods: &Informer, namespace: &str, selector: &Selector) -> Vec<Arc<Object>> {
    let mut pods = pods.list_in(namespace);
    pods.retain(|pod| matches(selector, pod));
    pods
}

/// Sorts pods in the order in which a controller deletes them.
pub(super) fn rank(pods: &mut [Arc<Object>]) {
    pods.sort_by_key(|pod| {
        let phase = match meta::text(pod, "status.phase") {
            "Pending" => 0,
            "Running" => 2,
            _ => 1,
        };
        let text = |path: &str| meta::text(pod, path).to_owned();
        let ready = condition(pod, "Ready").filter(|ready| ready["status"] == "True");
        let since = ready.and_then(|ready| ready["lastTransitionTime"].as_str());
        (
            !text("spec.nodeName").is_empty(),
            phase,
            ready.is_some(),
            Reverse(since.unwrap_or_default().to_owned()),
            Reverse(text("metadata.creationTimestamp")),
        )
    });
}

/// Creates and deletes the pods of a controller, and records events.
pub(super) struct PodControl {
    api: Api,
    recorder: EventRecorder,
}

impl PodControl {
    pub(super) fn new(runtime: &Runtime, component: &str) -> Result<Self, Status> {
        Ok(Self {
            api: runtime.api("v1", "pods")?,
            recorder: runtime.recorder(component, None)?,
        })
    }

    /// Records an event. Errors are ignored: the controller does not depend on events.
    pub(super) async fn event(&self, owner: &Object, kind: EventType, reason: &str, message: &str) {
        let _ = self.recorder.record(&reference(owner), kind, reason, message).await;
    }

    /// Creates a pod from the owner's template, bound to `node` if it is given.
    pub(super) async fn create(&self, owner: &Object, node: Option<&str>) -> Result<(), Status> {
        let template = meta::lookup(owner, "spec.template").cloned().unwrap_or_default();
        let mut annotations = match &template["metadata"]["annotations"] {
            Value::Object(annotations) => annotations.clone(),
            _ => Map::new(),
        };
        let created_by =
            json!({"kind": "SerializedReference", "apiVersion": "v1", "reference": reference(owner)}).to_string();
        annotations.insert("kubernetes.io/created-by".into(), format!("{created_by}\n").into());
        let mut spec = template["spec"].clone();
        if let Some(node) = node {
            spec["nodeName"] = node.into();
        }
        let mut metadata = json!({
            "generateName": format!("{}-", meta::text(owner, "metadata.name")),
            "annotations": annotations,
        });
        if let Some(labels) = template["metadata"].get("labels") {
            metadata["labels"] = labels.clone();
        }
        let namespace = meta::text(owner, "metadata.namespace");
        let pod = json!({"metadata": metadata, "spec": spec});
        match self.api.in_namespace(namespace).create(pod).await {
            Ok(pod) => {
                let message = format!("Created pod: {}", meta::text(&pod, "metadata.name"));
                self.event(owner, EventType::Normal, "SuccessfulCreate", &message).await;
                Ok(())
            }
            Err(why) => {
                let message = format!("Error creating: {}", why.message);
                self.event(owner, EventType::Warning, "FailedCreate", &message).await;
                Err(why)
            }
        }
    }

    /// Deletes a pod of the owner.
    pub(super) async fn delete(&self, owner: &Object, pod: &Object) -> Result<(), Status> {
        let name = meta::text(pod, "metadata.name");
        let api = self.api.in_namespace(meta::text(pod, "metadata.namespace"));
        match api.delete(name, None).await {
            Ok(()) => {
                let message = format!("Deleted pod: {name}");
                self.event(owner, EventType::Normal, "SuccessfulDelete", &message).await;
                Ok(())
            }
            Err(gone) if gone.code == 404 => Ok(()),
            Err(why) => {
                let message = format!("Error deleting: {}", why.message);
                self.event(owner, EventType::Warning, "FailedDelete", &message).await;
                Err(why)
            }
        }
    }
}
