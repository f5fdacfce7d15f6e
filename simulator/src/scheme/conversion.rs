//! Conversions between a version of a kind and its storage version.
//!
//! - Guarantee: an object that is converted to the storage version and back is the same.
//! - Source of the semantics: the conversions of Kubernetes v1.2 through its internal types.

use std::{fmt, sync::Arc};

use serde_json::{Value, json};

use crate::api::{Object, meta::child};

type Convert = Arc<dyn Fn(&mut Object) + Send + Sync>;

/// Conversion of a version of a kind to its storage version and back.
///
/// Each function gets an object in canonical form, including kind and version, and moves its fields. Afterwards,
/// kind, version and order of the fields are set, and fields that the target version does not have are removed.
#[derive(Clone)]
pub struct Conversion {
    to_storage: Convert,
    convert_from_storage: Convert,
}

impl Conversion {
    /// Returns a conversion by these two functions.
    pub fn new(
        to_storage: impl Fn(&mut Object) + Send + Sync + 'static,
        convert_from_storage: impl Fn(&mut Object) + Send + Sync + 'static,
    ) -> Self {
        Self {
            to_storage: Arc::new(to_storage),
            convert_from_storage: Arc::new(convert_from_storage),
        }
    }

    /// Conversion between versions that differ in their names only.
    pub(super) fn identity() -> Self {
        Self::new(|_| {}, |_| {})
    }

    pub(super) fn to_storage(&self, object: &mut Object) {
        (self.to_storage)(object);
    }

    pub(super) fn convert_from_storage(&self, object: &mut Object) {
        (self.convert_from_storage)(object);
    }
}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion").finish_non_exhaustive()
    }
}

/// Conversions that the kinds of `fixtures/kinds` refer to.
pub(super) fn builtin() -> [(&'static str, Conversion); 2] {
    [
        (
            "autoscaler",
            Conversion::new(autoscaler_to_extensions, autoscaler_to_autoscaling),
        ),
        (
            "job",
            Conversion::new(
                |job| selector_flag(job, "autoSelector", "manualSelector"),
                |job| selector_flag(job, "manualSelector", "autoSelector"),
            ),
        ),
    ]
}

/// Converts between a flag that the selector was set and a flag that it was generated: each is omitted where the
/// other is true.
fn selector_flag(job: &mut Object, from: &str, to: &str) {
    let spec = child(job, "spec");
    let given = spec.shift_remove(from) == Some(Value::Bool(true));
    if !given {
        spec.insert(to.to_owned(), true.into());
    }
}

fn autoscaler_to_extensions(autoscaler: &mut Object) {
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

fn autoscaler_to_autoscaling(autoscaler: &mut Object) {
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
    #[case("HorizontalPodAutoscaler", "extensions/v1beta1",
        r#"{"spec": {"scaleRef": {"kind": "K", "name": "n", "subresource": "scale"},
            "cpuUtilization": {"targetPercentage": 7}}}"#,
        "autoscaling/v1", "spec",
        json!({"scaleTargetRef": {"kind": "K", "name": "n"}, "maxReplicas": 0, "targetCPUUtilizationPercentage": 7}))]
    #[case("HorizontalPodAutoscaler", "autoscaling/v1",
        r#"{"spec": {"scaleTargetRef": {"kind": "K", "name": "n"}, "targetCPUUtilizationPercentage": 7}}"#,
        "extensions/v1beta1", "spec", json!({"scaleRef": {"kind": "K", "name": "n", "subresource": "scale"},
        "maxReplicas": 0, "cpuUtilization": {"targetPercentage": 7}}))]
    fn a_converted_object_converts_back(
        #[case] kind: &str,
        #[case] from: &str,
        #[case] body: &str,
        #[case] to: &str,
        #[case] path: &str,
        #[case] value: Value,
    ) {
        let scheme = Scheme::builtin();
        let (from, to) = (scheme.kind(from, kind).unwrap(), scheme.kind(to, kind).unwrap());
        let object = scheme.decode(from, body.as_bytes(), Syntax::Json).unwrap();
        let there = from.convert(to, object.clone());
        assert_eq!(there["apiVersion"], to.group_version());
        assert_eq!(
            lookup(&there, path).unwrap_or(&Value::Null).to_string(),
            value.to_string()
        );
        assert_eq!(to.convert(from, there), object);
    }
}
