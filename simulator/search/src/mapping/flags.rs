//! Flags in requests and in mappings.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::json;

/// Interprets a setting of a mapping as a boolean: everything is true except `false`, `off`, `0`, null, and numbers
/// between -1 and 1.
pub(super) fn is_on(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::String(text) => !matches!(text.as_str(), "false" | "off" | "0"),
        Value::Number(number) => number.as_f64().is_some_and(|number| number.trunc() != 0.0),
        other => !other.is_null(),
    }
}

/// Interprets the setting `store`, which can also be `no`.
pub(super) fn is_stored(value: &Value) -> bool {
    *value != "no" && is_on(value)
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

/// Reads a setting as a boolean, as the parser does: a number is an integer.
///
/// # Errors
/// A number that no integer has.
pub(crate) fn flag(value: &Value) -> Result<bool> {
    match value {
        Value::Number(_) => Ok(json::int(value, json::PART)? != 0),
        other => Ok(truth(other)),
    }
}

/// As [`flag`], for a setting of a request that has no other values.
///
/// # Errors
/// Null, arrays and objects, too.
pub(crate) fn strict_flag(value: &Value) -> Result<bool> {
    if json::is_scalar(value) {
        return flag(value);
    }
    let reason = format!("Current token ({}) not of boolean type", json::token_of(value));
    Err(SearchError {
        status: 500,
        ..json::unreadable(&reason, json::BODY)
    })
}
