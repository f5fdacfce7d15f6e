//! Rules for node affinity, which is JSON in an annotation of pods.

use serde_json::Value;

use super::cursor::{Cursor, Errors};
use super::go_json::{self, GoType};
use super::selector;

const KEY: &str = "scheduler.alpha.kubernetes.io/affinity";

const REQUIREMENT: GoType = GoType::Struct(
    "api.NodeSelectorRequirement",
    &[
        ("key", &GoType::Text("string")),
        ("operator", &GoType::Text("api.NodeSelectorOperator")),
        ("values", &GoType::List(&GoType::Text("string"))),
    ],
);
const TERM: GoType = GoType::Struct(
    "api.NodeSelectorTerm",
    &[("matchExpressions", &GoType::List(&REQUIREMENT))],
);
const REQUIRED: GoType = GoType::Struct("api.NodeSelector", &[("nodeSelectorTerms", &GoType::List(&TERM))]);
const PREFERRED: GoType = GoType::Struct(
    "api.PreferredSchedulingTerm",
    &[("weight", &GoType::Int), ("preference", &TERM)],
);
const AFFINITY: GoType = GoType::Struct(
    "api.Affinity",
    &[(
        "nodeAffinity",
        &GoType::Struct(
            "api.NodeAffinity",
            &[
                ("requiredDuringSchedulingIgnoredDuringExecution", &REQUIRED),
                (
                    "preferredDuringSchedulingIgnoredDuringExecution",
                    &GoType::List(&PREFERRED),
                ),
            ],
        ),
    )],
);

/// Validates the affinity in the annotations at `at`. Its fields are reported as fields of the annotations.
pub(crate) fn validate(at: &Cursor, errors: &mut Errors) {
    let text = at.member(KEY).and_then(Value::as_str).unwrap_or_default();
    if text.is_empty() {
        return;
    }
    let affinity = match go_json::decode(&AFFINITY, text.as_bytes()) {
        Ok(value) => value,
        Err(why) => {
            errors.push(at.invalid(KEY, why));
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
    requirements
        .items()
        .for_each(|at| selector::validate_requirement(&at, &["Gt", "Lt"], errors));
}
