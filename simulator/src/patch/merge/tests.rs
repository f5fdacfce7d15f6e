use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::patch::strategic;

#[derive(serde::Deserialize)]
struct Example {
    document: Value,
    patch: Value,
    result: Value,
}

#[test]
fn the_examples_of_rfc_7386_hold() {
    let examples: Vec<Example> =
        serde_json::from_str(stuntdouble_fixtures::text(&stuntdouble_fixtures::PATCHES, "rfc7386.json").unwrap())
            .unwrap();
    assert_eq!(examples.len(), 16);
    for Example {
        document,
        patch,
        result,
    } in examples
    {
        assert_eq!(
            merge(document.clone(), patch.clone()),
            result,
            "{document} with {patch}"
        );
        if document.is_object() && patch.is_object() {
            assert_eq!(
                apply(document, patch.to_string().as_bytes(), Profile::Documented),
                Ok(result)
            );
        }
    }
}

#[rstest]
#[case::nulls_in_new_lists_are_dropped(json!({}), json!({"a": [1, null, {"b": null}]}), json!({"a": [1, {}]}))]
#[case::and_in_lists_for_lists(json!({"a": [0]}), json!({"a": [null, 1]}), json!({"a": [1]}))]
#[case::but_not_in_lists_for_objects(json!({"a": {}}), json!({"a": [null, 1]}), json!({"a": [null, 1]}))]
#[case::names_are_sorted_where_it_went(json!({"z": {"y": 1, "b": 2}, "k": {"y": 1, "b": 2}}), json!({"z": {"c": 3}}), json!({"k": {"y": 1, "b": 2}, "z": {"b": 2, "c": 3, "y": 1}}))]
#[case::a_list_is_the_whole_document(json!({"a": 1}), json!([1, null]), json!([1]))]
fn the_recorded_server_merges_its_own_way(#[case] document: Value, #[case] patch: Value, #[case] expected: Value) {
    let merged = apply(document, patch.to_string().as_bytes(), Profile::Kubernetes12).unwrap();
    assert_eq!(merged.to_string(), expected.to_string());
}

#[rstest]
#[case("{not json")]
#[case("\"x\"")]
#[case("null")]
#[case("")]
#[case("1")]
fn what_is_no_document_is_refused(#[case] patch: &str) {
    for profile in Profile::ALL {
        assert_eq!(
            apply(json!({}), patch.as_bytes(), profile),
            Err(PatchError::Malformed("Invalid JSON Patch".to_owned()))
        );
    }
}

proptest! {
    #[test]
    fn a_patch_applied_twice_is_applied_once(document in strategic::tests::any_thing(), patch in strategic::tests::any_thing()) {
        let once = merge(document, patch.clone());
        prop_assert_eq!(merge(once.clone(), patch), once);
    }

    #[test]
    fn an_empty_patch_changes_nothing(document in strategic::tests::any_thing().prop_filter("an object", Value::is_object)) {
        prop_assert_eq!(merge(document.clone(), json!({})), document);
    }

    #[test]
    fn no_bytes_make_it_panic(patch in prop::collection::vec(any::<u8>(), 0..40)) {
        for profile in Profile::ALL {
            let _ = apply(json!({"a": {"b": 1}}), &patch, profile);
        }
    }
}
