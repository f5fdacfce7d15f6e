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
            assert_eq!(apply(document, patch.to_string().as_bytes()), Ok(result));
        }
    }
}

#[rstest]
#[case("{not json")]
#[case("\"x\"")]
#[case("null")]
#[case("")]
#[case("1")]
fn patches_that_are_not_objects_are_rejected(#[case] patch: &str) {
    assert_eq!(
        apply(json!({}), patch.as_bytes()),
        Err(PatchError::Malformed("Invalid JSON Patch".to_owned()))
    );
}

proptest! {
    #[test]
    fn a_patch_applied_twice_is_applied_once(document in strategic::tests::any_value(),
        patch in strategic::tests::any_value()) {
        let once = merge(document, patch.clone());
        prop_assert_eq!(merge(once.clone(), patch), once);
    }

    #[test]
    fn an_empty_patch_changes_nothing(document in strategic::tests::any_value().prop_filter("an object",
        Value::is_object)) {
        prop_assert_eq!(merge(document.clone(), json!({})), document);
    }

    #[test]
    fn no_bytes_panic(patch in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = apply(json!({"a": {"b": 1}}), &patch);
    }
}
