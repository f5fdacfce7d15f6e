//! Values of the `analysis` settings, and the errors of invalid ones.

use serde_json::Value;

use super::words::MAX_WORD_LENGTH;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{is_scalar, java_text};

/// Starts of errors that occur when a component is used, not when an index is created.
const LATE: [&str; 2] = ["language [", "side=back"];

/// An error that occurs when a component is used.
pub(super) fn late(reason: impl Into<String>) -> SearchError {
    SearchError::new(500, Exception::IllegalArgument, reason)
}

/// Returns whether an error occurs only when a component is used.
pub(crate) fn is_late(error: &SearchError) -> bool {
    let is_argument = error.kind == Exception::IllegalArgument && error.status == 500;
    is_argument || LATE.iter().any(|start| error.reason.starts_with(start))
}

/// An error without a status of its own.
pub(super) fn runtime(reason: impl Into<String>) -> SearchError {
    SearchError::new(500, Exception::Runtime, reason)
}

/// Returns a text with its first letter in upper case.
pub(super) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters.clone()).collect()
}

/// Returns a string setting.
pub(super) fn text<'a>(own: Option<&'a Value>, key: &str) -> Option<&'a str> {
    own.and_then(|own| own.get(key)).and_then(Value::as_str)
}

/// Returns an integer setting.
pub(super) fn integer(own: Option<&Value>, key: &str, default: i64) -> Result<i64> {
    let Some(value) = own.and_then(|own| own.get(key)).filter(|value| is_scalar(value)) else {
        return Ok(default);
    };
    let parsed = match value {
        Value::String(text) => text.parse::<i32>().ok(),
        other => other.as_i64().and_then(|number| i32::try_from(number).ok()),
    };
    parsed.map(i64::from).ok_or_else(|| {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let reason = format!("Failed to parse int setting [{key}] with value [{shown}]");
        SearchError::new(500, Exception::Settings, reason).caused_by(SearchError::number(&shown))
    })
}

/// Returns an integer setting that is not negative.
pub(super) fn number(own: Option<&Value>, key: &str, default: usize) -> Result<usize> {
    let value = integer(own, key, i64::try_from(default).unwrap_or(i64::MAX))?;
    Ok(usize::try_from(value).unwrap_or(0))
}

pub(super) fn flag(own: Option<&Value>, key: &str, default: bool) -> bool {
    let own = own.and_then(|own| own.get(key)).filter(|value| !value.is_null());
    own.map_or(default, crate::mapping::truth)
}

/// Returns the only character of a setting.
pub(super) fn character(own: Option<&Value>, key: &str, default: char) -> Result<char> {
    let Some(text) = text(own, key) else {
        return Ok(default);
    };
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => {
            let reason = "String index out of range: 0";
            Err(SearchError::new(500, Exception::StringIndexOutOfBounds, reason))
        }
        _ => Err(SearchError::illegal(format!("{key} can only be a one char value"))),
    }
}

/// Converts a string, a comma-separated string or an array of strings to a list.
pub(super) fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => {
            // Nothing after the last comma is no part.
            let parts = text.split_terminator(',');
            parts.map(|part| part.trim().to_owned()).collect()
        }
        Some(Value::Array(items)) => {
            let items = items.iter().filter(|item| is_scalar(item)).map(java_text);
            items.map(|item| item.trim().to_owned()).collect()
        }
        _ => vec![],
    }
}

/// Returns whether a component has any setting. One without does not exist.
pub(super) fn has_settings(own: &Value) -> bool {
    match own {
        Value::Object(members) => members.values().any(has_settings),
        Value::Array(items) => items.iter().any(has_settings),
        scalar => !scalar.is_null(),
    }
}

/// Returns a list of words or rules.
///
/// # Errors
/// The list is in a file.
pub(super) fn words(own: Option<&Value>, key: &str) -> Result<Option<Vec<String>>> {
    if let Some(path) = text(own, &format!("{key}_path")) {
        let reason = format!(
            "Failed to resolve config path [{path}], tried file path [{path}], path file [config/{path}], and classpath"
        );
        return Err(SearchError::new(500, Exception::FailedToResolveConfig, reason));
    }
    // A list within a list is a setting with another name.
    let is_listed = |value: &&Value| match value {
        Value::Array(items) => items.first().is_some_and(is_scalar),
        other => is_scalar(other),
    };
    let value = own.and_then(|own| own.get(key)).filter(is_listed);
    Ok(value.map(|value| strings(Some(value))))
}

/// Returns a list of words or rules that a component requires, by its name in the error.
pub(super) fn required(own: Option<&Value>, key: &str, component: &str) -> Result<Vec<String>> {
    words(own, key)?.ok_or_else(|| {
        SearchError::illegal(format!(
            "{component} requires either `{key}` or `{key}_path` to be configured"
        ))
    })
}

/// Returns the maximum length of a token, in UTF-16 units.
pub(super) fn max_token_length(own: Option<&Value>) -> Result<usize> {
    match number(own, "max_token_length", MAX_WORD_LENGTH)? {
        0 => Err(late("maxTokenLength must be greater than zero")),
        max => Ok(max),
    }
}
