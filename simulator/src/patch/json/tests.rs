use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::patch::strategic;

#[derive(serde::Deserialize)]
struct Example {
    section: String,
    document: Value,
    patch: String,
    result: Option<Value>,
}

fn patched(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    apply(document.clone(), patch.to_string().as_bytes())
}

#[test]
fn the_examples_of_rfc_6902_hold() {
    let examples: Vec<Example> =
        serde_json::from_str(stuntdouble_fixtures::text(&stuntdouble_fixtures::PATCHES, "rfc6902.json").unwrap())
            .unwrap();
    assert_eq!(examples.len(), 16);
    for Example {
        section,
        document,
        patch,
        result,
    } in examples
    {
        assert_eq!(apply(document, patch.as_bytes()).ok(), result, "{section}");
    }
}

#[rstest]
#[case::the_whole_document_is_replaced(json!([{"op": "replace", "path": "", "value": 1}]), json!(1))]
#[case::a_value_is_copied(json!([{"op": "copy", "from": "/a", "path": "/d"}]),
    json!({"a": {"b": [1, 2]}, "k/k": 3, "d": {"b": [1, 2]}}))]
#[case::a_slash_is_escaped(json!([{"op": "remove", "path": "/k~1k"}]), json!({"a": {"b": [1, 2]}}))]
#[case::an_item_is_replaced(json!([{"op": "replace", "path": "/a/b/0", "value": 9}]),
    json!({"a": {"b": [9, 2]}, "k/k": 3}))]
#[case::a_value_moves_onto_itself(json!([{"op": "move", "from": "/a", "path": "/a"}]),
    json!({"a": {"b": [1, 2]}, "k/k": 3}))]
#[case::numbers_are_compared_by_value(json!([{"op": "test", "path": "/a/b/0", "value": 1.0}]),
    json!({"a": {"b": [1, 2]}, "k/k": 3}))]
#[case::names_in_any_order(json!([{"op": "test", "path": "", "value": {"k/k": 3, "a": {"b": [1, 2]}}}]),
    json!({"a": {"b": [1, 2]}, "k/k": 3}))]
fn the_documented_profile_supports_all_operations(#[case] patch: Value, #[case] expected: Value) {
    assert_eq!(patched(&json!({"a": {"b": [1, 2]}, "k/k": 3}), &patch), Ok(expected));
}

#[rstest]
#[case(json!([{"op": "replace", "path": "/x", "value": 1}]))]
#[case(json!([{"op": "remove", "path": "/x"}]))]
#[case(json!([{"op": "remove", "path": "/a/2"}]))]
#[case(json!([{"op": "add", "path": "/a/3", "value": 1}]))]
#[case(json!([{"op": "add", "path": "/a/01", "value": 1}]))]
#[case(json!([{"op": "add", "path": "/a/-1", "value": 1}]))]
#[case(json!([{"op": "remove", "path": "/a/-"}]))]
#[case(json!([{"op": "add", "path": "/o/x/y", "value": 1}]))]
#[case(json!([{"op": "move", "from": "/o", "path": "/o/p"}]))]
#[case(json!([{"op": "copy", "from": "/x", "path": "/y"}]))]
#[case(json!([{"op": "test", "path": "/x", "value": null}]))]
#[case(json!([{"op": "test", "path": "/o", "value": {}}]))]
#[case(json!([{"op": "add", "path": "/ok", "value": 1}, {"op": "test", "path": "/ok", "value": 2}]))]
fn inapplicable_patches_are_rejected(#[case] patch: Value) {
    let refused = patched(&json!({"a": [1, 2], "o": {"q": 1}}), &patch);
    assert!(matches!(refused, Err(PatchError::Inapplicable(_))), "{refused:?}");
}

#[rstest]
#[case(json!([{"op": "add", "path": "/x"}]))]
#[case(json!([{"op": "add", "value": 1}]))]
#[case(json!([{"op": "copy", "path": "/x"}]))]
#[case(json!([{"path": "/x", "value": 1}]))]
#[case(json!([{"op": "bogus", "path": "/x"}]))]
#[case(json!([{"op": "add", "path": "x", "value": 1}]))]
#[case(json!([{"op": "add", "path": "/~2", "value": 1}]))]
#[case(json!([{"op": "add", "path": 5, "value": 1}]))]
#[case(json!([1]))]
#[case(json!({"op": "add"}))]
#[case(json!(null))]
fn malformed_patches_are_rejected(#[case] patch: Value) {
    let refused = patched(&json!({}), &patch);
    assert!(matches!(refused, Err(PatchError::Malformed(_))), "{refused:?}");
}

#[rstest]
#[case("", "unexpected end of JSON input")]
#[case("[{", "unexpected end of JSON input")]
#[case("{not json", "invalid character 'n' looking for beginning of object key string")]
#[case("[] x", "invalid character 'x' after top-level value")]
fn invalid_json_has_the_recorded_error(#[case] patch: &str, #[case] error: &str) {
    assert_eq!(
        apply(json!({}), patch.as_bytes()),
        Err(PatchError::Malformed(error.to_owned()))
    );
}

#[test]
fn copies_are_bounded() {
    let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let patch = Value::from(vec![double; 60]);
    let refused = patched(&json!({"a": ["x".repeat(1000)]}), &patch);
    assert!(refused.unwrap_err().to_string().contains("more than 4194304 bytes"));
}

#[test]
fn nesting_is_bounded() {
    let deeper = json!([{"op": "add", "path": "/b", "value": {}}, {"op": "move", "from": "/a", "path": "/b/c"},
        {"op": "move", "from": "/b", "path": "/a"}]);
    let patch: Vec<Value> = std::iter::repeat_n(deeper.as_array().unwrap().clone(), 1000)
        .flatten()
        .collect();
    let refused = patched(&json!({"a": 1}), &Value::from(patch));
    assert!(refused.unwrap_err().to_string().contains("deeper than 512"));
}

fn any_patch() -> impl Strategy<Value = Value> {
    let path = || "(/(items|tags|labels|inner|name|-|0|1|~0|a)){0,3}|x";
    let kind = prop_oneof![
        Just("add"),
        Just("remove"),
        Just("replace"),
        Just("move"),
        Just("copy"),
        Just("test"),
        Just("bogus")
    ];
    let operation = (kind, path(), path(), strategic::tests::any_value())
        .prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}));
    prop::collection::vec(operation, 0..6).prop_map(Value::from)
}

proptest! {
    #[test]
    fn an_added_value_is_found(document in strategic::tests::any_value(), value in strategic::tests::any_value(),
        path in "(/(items|inner|0|a)){0,3}") {
        let patch = json!([{"op": "add", "path": path, "value": value}]);
        if let Ok(added) = patched(&document, &patch) {
            let test = json!([{"op": "test", "path": path, "value": value}]);
            prop_assert_eq!(patched(&added, &test), Ok(added));
        }
    }

    #[test]
    fn no_patch_panics(document in strategic::tests::any_value(), patch in any_patch()) {
        let _ = patched(&document, &patch);
    }

    #[test]
    fn no_bytes_panic(patch in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = apply(json!({"a": [1]}), &patch);
    }
}
