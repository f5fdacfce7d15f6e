//! References to a field of the pod itself, in environment variables and volumes.

use super::cursor::{Cursor, Errors};
use crate::api::FieldError;

/// Fields that environment variables can refer to.
pub(crate) const OF_ENVIRONMENT: &[&str] = &["metadata.name", "metadata.namespace", "status.podIP"];
/// Fields that volumes can refer to.
pub(crate) const OF_VOLUMES: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
];

/// Fields of a pod that a reference may name in v1.
const OF_V1: [&str; 8] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.labels",
    "metadata.annotations",
    "status.phase",
    "status.podIP",
    "spec.nodeName",
    "spec.restartPolicy",
];
/// Versions that have field labels, but none for pods.
const WITHOUT_PODS: [&str; 3] = ["extensions/v1beta1", "batch/v1", "autoscaling/v1"];

/// Validates the reference at `at`, which must be to one of `supported`.
pub(crate) fn reference(at: &Cursor, supported: &[&str], errors: &mut Errors) {
    let (version, field) = (at.at("apiVersion"), at.at("fieldPath"));
    if version.text().is_empty() {
        errors.push(version.required(""));
    } else if field.text().is_empty() {
        errors.push(field.required(""));
    } else {
        match internal_name(version.text(), field.text()) {
            Err(why) => errors.push(field.invalid(field.text(), format!("error converting fieldPath: {why}"))),
            Ok(name) if !supported.contains(&name) => {
                errors.push(FieldError::not_supported(field.path(), name, supported))
            }
            Ok(_) => {}
        }
    }
}

/// Internal name of the field that `version` calls `field`.
fn internal_name<'a>(version: &str, field: &'a str) -> Result<&'a str, String> {
    match version {
        "v1" if field == "spec.host" => Ok("spec.nodeName"),
        "v1" if OF_V1.contains(&field) => Ok(field),
        "v1" => Err(format!("field label not supported: {field}")),
        _ if WITHOUT_PODS.contains(&version) => Err(format!(
            "No field label conversion function found for version {version} and kind Pod"
        )),
        _ => Err(format!(
            "No field label conversion function found for version: {version}"
        )),
    }
}
