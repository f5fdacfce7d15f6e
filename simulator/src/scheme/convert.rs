//! The two faces of one object: jobs (batch and extensions) and autoscalers (autoscaling and extensions).
//!
//! Promises: there and back again is where it began, for what [`super::Resource::decode`] gives.
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
    if let Some(percentage) = spec
        .shift_remove("targetCPUUtilizationPercentage")
        .filter(|p| !p.is_null())
    {
        spec.insert("cpuUtilization".into(), json!({ "targetPercentage": percentage }));
    }
}

fn to_autoscaling(autoscaler: &mut Object) {
    let spec = child(autoscaler, "spec");
    if let Some(reference) = spec.shift_remove("scaleRef") {
        spec.insert("scaleTargetRef".into(), reference);
    }
    if let Some(Value::Object(mut target)) = spec.shift_remove("cpuUtilization") {
        spec.insert(
            "targetCPUUtilizationPercentage".into(),
            target.shift_remove("targetPercentage").unwrap_or(0.into()),
        );
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::{
        api::meta::lookup,
        scheme::{Scheme, Syntax},
    };

    use super::*;

    #[rstest]
    #[case("Job", "batch/v1", "{}", "extensions/v1beta1", "spec.autoSelector", json!(true))]
    #[case(
        "Job",
        "batch/v1",
        r#"{"spec": {"manualSelector": true}}"#,
        "extensions/v1beta1",
        "spec.autoSelector",
        Value::Null
    )]
    #[case("Job", "extensions/v1beta1", "{}", "batch/v1", "spec.manualSelector", json!(true))]
    #[case(
        "Job",
        "extensions/v1beta1",
        r#"{"spec": {"autoSelector": true}}"#,
        "batch/v1",
        "spec.manualSelector",
        Value::Null
    )]
    #[case("HorizontalPodAutoscaler", "extensions/v1beta1", r#"{"spec": {"scaleRef": {"kind": "K", "name": "n", "subresource": "scale"}, "cpuUtilization": {"targetPercentage": 7}}}"#, "autoscaling/v1", "spec", json!({"scaleTargetRef": {"kind": "K", "name": "n"}, "maxReplicas": 0, "targetCPUUtilizationPercentage": 7}))]
    #[case("HorizontalPodAutoscaler", "autoscaling/v1", r#"{"spec": {"scaleTargetRef": {"kind": "K", "name": "n"}, "targetCPUUtilizationPercentage": 7}}"#, "extensions/v1beta1", "spec", json!({"scaleRef": {"kind": "K", "name": "n", "subresource": "scale"}, "maxReplicas": 0, "cpuUtilization": {"targetPercentage": 7}}))]
    fn an_object_has_two_faces(
        #[case] kind: &str,
        #[case] from: &str,
        #[case] body: &str,
        #[case] to: &str,
        #[case] path: &str,
        #[case] value: Value,
    ) {
        let (from, to) = (
            Scheme::builtin().kind(from, kind).unwrap(),
            Scheme::builtin().kind(to, kind).unwrap(),
        );
        let object = from.decode(body.as_bytes(), Syntax::Json).unwrap();
        let there = from.convert(to, object.clone());
        assert_eq!(there["apiVersion"], to.group_version());
        assert_eq!(
            lookup(&there, path).unwrap_or(&Value::Null).to_string(),
            value.to_string()
        );
        assert_eq!(to.convert(from, there), object);
    }
}
