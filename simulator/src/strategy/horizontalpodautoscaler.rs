//! Horizontal pod autoscalers.

use serde_json::Value;

use super::generic::Strategy;
use super::object::drop_status;
use super::validate::cursor::{Cursor, Errors};
use super::validate::go_json::{self, GoType};
use super::validate::name::{self, NameRule};
use super::validate::{internal_form, internal_types, metadata};
use crate::api::{FieldError, Object};
use crate::rng::Rng;

const TARGETS: &str = "alpha/target.custom-metrics.podautoscaler.kubernetes.io";
const TARGET: GoType = GoType::Struct(
    "extensions.CustomMetricTarget",
    &[("name", &GoType::Text("string")), ("value", &GoType::Quantity)],
);
const TARGET_LIST: GoType = GoType::Struct(
    "extensions.CustomMetricTargetList",
    &[("items", &GoType::List(&TARGET))],
);

/// Strategy of horizontal pod autoscalers.
pub(super) struct HorizontalPodAutoscalerStrategy;

impl Strategy for HorizontalPodAutoscalerStrategy {
    fn prepare_for_create(&self, autoscaler: &mut Object, _: &Rng) {
        drop_status(autoscaler);
    }

    fn validate(&self, autoscaler: &Cursor, group: &str, errors: &mut Errors) {
        metadata::create(&autoscaler.at("metadata"), true, NameRule::DnsSubdomain, errors);
        spec(autoscaler, group, errors);
        custom_metrics(&autoscaler.at("metadata").at("annotations"), errors);
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        spec(new, group, errors);
    }

    /// One of the field names is misspelt, as in v1.2.
    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        let status = new.at("status");
        status.at("currentReplicas").require_nonnegative(errors);
        status
            .at("desiredReplicas")
            .reported_at(status.path(), "desiredReplicasa")
            .require_nonnegative(errors);
    }
}

fn spec(autoscaler: &Cursor, group: &str, errors: &mut Errors) {
    let at = autoscaler.at("spec");
    let (least, most) = (at.at("minReplicas"), at.at("maxReplicas"));
    let utilization = match at.at("cpuUtilization") {
        older if older.is_set() => older.at("targetPercentage"),
        _ => at
            .at("targetCPUUtilizationPercentage")
            .reported_at(at.path(), "cpuUtilization.targetPercentage"),
    };
    positive(&least, least.optional_int(), errors);
    positive(&most, Some(most.int()), errors);
    if least.optional_int().is_some_and(|least| most.int() < least) {
        errors.push(most.invalid(most.int(), "must be greater than or equal to `minReplicas`"));
    }
    positive(&utilization, utilization.is_set().then(|| utilization.int()), errors);
    target(&at, is_newer(autoscaler, group), errors);
}

fn positive(at: &Cursor, number: Option<i64>, errors: &mut Errors) {
    if let Some(number) = number.filter(|number| *number < 1) {
        errors.push(at.invalid(number, "must be greater than 0"));
    }
}

/// Whether the object is of `autoscaling/v1`, according to its version, its fields or `group`.
fn is_newer(autoscaler: &Cursor, group: &str) -> bool {
    let (version, spec) = (autoscaler.at("apiVersion"), autoscaler.at("spec"));
    match version.text() {
        "" => spec.at("scaleTargetRef").is_set() || (group == "autoscaling" && !spec.at("scaleRef").is_set()),
        version => version.starts_with("autoscaling/"),
    }
}

/// Validates the scaled object. The newer version has no field for the subresource: it is always `scale`.
fn target(spec: &Cursor, is_newer: bool, errors: &mut Errors) {
    let reference = if is_newer {
        spec.at("scaleTargetRef").reported_at(spec.path(), "scaleRef")
    } else {
        spec.at("scaleRef")
    };
    let before = errors.len();
    for field in ["kind", "name"] {
        segment(&reference.at(field), errors);
    }
    if is_newer {
        return;
    }
    let sub_resource = reference.at("subresource");
    segment(&sub_resource, errors);
    if errors.len() == before && sub_resource.text() != "scale" {
        errors.push(sub_resource.not_supported(&["scale"]));
    }
}

fn segment(at: &Cursor, errors: &mut Errors) {
    if at.text().is_empty() {
        errors.push(at.required(""));
    } else if let Err(want) = name::path_segment(at.text()) {
        errors.push(at.invalid(at.text(), want));
    }
}

/// Validates the targets of custom metrics, which are JSON in one of the annotations at `at`.
fn custom_metrics(at: &Cursor, errors: &mut Errors) {
    let Some(text) = at.member(TARGETS).and_then(Value::as_str) else {
        return;
    };
    let Ok(targets) = go_json::decode(&TARGET_LIST, text.as_bytes()) else {
        errors.push(at.invalid(
            internal_form::show(&internal_types::LABELS, at.value()),
            "failed to parse custom metrics target annotation",
        ));
        return;
    };
    let items = Cursor::new(at.path().child("items"), targets.get("items"));
    if items.is_empty() {
        errors.push(items.required("custom metrics target must not be empty"));
    }
    for item in items.items() {
        if item.at("name").text().is_empty() {
            errors.push(FieldError::required(
                &items.path().child("name"),
                "missing custom metric target name",
            ));
        }
        let value = internal_form::amount(item.at("value").value());
        if value.milli_value() <= 0 {
            errors.push(FieldError::invalid(
                &items.path().child("value"),
                value.to_string(),
                "custom metric target value must be greater than 0",
            ));
        }
    }
}
