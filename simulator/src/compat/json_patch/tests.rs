use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;

fn patched(document: &str, patch: &Value) -> Result<String, Failure> {
    apply(document.as_bytes(), patch.to_string().as_bytes()).map(|text| String::from_utf8(text).unwrap())
}

const DOCUMENT: &str = r#"{"o":{"q":1},"a":[1,2],"n":null,"t":"\u003c"}"#;

#[rstest]
#[case::replace_adds(json!([{"op": "replace", "path": "/x", "value": 1}]),
    r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c","x":1}"#)]
#[case::remove_of_nothing(json!([{"op": "remove", "path": "/o/x"}]),
    r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c"}"#)]
#[case::replace_inserts(json!([{"op": "replace", "path": "/a/0", "value": 9}]),
    r#"{"a":[9,1,2],"n":null,"o":{"q":1},"t":"\u003c"}"#)]
#[case::the_end(json!([{"op": "add", "path": "/a/-", "value": 9}]),
    r#"{"a":[1,2,9],"n":null,"o":{"q":1},"t":"\u003c"}"#)]
#[case::no_index(json!([{"op": "add", "path": "/a/x", "value": 9}]),
    r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c"}"#)]
#[case::lenient_index(json!([{"op": "remove", "path": "/a/+01"}]), r#"{"a":[1],"n":null,"o":{"q":1},"t":"\u003c"}"#)]
#[case::a_tilde_is_a_tilde(json!([{"op": "add", "path": "/o/k~1k", "value": 9}]),
    r#"{"a":[1,2],"n":null,"o":{"k~1k":9,"q":1},"t":"\u003c"}"#)]
#[case::move_of_nothing(json!([{"op": "move", "from": "/x", "path": "/y"}]),
    r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c","y":null}"#)]
#[case::no_value(json!([{"op": "add", "path": "/y"}]), r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c","y":null}"#)]
#[case::a_null_that_is_taken_back(json!([{"op": "add", "path": "/y", "value": null}, {"op": "remove", "path": "/y"}]),
    r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c"}"#)]
#[case::a_null_inside(json!([{"op": "add", "path": "/y", "value": {"b": null}}]),
    r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c","y":{"b":null}}"#)]
#[case::test_of_a_part(json!([{"op": "test", "path": "/o", "value": {"q": 1, "more": 2}}]),
    r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c"}"#)]
#[case::markup_is_escaped(json!([{"op": "add", "path": "/y", "value": "<&>"}]),
    r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c","y":"\u003c\u0026\u003e"}"#)]
#[case::null(json!(null), r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c"}"#)]
#[case::nothing(json!([]), r#"{"a":[1,2],"n":null,"o":{"q":1},"t":"\u003c"}"#)]
fn operations_have_the_effect_of_the_library(#[case] patch: Value, #[case] expected: &str) {
    assert_eq!(patched(DOCUMENT, &patch), Ok(expected.to_owned()));
}

#[rstest]
#[case(json!([{"op": "copy", "from": "/o", "path": "/x"}]), "Unexpected kind: copy")]
#[case(json!([{"path": "/x"}]), "Unexpected kind: unknown")]
#[case(json!([null]), "Unexpected kind: unknown")]
#[case(json!([{"op": "add", "path": "/nope/x", "value": 1}]), "Missing container: /nope/x")]
#[case(json!([{"op": "add", "path": "/o/q/x", "value": 1}]), "Missing container: /o/q/x")]
#[case(json!([{"op": "add", "path": "/n/x", "value": 1}]), "Missing container: /n/x")]
#[case(json!([{"op": "test", "path": "/o/q", "value": 2}]), "Testing value /o/q failed")]
#[case(json!([{"op": "test", "path": "/o/q", "value": 1.0}]), "Testing value /o/q failed")]
#[case::text_is_compared_as_it_is_written(json!([{"op": "test", "path": "/t", "value": "<"}]),
    "Testing value /t failed")]
#[case(json!([{"op": "remove", "path": "/a/x"}]), "strconv.Atoi: parsing \"x\": invalid syntax")]
#[case(json!([{"op": "test", "path": "/a/-", "value": 1}]), "strconv.Atoi: parsing \"-\": invalid syntax")]
#[case(json!({"op": "add"}), "json: cannot unmarshal object into Go value of type jsonpatch.Patch")]
#[case(json!(["x"]), "json: cannot unmarshal string into Go value of type jsonpatch.operation")]
fn errors_are_those_of_the_library(#[case] patch: Value, #[case] error: &str) {
    let refused = match patched(DOCUMENT, &patch) {
        Err(Failure::Malformed(text) | Failure::Inapplicable(text)) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused, error);
}

