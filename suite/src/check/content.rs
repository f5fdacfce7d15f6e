//! Containment, presence, equality and type of values.

use serde_json::Value;

use super::{Mismatch, clipped, confined, shown::shown_part};
use crate::catalog::JsonType;

/// Formats a value as indented JSON.
pub fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// Checks that a value contains another one: every field of an object, every element of an array at its index, and the
/// same number of elements. The mismatch shows only the part of the value that `expected` names.
pub fn contains(about: &str, expected: &Value, actual: &Value) -> Option<Mismatch> {
    let named = restricted(actual, expected);
    (named != *expected).then(|| Mismatch::of_values(about, expected, &shown_part(actual, &named)))
}

/// Returns the part of a value that another one names.
fn restricted(actual: &Value, by: &Value) -> Value {
    match (actual, by) {
        (Value::Object(actual), Value::Object(by)) => by
            .iter()
            .filter_map(|(key, by)| Some((key.clone(), restricted(actual.get(key)?, by))))
            .collect(),
        (Value::Array(actual), Value::Array(by)) => {
            let mut elements: Vec<Value> = actual.iter().zip(by).map(|(a, b)| restricted(a, b)).collect();
            elements.extend(actual.iter().skip(by.len()).cloned());
            Value::Array(elements)
        }
        // 1 and 1.0 are equal.
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => by.clone(),
        _ => actual.clone(),
    }
}

/// Checks that two values are equal, except for the order of fields.
pub fn equal(about: &str, expected: &Value, actual: &Value) -> Option<Mismatch> {
    (expected != actual).then(|| Mismatch::of_values(about, &sorted(expected), &sorted(&confined(actual))))
}

/// Whether a version of an object differs from another in more than its resource version.
pub fn changed(last: &Value, later: &Value) -> bool {
    let plain = |value: &Value| {
        let mut value = without(value, &["kind", "apiVersion"]);
        if let Some(metadata) = value.get_mut("metadata") {
            *metadata = without(metadata, &["resourceVersion"]);
        }
        value
    };
    plain(last) != plain(later)
}

/// Sorts the fields of every object, so that a diff shows only differences.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().map(|(k, v)| (k.clone(), sorted(v))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// Checks that a JSON pointer exists (not null, not empty), or that it does not. When absence is expected, an empty
/// text counts as present.
pub fn pointer_presence(pointer: &str, must_exist: bool, actual: &Value) -> Option<Mismatch> {
    let found = actual.pointer(pointer);
    let exists = match found {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty() || !must_exist,
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(Value::Array(items)) => !items.is_empty() || must_exist,
        Some(_) => true,
    };
    let shown = || found.map_or_else(|| "absent".to_owned(), |found| pretty(&shown_part(actual, found)));
    match (must_exist, exists) {
        (true, false) => Some(Mismatch::new(pointer, "present", shown())),
        (false, true) => Some(Mismatch::new(pointer, "absent", shown())),
        _ => None,
    }
}

/// Removes top-level fields from a value.
pub fn without(value: &Value, fields: &[&str]) -> Value {
    match value {
        Value::Object(all) => all
            .iter()
            .filter(|(k, _)| !fields.contains(&k.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
        other => other.clone(),
    }
}

/// Checks the JSON type at a pointer.
pub fn of_type(pointer: &str, wanted: JsonType, body: &Value) -> Option<Mismatch> {
    let value = body.pointer(pointer).unwrap_or(&Value::Null);
    let fits = match wanted {
        JsonType::String => value.is_string(),
        JsonType::Integer => value.is_i64() || value.is_u64(),
        JsonType::Boolean => value.is_boolean(),
        JsonType::Number => value.is_number(),
        JsonType::Array => value.is_array(),
        JsonType::Object => value.is_object(),
    };
    (!fits).then(|| {
        Mismatch::new(
            format!("type of {pointer}"),
            format!("{wanted:?}").to_lowercase(),
            clipped(&shown_part(body, value).to_string()),
        )
    })
}

/// Checks that the value at a pointer is not this one.
pub fn differs(pointer: &str, value: &Value, body: &Value) -> Option<Mismatch> {
    (body.pointer(pointer) == Some(value))
        .then(|| Mismatch::new(pointer, format!("another value than {value}"), value.to_string()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn types_are_distinguished() {
        let body = json!({"a": 1, "b": "1", "c": 1.5});
        assert_eq!(of_type("/a", JsonType::Integer, &body), None);
        assert!(of_type("/b", JsonType::Integer, &body).is_some());
        assert!(of_type("/c", JsonType::Integer, &body).is_some());
        assert!(of_type("/d", JsonType::String, &body).is_some());
    }

    #[rstest]
    #[case(json!({"a": 1}), json!({"a": 1, "b": 2}), true)]
    #[case(json!({"a": {"b": [{"c": 1}]}}), json!({"a": {"b": [{"c": 1, "d": 2}]}}), true)]
    #[case(json!({"a": [1]}), json!({"a": [1, 2]}), false)]
    #[case(json!({"a": [1, 2]}), json!({"a": [1]}), false)]
    #[case(json!({"a": null}), json!({}), false)]
    #[case(json!({"a": 1}), json!({"a": 2}), false)]
    #[case(json!({"a": 1}), json!([]), false)]
    #[case(json!({"a": 1}), json!({"a": 1.0}), true)]
    fn a_value_contains_another_or_not(#[case] expected: Value, #[case] actual: Value, #[case] yes: bool) {
        assert_eq!(contains("x", &expected, &actual).is_none(), yes);
    }

    #[rstest]
    #[case("/metadata/uid", true, true)]
    #[case("/metadata/creationTimestamp", false, true)]
    #[case("/metadata/empty", true, false)]
    #[case("/metadata/uid", false, false)]
    #[case("/metadata/empty", false, false)]
    fn presence_is_checked(#[case] pointer: &str, #[case] must_exist: bool, #[case] fine: bool) {
        let object = json!({"metadata": {"uid": "1", "creationTimestamp": null, "empty": ""}});
        assert_eq!(pointer_presence(pointer, must_exist, &object).is_none(), fine);
    }
}
