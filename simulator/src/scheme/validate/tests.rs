//! What a v1.2 server answered, and tables of objects with what is wrong with them.

use serde_json::Value;

use super::*;

/// What the rules say to a case of a fixture, as lines.
fn lines(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn judged(case: &Value) -> Vec<String> {
    let text = |key: &str| case[key].as_str().unwrap();
    let object = |key: &str| case[key].as_object().unwrap();
    let (kind, group) = (text("kind"), text("group"));
    let errors = match text("action") {
        "create" => create(kind, group, object("object")),
        "update" => update(kind, group, object("object"), object("old")),
        "status" => update_status(kind, group, object("object"), object("old")),
        "scale" => scale(object("object")),
        "rollback" => rollback(object("object")),
        other => panic!("no action {other}"),
    };
    lines(&errors)
}

#[test]
fn every_recorded_refusal_is_given() {
    let cases: Value = serde_json::from_str(include_str!("../../../../fixtures/validation/recorded.json")).unwrap();
    let mut wrong = Vec::new();
    for case in cases.as_array().unwrap() {
        let (got, want) = (judged(case), case["want"].as_array().unwrap());
        if got.iter().map(String::as_str).ne(want.iter().map(|w| w.as_str().unwrap())) {
            wrong.push(format!("{}\n  want {want:#?}\n  got  {got:#?}", case["about"]));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
