//! Rules for node affinity, which is JSON in an annotation of pods.

use serde_json::Value;

use super::cursor::{Cursor, Errors};
use super::json::{self, Type};
use super::selector;

const KEY: &str = "scheduler.alpha.kubernetes.io/affinity";

const REQUIREMENT: Type = Type::Struct(
    "api.NodeSelectorRequirement",
    &[
        ("key", &Type::Text("string")),
        ("operator", &Type::Text("api.NodeSelectorOperator")),
        ("values", &Type::List(&Type::Text("string"))),
    ],
);
const TERM: Type = Type::Struct(
    "api.NodeSelectorTerm",
    &[("matchExpressions", &Type::List(&REQUIREMENT))],
);
const REQUIRED: Type = Type::Struct("api.NodeSelector", &[("nodeSelectorTerms", &Type::List(&TERM))]);
const PREFERRED: Type = Type::Struct(
    "api.PreferredSchedulingTerm",
    &[("weight", &Type::Int), ("preference", &TERM)],
);
const AFFINITY: Type = Type::Struct(
    "api.Affinity",
    &[(
        "nodeAffinity",
        &Type::Struct(
            "api.NodeAffinity",
            &[
                ("requiredDuringSchedulingIgnoredDuringExecution", &REQUIRED),
                (
                    "preferredDuringSchedulingIgnoredDuringExecution",
                    &Type::List(&PREFERRED),
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
    let affinity = match json::decode(&AFFINITY, text.as_bytes()) {
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
        .for_each(|at| selector::requirement(&at, &["Gt", "Lt"], errors));
}
