//! The mapping `_default_`, whose settings every new type inherits.
//!
//! Source: Elasticsearch 1.5's `XContentHelper.mergeDefaults`: settings of the type have precedence.

use serde_json::{Map, Value};

/// Name of the default mapping.
pub(super) const DEFAULT: &str = "_default_";

/// Adds the default settings that a definition does not have.
pub(super) fn add_defaults(definition: &mut Map<String, Value>, defaults: &Map<String, Value>) {
    for (key, default) in defaults {
        match (definition.get_mut(key), default) {
            (None, _) => drop(definition.insert(key.clone(), default.clone())),
            (Some(Value::Object(own)), Value::Object(default)) => add_defaults(own, default),
            (Some(Value::Array(own)), Value::Array(default)) => add_items(own, default),
            (Some(_), _) => {}
        }
    }
}

/// Merges lists. Lists of single-member objects are merged by name; other lists are concatenated without duplicates.
fn add_items(own: &mut Vec<Value>, defaults: &[Value]) {
    let name = |item: &Value| item.as_object().filter(|item| item.len() == 1)?.keys().next().cloned();
    if own.iter().chain(defaults).any(|item| name(item).is_none()) {
        let fresh = own.iter().filter(|item| !defaults.contains(item));
        *own = defaults.iter().chain(fresh).cloned().collect();
        return;
    }
    for default in defaults {
        match own.iter_mut().find(|item| name(item) == name(default)) {
            Some(item) => {
                if let (Value::Object(item), Value::Object(default)) = (item, default) {
                    add_defaults(item, default);
                }
            }
            None => own.push(default.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!({"a": 1}), json!({"a": 2, "b": 3}), json!({"a": 1, "b": 3}))]
    #[case(json!({"o": {"a": 1}}), json!({"o": {"a": 2, "b": 3}}), json!({"o": {"a": 1, "b": 3}}))]
    #[case(
        json!({"l": [{"x": {"a": 1}}]}),
        json!({"l": [{"y": {}}, {"x": {"b": 2}}]}),
        json!({"l": [{"x": {"a": 1, "b": 2}}, {"y": {}}]})
    )]
    #[case(json!({"l": ["c", "a"]}), json!({"l": ["a", "b"]}), json!({"l": ["a", "b", "c"]}))]
    fn a_definition_overrides_its_defaults(#[case] own: Value, #[case] defaults: Value, #[case] expected: Value) {
        let mut merged = own.as_object().unwrap().clone();
        add_defaults(&mut merged, defaults.as_object().unwrap());
        assert_eq!(Value::Object(merged), expected);
    }
}
