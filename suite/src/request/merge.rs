//! JSON merge patches (RFC 7386) for samples, and their conversion to JSON patches (RFC 6902).

use serde_json::{Map, Value, json};

/// Merges a patch into a value: `null` removes a field, objects merge, any other value replaces.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            target.shift_remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Converts a merge patch to the JSON patch with the same effect on `target`. No path contains an escape, because v1.2
/// does not decode them: a map with such a key is replaced as a whole.
pub fn operations(target: &Value, patch: &Value) -> Value {
    let mut operations = Vec::new();
    collect(target, patch, "", &mut operations);
    Value::Array(operations)
}

fn collect(target: &Value, patch: &Value, path: &str, operations: &mut Vec<Value>) {
    for (key, value) in patch.as_object().into_iter().flatten() {
        let path = format!("{path}/{key}");
        match (target.get(key), value) {
            (None, Value::Null) => {}
            (Some(_), Value::Null) => operations.push(json!({"op": "remove", "path": path})),
            (Some(inner @ Value::Object(_)), Value::Object(fields)) => {
                if fields.keys().any(|key| key.contains(['/', '~'])) {
                    let mut merged = inner.clone();
                    merge(&mut merged, value);
                    operations.push(json!({"op": "replace", "path": path, "value": merged}));
                } else {
                    collect(inner, value, &path, operations);
                }
            }
            (Some(_), _) => operations.push(json!({"op": "replace", "path": path, "value": value})),
            (None, _) => operations.push(json!({"op": "add", "path": path, "value": value})),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// The examples of RFC 7386, appendix A.
    #[rstest]
    #[case(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}))]
    #[case(json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"}))]
    #[case(json!({"a": "b"}), json!({"a": null}), json!({}))]
    #[case(json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"}))]
    #[case(json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}}))]
    #[case(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]}))]
    #[case(json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"]))]
    #[case(json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1}))]
    #[case(json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"}))]
    #[case(json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}}))]
    fn a_patch_is_merged(#[case] mut target: Value, #[case] patch: Value, #[case] expected: Value) {
        merge(&mut target, &patch);
        assert_eq!(target, expected);
    }

    #[rstest]
    #[case(json!({"a": "b"}), json!({"a": "c", "d": {"e": 1}}), json!([
        {"op": "replace", "path": "/a", "value": "c"},
        {"op": "add", "path": "/d", "value": {"e": 1}},
    ]))]
    #[case(json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": null, "d": [1], "e": null}}), json!([
        {"op": "remove", "path": "/a/b"},
        {"op": "add", "path": "/a/d", "value": [1]},
    ]))]
    #[case(json!({"a": {"b/c": 1, "d": 2}}), json!({"a": {"b/c": null, "~": 3}}), json!([
        {"op": "replace", "path": "/a", "value": {"d": 2, "~": 3}},
    ]))]
    #[case(json!({"a": 1}), json!({}), json!([]))]
    fn a_merge_patch_is_made_of_operations(#[case] target: Value, #[case] patch: Value, #[case] expected: Value) {
        assert_eq!(operations(&target, &patch), expected);
    }
}
