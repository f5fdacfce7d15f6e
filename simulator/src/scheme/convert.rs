//! The two faces of one object: jobs (batch and extensions) and autoscalers (autoscaling and extensions).
//!
//! Source of semantics: Kubernetes v1.2's conversions through its internal types.

use serde_json::{Value, json};

use super::kind::Resource;
use crate::api::{Object, meta::child};

/// The object of kind `from` as kind `to` shows it.
pub(super) fn convert(from: &Resource, to: &Resource, mut object: Object) -> Object {
    if from.group != to.group {
        match (from.kind.as_str(), to.group.as_str()) {
            ("Job", "extensions") => selector_flag(&mut object, "manualSelector", "autoSelector"),
            ("Job", _) => selector_flag(&mut object, "autoSelector", "manualSelector"),
            ("HorizontalPodAutoscaler", "extensions") => to_extensions(&mut object),
            ("HorizontalPodAutoscaler", _) => to_autoscaling(&mut object),
            _ => {}
        }
    }
    to.canonical(object)
}

/// One face says that the selector was given, the other that it was made: each says nothing where the other says yes.
fn selector_flag(job: &mut Object, from: &str, to: &str) {
    let spec = child(job, "spec");
    let given = spec.shift_remove(from) == Some(Value::Bool(true));
    if !given {
        spec.insert(to.to_owned(), true.into());
    }
}

fn to_extensions(autoscaler: &mut Object) {
    let spec = child(autoscaler, "spec");
    if let Some(mut target) = spec.shift_remove("scaleTargetRef") {
        if let Some(target) = target.as_object_mut() {
            target.insert("subresource".into(), "scale".into());
        }
        spec.insert("scaleRef".into(), target);
    }
    if let Some(percentage) = spec.shift_remove("targetCPUUtilizationPercentage").filter(|p| !p.is_null()) {
        spec.insert("cpuUtilization".into(), json!({ "targetPercentage": percentage }));
    }
}

fn to_autoscaling(autoscaler: &mut Object) {
    let spec = child(autoscaler, "spec");
    if let Some(reference) = spec.shift_remove("scaleRef") {
        spec.insert("scaleTargetRef".into(), reference);
    }
    if let Some(Value::Object(mut target)) = spec.shift_remove("cpuUtilization") {
        spec.insert("targetCPUUtilizationPercentage".into(), target.shift_remove("targetPercentage").unwrap_or(0.into()));
    }
}
