//! Values of the elements of a search source.
//!
//! Elasticsearch reads a source token by token. Where an element has another value than it expects, the parser reads
//! on within it, and fails on what comes there.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::{self, Token, Tokens, is_scalar, java_text, token_of};

/// Returns the value of an element that is a string, a number or a boolean. `None`: the element is ignored.
///
/// # Errors
/// A list, or an object with members.
pub(super) fn scalar<'a>(key: &str, value: &'a Value) -> Result<Option<&'a Value>> {
    match value {
        Value::Null => Ok(None),
        Value::Array(items) => Err(match items.first() {
            None => SearchError::unexpected("END_ARRAY", key),
            Some(first) => SearchError::unexpected(token_of(first), "null"),
        }),
        Value::Object(members) => match members.keys().next() {
            None => Ok(None),
            Some(inner) => Err(SearchError::no_element(inner)),
        },
        scalar => Ok(Some(scalar)),
    }
}

/// Returns whether the parser takes the end of an empty object for that of the source, and ignores what follows: it
/// does so for elements that are no objects.
pub(super) fn ends_source(key: &str, value: &Value) -> bool {
    let is_object = matches!(value, Value::Object(members) if members.is_empty());
    const PLAIN: [&str; 11] = [
        "from",
        "size",
        "explain",
        "version",
        "terminate_after",
        "fields",
        "stats",
        "track_scores",
        "trackScores",
        "min_score",
        "minScore",
    ];
    is_object && PLAIN.contains(&key)
}

/// Returns the value of an element that is a number, or the text of one.
///
/// # Errors
/// Those of [`scalar`], and booleans.
fn number<'a>(key: &str, value: &'a Value) -> Result<Option<&'a Value>> {
    match scalar(key, value)? {
        Some(Value::Bool(flag)) => Err(json::not_numeric(json::boolean_token(*flag), json::PART)),
        value => Ok(value),
    }
}

/// Returns the value of an element that is an integer.
///
/// # Errors
/// Those of [`number`], and other texts.
pub(super) fn int(key: &str, value: &Value) -> Result<Option<i64>> {
    let number = number(key, value)?
        .map(|number| json::int(number, json::PART))
        .transpose()?;
    Ok(number.map(i64::from))
}

/// Returns the value of an element that is a number.
///
/// # Errors
/// Those of [`number`], and other texts.
pub(super) fn float(key: &str, value: &Value) -> Result<Option<f32>> {
    let number = number(key, value)?;
    Ok(number.map(json::number).transpose()?.map(|float| float as f32))
}

/// Returns the members of an element that is an object.
///
/// # Errors
/// Anything else: the parser looks for the end of an object, and finds that of the source.
pub(super) fn members(value: &Value) -> Result<&Map<String, Value>> {
    value.as_object().ok_or_else(SearchError::incomplete)
}

/// Returns the members of an element that are objects. Others are ignored.
///
/// # Errors
/// Those of [`members`].
pub(super) fn objects(value: &Value) -> Result<impl Iterator<Item = (&String, &Value)>> {
    Ok(members(value)?.iter().filter(|(_, inner)| inner.is_object()))
}

/// Returns the names of an element that is a name or a list of names, with the names and values of the members of
/// objects in it. `None`: the element is ignored.
///
/// # Errors
/// A list within the list; an object.
pub(super) fn listed(key: &str, value: &Value) -> Result<Option<Vec<String>>> {
    match value {
        Value::String(name) => Ok(Some(vec![name.clone()])),
        Value::Array(items) if items.iter().any(Value::is_array) => Err(after_list(key, value)),
        Value::Array(_) => Ok(Some(names_within(value))),
        other => scalar(key, other).map(|_| None),
    }
}

/// Returns the error for what comes after the first end of a list within a list.
fn after_list(key: &str, value: &Value) -> SearchError {
    let mut tokens = Tokens::new(value);
    while tokens.within_array().is_some() {}
    tokens.advance();
    let name = match tokens.is_in_body() {
        true => tokens.name().unwrap_or("null"),
        false => key,
    };
    SearchError::unexpected(tokens.kind(), name)
}

/// Returns the names and values in a list, whatever contains them.
fn names_within(list: &Value) -> Vec<String> {
    let (mut tokens, mut names) = (Tokens::new(list), Vec::new());
    while let Some(token) = tokens.within_array() {
        match token {
            Token::Name(name) => names.push(name.to_owned()),
            Token::Value(value) => names.push(java_text(value)),
            _ => {}
        }
    }
    names
}

/// Returns the texts of a value, or of the items of a list.
pub(super) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        scalar if is_scalar(scalar) => vec![java_text(scalar)],
        _ => vec![],
    }
}
