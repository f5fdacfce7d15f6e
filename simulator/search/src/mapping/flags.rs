//! Flags in requests and in mappings.

use serde_json::Value;

/// Interprets a setting of a mapping as a boolean, as [`truth`] except that empty texts, arrays and objects are true.
pub(super) fn is_on(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_)) || *value == "" || truth(value)
}

/// Interprets a setting as a boolean: everything is true except `false`, `no`, `off`, `0`, the empty string, null,
/// arrays and objects.
pub(crate) fn truth(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::String(text) => !matches!(text.as_str(), "false" | "no" | "off" | "0" | ""),
        Value::Number(number) => number.as_f64() != Some(0.0),
        _ => false,
    }
}
