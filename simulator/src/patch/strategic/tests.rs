use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;

/// Invented type: `items` and `tags` are merged (`items` by `name`), `plain` is replaced, `labels` is a map, `inner`
/// is a nested thing.
#[derive(Clone, Copy, Debug)]
pub(in crate::patch) enum Type {
    Thing,
    Things,
    Texts,
    Map,
    Text,
}

impl Schema for Type {
    fn field(self, name: &str) -> Option<FieldSchema<Self>> {
        let (schema, merge_key) = match (self, name) {
            (Self::Map, _) => (Self::Text, None),
            (Self::Thing, "items") => (Self::Things, Some("name")),
            (Self::Thing, "tags") => (Self::Texts, Some("name")),
            (Self::Thing, "plain") => (Self::Things, None),
            (Self::Thing, "labels") => (Self::Map, None),
            (Self::Thing, "inner") => (Self::Thing, None),
            (Self::Thing, "name" | "image" | "port") => (Self::Text, None),
            _ => return None,
        };
        Some(FieldSchema {
            schema,
            merge_key: merge_key.map(Arc::from),
        })
    }

    fn element(self) -> Option<Self> {
        match self {
            Self::Things => Some(Self::Thing),
            Self::Texts => Some(Self::Text),
            _ => None,
        }
    }

    fn is_mergeable(self) -> bool {
        matches!(self, Self::Thing | Self::Map)
    }

    fn name(self) -> String {
        match self {
            Self::Thing => "Thing",
            Self::Map => "map",
            Self::Text => "string",
            _ => "slice",
        }
        .to_owned()
    }
}

fn patched(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    apply(
        document.clone(),
        patch.to_string().as_bytes(),
        Type::Thing,
        Profile::Documented,
    )
}

#[rstest]
#[case::items_are_merged_by_key(json!({"items": [{"name": "a", "image": "1"}, {"name": "b"}]}),
    json!({"items": [{"name": "a", "image": "2"}]}), json!({"items": [{"name": "a", "image": "2"}, {"name": "b"}]}))]
#[case::new_items_come_last(json!({"items": [{"name": "b"}]}), json!({"items": [{"name": "a"},
    {"name": "a", "image": "1"}]}), json!({"items": [{"name": "b"}, {"name": "a", "image": "1"}]}))]
#[case::an_item_is_deleted_by_its_key(json!({"items": [{"name": "a"}, {"name": "b"}]}), json!({"items": [{"name": "a",
    "$patch": "delete"}, {"name": "x", "$patch": "delete"}]}), json!({"items": [{"name": "b"}]}))]
#[case::a_list_is_replaced_on_demand(json!({"items": [{"name": "a"}]}),
    json!({"items": [{"$patch": "replace"}, {"name": "z"}]}), json!({"items": [{"name": "z"}]}))]
#[case::keys_may_be_numbers(json!({"items": [{"name": 80, "image": "1"}]}),
    json!({"items": [{"name": 80.0, "image": "2"}]}), json!({"items": [{"name": 80.0, "image": "2"}]}))]
#[case::lists_without_a_key_are_replaced(json!({"plain": [{"name": "a"}]}), json!({"plain": [{"name": "b"}]}),
    json!({"plain": [{"name": "b"}]}))]
#[case::scalars_are_merged_once(json!({"tags": ["a", "b"]}), json!({"tags": ["b", "c"]}),
    json!({"tags": ["a", "b", "c"]}))]
#[case::null_removes(json!({"labels": {"a": "1", "b": "2"}, "image": "x"}),
    json!({"labels": {"a": null}, "image": null, "port": null}), json!({"labels": {"b": "2"}}))]
#[case::a_map_is_replaced_on_demand(json!({"labels": {"a": "1"}}), json!({"labels": {"$patch": "replace", "b": "2"}}),
    json!({"labels": {"b": "2"}}))]
