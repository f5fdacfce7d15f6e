//! Comparison of a scale with the object that it scales.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{form, text_of};
use crate::check::Mismatch;

/// Fields that a scale has from the metadata of its object.
const OF_THE_OBJECT: [&str; 4] = [
    "/metadata/name",
    "/metadata/namespace",
    "/metadata/uid",
    "/metadata/creationTimestamp",
];

/// Returns the labels that an object selects; `None` if it selects by expressions.
fn selected(object: &Value) -> Option<BTreeMap<&str, &str>> {
    let selector = object.pointer("/spec/selector")?.as_object()?;
    if selector.contains_key("matchExpressions") {
        return None;
    }
    let labels = match selector.get("matchLabels") {
        Some(labels) => labels.as_object()?,
        None => selector,
    };
    labels
        .iter()
        .map(|(key, value)| Some((key.as_str(), value.as_str()?)))
        .collect()
}

/// Compares a scale with the last known state of its object.
pub(super) fn differences(object: &Value, scale: &Value) -> Vec<Mismatch> {
    let known = OF_THE_OBJECT.map(|pointer| (pointer, text_of(object, pointer)));
    let mut found = form::differing(scale, &known.each_ref().map(|(pointer, text)| (*pointer, text)));
    if text_of(object, "/metadata/resourceVersion") == text_of(scale, "/metadata/resourceVersion") {
        let replicas = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
        found.extend(
            ["/spec/replicas", "/status/replicas"]
                .into_iter()
                .filter_map(|pointer| {
                    let (expected, actual) = (replicas(object, pointer), replicas(scale, pointer));
                    (actual != expected).then(|| Mismatch::new(pointer, expected.to_string(), actual.to_string()))
                }),
        );
    }
    found.extend(
        selected(object)
            .into_iter()
            .flat_map(|labels| selectors(&labels, scale)),
    );
    found
}

/// Compares the selectors of a scale. `selector` is a text in some groups and the labels in others, which also have the
/// text as `targetSelector`.
fn selectors(labels: &BTreeMap<&str, &str>, scale: &Value) -> Vec<Mismatch> {
    let requirements: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let text = Value::from(requirements.join(","));
    let differing = |pointer: &str| {
        let actual = scale.pointer(pointer)?;
        let expected = match actual {
            Value::String(_) => text.clone(),
            _ => labels.iter().map(|(key, value)| (*key, *value)).collect(),
        };
        (*actual != expected).then(|| Mismatch::new(pointer, expected.to_string(), actual.to_string()))
    };
    let pointers = ["/status/selector", "/status/targetSelector"];
    pointers.into_iter().filter_map(differing).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn about(change: Value) -> Vec<String> {
        let object = json!({
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "t", "resourceVersion": "5"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"b": "2", "a": "1"}}},
            "status": {"replicas": 1},
        });
        let mut scale = json!({
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "t", "resourceVersion": "5"},
            "spec": {"replicas": 2},
            "status": {"replicas": 1, "selector": "a=1,b=2"},
        });
        crate::request::merge(&mut scale, &change);
        let found = differences(&object, &scale).into_iter();
        found.map(|mismatch| mismatch.about).collect()
    }

    #[rstest]
    #[case(json!({}))]
    #[case::labels(json!({"status": {"selector": {"a": "1", "b": "2"}, "targetSelector": "a=1,b=2"}}))]
    #[case::later(json!({"metadata": {"resourceVersion": "6"}, "spec": {"replicas": 3}}))]
    fn scales_of_the_object_pass(#[case] change: Value) {
        assert_eq!(about(change), [""; 0]);
    }

    #[rstest]
    #[case(json!({"metadata": {"uid": "v"}}), "/metadata/uid")]
    #[case(json!({"spec": {"replicas": 3}}), "/spec/replicas")]
    #[case(json!({"status": {"replicas": null}}), "/status/replicas")]
    #[case(json!({"status": {"selector": "a=1"}}), "/status/selector")]
    #[case(json!({"status": {"selector": {"a": "2"}}}), "/status/selector")]
    #[case(json!({"status": {"targetSelector": "a=1"}}), "/status/targetSelector")]
    fn other_scales_are_found(#[case] change: Value, #[case] pointer: &str) {
        assert_eq!(about(change), [pointer]);
    }
}
