//! Label selectors of controllers: whether they are well formed, and which labels they match.

use serde_json::Value;

use super::cursor::{Cursor, Errors};
use super::{meta, name};

/// Judges the label selector at `at`, if there is one.
pub(super) fn validate(at: &Cursor, errors: &mut Errors) {
    meta::labels(&at.at("matchLabels"), errors);
    for requirement in at.at("matchExpressions").items() {
        requirement_is_sound(&requirement, &[], errors);
    }
}

/// Judges one requirement: operator and number of values, then the key. `ordering` are the operators that take one number.
pub(super) fn requirement_is_sound(at: &Cursor, ordering: &[&str], errors: &mut Errors) {
    let (operator, values) = (at.at("operator"), at.at("values"));
    match operator.text() {
        "In" | "NotIn" => {
            if values.is_empty() {
                errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                errors.push(values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
            }
        }
        text if ordering.contains(&text) => {
            if values.len() != 1 {
                errors.push(values.required("must be specified single value when `operator` is 'Lt' or 'Gt'"));
            }
        }
        text => errors.push(operator.invalid(text, "not a valid selector operator")),
    }
    let key = at.at("key");
    meta::label_key(&key, key.text(), errors);
}

/// Whether neither labels nor expressions are given.
pub(super) fn is_blank(at: &Cursor) -> bool {
    at.at("matchLabels").is_empty() && at.at("matchExpressions").is_empty()
}

/// Whether the selector at `at` matches `labels`; nothing if it is malformed. No selector matches nothing, an empty one everything.
pub(super) fn matches(at: &Cursor, labels: &Cursor) -> Option<bool> {
    if !at.is_set() {
        return Some(false);
    }
    let mut all = true;
    for (key, value) in at.at("matchLabels").entries() {
        name::qualified_name(key).and(name::label_value(value.text())).ok()?;
        all &= label(labels, key) == Some(value.text());
    }
    for requirement in at.at("matchExpressions").items() {
        all &= expression_matches(&requirement, labels)?;
    }
    Some(all)
}

fn expression_matches(requirement: &Cursor, labels: &Cursor) -> Option<bool> {
    let (key, values) = (requirement.at("key").text(), requirement.at("values"));
    name::qualified_name(key).ok()?;
    for value in values.texts() {
        name::label_value(value).ok()?;
    }
    let found = label(labels, key);
    let among = found.is_some_and(|found| values.texts().any(|v| v == found));
    match (requirement.at("operator").text(), values.is_empty()) {
        ("In", false) => Some(among),
        ("NotIn", false) => Some(!among),
        ("Exists", true) => Some(found.is_some()),
        ("DoesNotExist", true) => Some(found.is_none()),
        _ => None,
    }
}

/// Whether the plain selector at `at` (a map) asks for anything; one with a malformed key or value counts as asking for nothing.
pub(super) fn map_is_blank(at: &Cursor) -> bool {
    at.is_empty() || at.entries().iter().any(|(key, value)| name::qualified_name(key).and(name::label_value(value.text())).is_err())
}

/// Whether `labels` has every entry of the plain selector at `at`.
pub(super) fn map_matches(at: &Cursor, labels: &Cursor) -> bool {
    at.entries().iter().all(|(key, value)| label(labels, key) == Some(value.text()))
}

fn label<'a>(labels: &Cursor<'a>, key: &str) -> Option<&'a str> {
    labels.member(key).and_then(Value::as_str)
}