#[case::a_map_is_emptied_on_demand(json!({"labels": {"a": "1"}}), json!({"labels": {"$patch": "delete"}}),
    json!({"labels": {}}))]
#[case::new_values_are_stored_unchanged(json!({}), json!({"labels": {"a": null, "$patch": "replace"}}),
    json!({"labels": {"a": null, "$patch": "replace"}}))]
#[case::another_type_replaces(json!({"labels": {"a": "1"}}), json!({"labels": ["a"]}), json!({"labels": ["a"]}))]
#[case::nested_lists_are_merged(json!({"inner": {"items": [{"name": "a", "inner": {"labels": {"x": "1"}}}]}}),
    json!({"inner": {"items": [{"name": "a", "inner": {"labels": {"y": "2"}}}]}}),
    json!({"inner": {"items": [{"name": "a", "inner": {"labels": {"x": "1", "y": "2"}}}]}}))]
fn a_patch_is_merged_by_the_types(#[case] document: Value, #[case] patch: Value, #[case] expected: Value) {
    assert_eq!(patched(&document, &patch), Ok(expected));
}

#[rstest]
#[case(json!({"items": [{"image": "no-key"}]}), "map: map[image:no-key] does not contain declared merge key: name")]
#[case(json!({"items": [{"port": 1e21, "image": [true, null, 0.00001]}]}),
    "map: map[image:[true <nil> 1e-05] port:1e+21] does not contain declared merge key: name")]
#[case(json!({"inner": {"$patch": "bogus"}}), "unknown patch type: bogus in map: map[$patch:bogus]")]
#[case(json!({"$patch": 5}), "unknown patch type: %!s(float64=5) in map: map[$patch:5]")]
#[case(json!({"items": [{"name": "a", "$patch": "bogus"}]}),
    "unknown patch type: bogus in map: map[$patch:bogus name:a]")]
#[case(json!({"items": [{"$patch": "delete"}]}), "delete patch type with no merge key defined")]
#[case(json!({"items": [{"$patch": "merge"}]}), "merging lists cannot yet be specified in the patch")]
#[case(json!({"items": ["a"]}), "list element types are not identical: [[map[name:a]] [a]]")]
#[case(json!({"items": [["a"]]}), "list element types are not identical: [[map[name:a]] [[a]]]")]
#[case(json!({"other": {"a": "b"}}), "unable to find api field in struct Thing for the json field \"other\"")]
#[case(json!({"image": {"a": {}}}), "merging an object in json but data type is not map or struct, instead is: string")]
fn unmergeable_patches_have_the_recorded_errors(#[case] patch: Value, #[case] error: &str) {
    let document = json!({"items": [{"name": "a"}], "inner": {"image": "x"}, "other": {}, "image": {"a": {}}});
    assert_eq!(patched(&document, &patch).unwrap_err().to_string(), error);
}

#[rstest]
#[case("")]
#[case("{")]
#[case("[]")]
#[case("\"x\"")]
fn patches_that_are_not_objects_are_rejected(#[case] patch: &str) {
    let refused = apply(json!({}), patch.as_bytes(), Type::Thing, Profile::Kubernetes12);
    assert_eq!(refused, Err(PatchError::Malformed("Invalid JSON document".to_owned())));
}

pub(in crate::patch) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!("x")),
        Just(json!(1)),
        Just(json!(null)),
        Just(json!("delete")),
        Just(json!("replace"))
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let name = prop_oneof![
            Just("items"),
            Just("tags"),
            Just("plain"),
            Just("labels"),
            Just("inner"),
            Just("name"),
            Just("image"),
            Just("$patch")
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..4).prop_map(|entries| entries
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

proptest! {
    #[test]
    fn an_empty_patch_changes_nothing(document in any_value().prop_filter("an object", Value::is_object)) {
        prop_assert_eq!(patched(&document, &json!({})), Ok(document));
    }

    #[test]
    fn no_patch_panics(document in any_value(), patch in any_value()) {
        let _ = patched(&document, &patch);
    }
}
