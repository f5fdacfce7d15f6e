//! What a v1.2 server answered, and tables of changes to sound objects with what is wrong with them then.

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

/// `base` with `change` merged into it; null takes away.
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

/// What the rules say, as lines.
fn lines(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// What is wrong with `object`, of `kind`, when it is made.
fn created(kind: &str, object: &Value) -> Vec<String> {
    lines(&create(kind, "", object.as_object().unwrap()))
}

/// Metadata of an object in a namespace.
fn metadata() -> Value {
    json!({"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"})
}

/// A sound specification of a pod, with one container.
fn pod_spec() -> Value {
    json!({"containers": [container()], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30, "securityContext": {}})
}

/// A sound container.
fn container() -> Value {
    json!({"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log", "resources": {}})
}

/// A sound pod template, labelled `app=a`.
fn template() -> Value {
    json!({"metadata": {"labels": {"app": "a"}}, "spec": pod_spec()})
}

/// The errors of a case of a fixture.
fn judged(case: &Value) -> Vec<String> {
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

/// The cases of a fixture whose errors differ from the expected ones, with both.
fn misjudged(fixture: &str) -> Vec<String> {
    let cases: Vec<Value> = serde_json::from_str(fixture).unwrap();
    assert!(cases.len() > 50);
    let mut wrong = Vec::new();
    for case in &cases {
        let (got, want) = (judged(case), case["want"].as_array().cloned().unwrap_or_default());
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
fn every_recorded_refusal_is_given() {
    let wrong = misjudged(stuntdouble_fixtures::text(&stuntdouble_fixtures::VALIDATION, "recorded.json").unwrap());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn nothing_recorded_as_accepted_is_refused() {
    let wrong = misjudged(stuntdouble_fixtures::text(&stuntdouble_fixtures::VALIDATION, "accepted.json").unwrap());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
