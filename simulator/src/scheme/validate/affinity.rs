//! Rules for node affinity, which pods carry as JSON in an annotation.

use serde_json::Value;

use super::cursor::{Cursor, Errors};
use super::selector;

const KEY: &str = "scheduler.alpha.kubernetes.io/affinity";

/// Judges the affinity among the annotations at `at`; its fields are reported as if they were fields of the annotations.
pub(super) fn validate(at: &Cursor, errors: &mut Errors) {
    let text = at.member(KEY).and_then(Value::as_str).unwrap_or_default();
    if text.is_empty() {
        return;
    }
    let affinity: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            errors.push(at.invalid(KEY, error.to_string()));
            return;
        }
    };
    let node = Cursor::new(at.path().clone(), affinity.get("nodeAffinity"));
    let required = node.at("requiredDuringSchedulingIgnoredDuringExecution");
    if required.is_set() {
        let terms = required.at("nodeSelectorTerms");
        if terms.is_empty() {
            errors.push(terms.required("must have at least one node selector term"));
        }
        terms.items().for_each(|at| term(&at, errors));
    }
    for preferred in node.at("preferredDuringSchedulingIgnoredDuringExecution").items() {
        let weight = preferred.at("weight");
        if !(1..=100).contains(&weight.int()) {
            errors.push(weight.invalid(weight.int(), "must be in the range 1-100"));
        }
        term(&preferred.at("preference"), errors);
    }
}

fn term(at: &Cursor, errors: &mut Errors) {
    let requirements = at.at("matchExpressions");
    if requirements.is_empty() {
        errors.push(requirements.required("must have at least one node selector requirement"));
    }
    requirements.items().for_each(|at| selector::requirement_is_sound(&at, &["Gt", "Lt"], errors));
}