#[rstest]
#[case::absent(json!([{"op": "test", "path": "/none", "value": "5"}]))]
#[case::null(json!([{"op": "test", "path": "/n", "value": null}]))]
#[case::no_pointer(json!([{"op": "add", "path": "data", "value": {}}]))]
#[case::the_document(json!([{"op": "replace", "path": "", "value": {}}]))]
#[case::out_of_range(json!([{"op": "remove", "path": "/a/2"}]))]
#[case::replace_below_nothing(json!([{"op": "replace", "path": "/x/y", "value": 1}]))]
#[case::remove_below_nothing(json!([{"op": "remove", "path": "/x/y"}]))]
#[case::test_below_a_scalar(json!([{"op": "test", "path": "/o/q/x", "value": 1}]))]
#[case::move_from_nothing(json!([{"op": "move", "from": "/x/y", "path": "/z"}]))]
#[case::move_below_nothing(json!([{"op": "move", "from": "/o", "path": "/x/y"}]))]
#[case::null_is_set(json!([{"op": "add", "path": "/x", "value": null}]))]
#[case::null_replaces(json!([{"op": "replace", "path": "/o", "value": null}]))]
#[case::null_is_opened(json!([{"op": "add", "path": "/x", "value": null}, {"op": "add", "path": "/x/y", "value": 1}]))]
fn the_library_panics(#[case] patch: Value) {
    assert_eq!(patched(DOCUMENT, &patch), Err(Failure::Panic));
}

#[test]
fn numbers_keep_their_text() {
    let patch = br#"[{"op": "add", "path": "/x", "value": [ 1e3, 123456789012345678901234567890, 1.0 ]}]"#;
    let text = apply(b"{\"y\":0.10}", patch).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        r#"{"x":[1e3,123456789012345678901234567890,1.0],"y":0.10}"#
    );
    let text = merge(b"{\"y\":0.10}", b"{\"x\": 1e3}").unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), r#"{"x":1e3,"y":0.10}"#);
}

#[rstest]
#[case::nulls_in_new_lists_are_dropped("{}", json!({"a": [1, null, {"b": null}]}), r#"{"a":[1,{}]}"#)]
#[case::and_in_lists_for_lists(r#"{"a":[0]}"#, json!({"a": [null, 1]}), r#"{"a":[1]}"#)]
#[case::but_not_in_lists_for_objects(r#"{"a":{}}"#, json!({"a": [null, 1]}), r#"{"a":[null,1]}"#)]
#[case::an_empty_list_for_a_scalar_is_null(r#"{"a":"x"}"#, json!({"a": []}), r#"{"a":null}"#)]
#[case::a_new_list_of_nulls_is_null("{}", json!({"a": {"b": [null]}}), r#"{"a":{"b":null}}"#)]
#[case::an_empty_list_for_an_object_stays(r#"{"a":{"b":1}}"#, json!({"a": []}), r#"{"a":[]}"#)]
#[case::names_are_sorted_where_it_went(r#"{"z":{"y":1,"b":2},"k":{"y":1,"b":2}}"#, json!({"z": {"c": 3}}),
    r#"{"k":{"y":1,"b":2},"z":{"b":2,"c":3,"y":1}}"#)]
#[case::a_list_is_the_whole_document(r#"{"a":1}"#, json!([1, null, {}]), "[1,{}]")]
#[case::an_empty_list_is_null(r#"{"a":1}"#, json!([]), "null")]
fn documents_are_merged_as_the_library_does(#[case] document: &str, #[case] patch: Value, #[case] expected: &str) {
    let merged = merge(document.as_bytes(), patch.to_string().as_bytes()).unwrap();
    assert_eq!(String::from_utf8(merged).unwrap(), expected);
}

#[rstest]
#[case("{not json")]
#[case("\"x\"")]
#[case("null")]
#[case("")]
#[case("1")]
fn invalid_documents_are_rejected(#[case] patch: &str) {
    let refused = Failure::Malformed("Invalid JSON Patch".to_owned());
    assert_eq!(merge(b"{}", patch.as_bytes()), Err(refused));
}

#[test]
fn nesting_is_bounded() {
    let deeper = json!([{"op": "add", "path": "/b", "value": {}}, {"op": "move", "from": "/a", "path": "/b/c"},
        {"op": "move", "from": "/b", "path": "/a"}]);
    let patch: Vec<Value> = std::iter::repeat_n(deeper.as_array().unwrap().clone(), 1000)
        .flatten()
        .collect();
    let bounded = Failure::Inapplicable("the patched document nests deeper than 512".to_owned());
    assert_eq!(patched("{\"a\":1}", &Value::from(patch)), Err(bounded.clone()));
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(600), "]".repeat(600));
    assert_eq!(merge(b"{}", deep.as_bytes()), Err(bounded));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!("x")), Just(json!(1.5)), Just(json!(null))];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let fields = prop::collection::vec(("[ab]", inner.clone()), 0..3);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_patch_panics(document in any_value(), value in any_value(),
        ops in prop::collection::vec(("add|remove|replace|move|test", "(/(a|b|0|-)){0,3}", "(/(a|b|0|1)){0,3}"),
        0..5)) {
        let document = json!({"a": document}).to_string();
        let patch: Vec<Value> = ops
            .into_iter()
            .map(|(op, path, from)| json!({"op": op, "path": path, "from": from, "value": value}))
            .collect();
        if let Ok(text) = patched(&document, &Value::from(patch)) {
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
        }
        if let Ok(text) = merge(document.as_bytes(), value.to_string().as_bytes()) {
            prop_assert!(serde_json::from_slice::<Value>(&text).is_ok());
        }
    }

    #[test]
    fn no_bytes_panic(patch in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = apply(b"{\"a\":[1]}", &patch);
        let _ = merge(b"{\"a\":[1]}", &patch);
    }
}
