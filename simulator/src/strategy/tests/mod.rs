//! Tests against recorded responses of a v1.2 server, and tables of changes to valid objects with the expected
//! errors.

mod configuration;
mod controllers;
mod locations;
mod metadata;
mod networking;
mod pods;
mod storage;
mod updates;
mod volumes;

use serde_json::{Value, json};

use crate::{
    api::{FieldError, Object},
    strategy::{
        binding, deployment,
        generic::{Generic, Strategy},
        scale, table,
        validation::{self, update_status as updated_status},
    },
};

fn strategy(kind: &str) -> &'static dyn Strategy {
    table::named(&kind.to_lowercase()).unwrap_or(&Generic)
}

fn create(kind: &str, group: &str, object: &Object) -> Vec<FieldError> {
    let namespaced = !["Namespace", "Node", "PersistentVolume"].contains(&kind);
    validation::create(strategy(kind), namespaced, group, object)
}

fn update(kind: &str, group: &str, new: &Object, old: &Object) -> Vec<FieldError> {
    validation::update(strategy(kind), group, new, old)
}

fn update_status(kind: &str, _group: &str, new: &Object, old: &Object) -> Vec<FieldError> {
    updated_status(strategy(kind), new, old)
}

/// Merges `change` into `base`. Null removes a field.
fn changed(base: Value, change: Value) -> Value {
    match (base, change) {
        (Value::Object(mut base), Value::Object(change)) => {
            for (key, value) in change {
                if value.is_null() {
                    base.shift_remove(&key);
                } else {
                    let before = base.get(&key).cloned().unwrap_or_default();
                    base.insert(key, changed(before, value));
                }
            }
            Value::Object(base)
        }
        (Value::Null, Value::Object(change)) => changed(json!({}), Value::Object(change)),
        (_, change) => change,
    }
}

/// Formats errors as lines.
fn lines(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// Validates `object`, of `kind`, as a new object.
fn created(kind: &str, object: &Value) -> Vec<String> {
    lines(&create(kind, "", object.as_object().unwrap()))
}

/// Metadata of an object in a namespace.
fn metadata() -> Value {
    json!({"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z"})
}

/// Returns a valid pod specification with one container.
fn pod_spec() -> Value {
    json!({"containers": [container()], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30, "securityContext": {}})
}

/// Returns a valid container.
fn container() -> Value {
    json!({"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log",
        "resources": {}})
}

/// Returns a valid pod template with the label `app=a`.
fn template() -> Value {
    json!({"metadata": {"labels": {"app": "a"}}, "spec": pod_spec()})
}

/// Errors of a case of a fixture.
fn case_errors(case: &Value) -> Vec<String> {
    let text = |key: &str| case[key].as_str().unwrap();
    let object = |key: &str| case[key].as_object().unwrap();
    let (kind, group) = (text("kind"), text("group"));
    let errors = match text("action") {
        "create" => create(kind, group, object("object")),
        "update" => update(kind, group, object("object"), object("old")),
        "status" => update_status(kind, group, object("object"), object("old")),
        "scale" => scale::errors(object("object")),
        "rollback" => deployment::rollback_errors(object("object")),
        other => panic!("no action {other}"),
    };
    lines(&errors)
}

/// Cases of a fixture whose errors differ from the expected ones, with both.
fn mismatches(fixture: &str) -> Vec<String> {
    let cases: Vec<Value> = serde_json::from_str(fixture).unwrap();
    assert!(cases.len() > 50);
    let mut wrong = Vec::new();
    for case in &cases {
        let (got, want) = (case_errors(case), case["want"].as_array().cloned().unwrap_or_default());
        if got
            .iter()
            .map(String::as_str)
            .ne(want.iter().map(|w| w.as_str().unwrap()))
        {
            wrong.push(format!("{}\n  want {want:#?}\n  got  {got:#?}", case["about"]));
        }
    }
    wrong
}

#[test]
fn recorded_validation_errors_match() {
    let wrong = mismatches(stuntdouble_fixtures::text(&stuntdouble_fixtures::VALIDATION, "recorded.json").unwrap());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn recorded_valid_objects_are_accepted() {
    let wrong = mismatches(stuntdouble_fixtures::text(&stuntdouble_fixtures::VALIDATION, "accepted.json").unwrap());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
