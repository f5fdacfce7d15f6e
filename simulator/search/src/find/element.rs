//! Values of the elements of a search source.
//!
//! Elasticsearch reads a source token by token. Where an element has another value than it expects, the parser reads
//! on within it, and fails on what comes there.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::{self, Token, Tokens, is_scalar, java_text};

/// Elements that are values.
const PLAIN: [&str; 9] = [
    "from",
    "size",
    "explain",
    "version",
    "terminate_after",
    "track_scores",
    "trackScores",
    "min_score",
    "minScore",
];

/// Returns whether an element ignores the token that its value begins with, and leaves the rest of the value to be read
/// as further elements.
pub(super) fn reads_on(key: &str, token: Token<'_>) -> bool {
    matches!(token, Token::Object | Token::Array) && PLAIN.contains(&key)
}

/// Returns the value of an element that is a string, a number or a boolean. `None`: the element is ignored.
pub(super) fn scalar(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| is_scalar(value))
}

/// Returns the value of an element that is a number, or the text of one.
///
/// # Errors
/// A boolean.
fn number(value: &Value) -> Result<Option<&Value>> {
    match scalar(value) {
        Some(Value::Bool(flag)) => Err(json::not_numeric(json::boolean_token(*flag), json::PART)),
        value => Ok(value),
    }
}

/// Returns the value of an element that is an integer.
///
/// # Errors
/// A boolean, and texts that are no number.
pub(super) fn int(value: &Value) -> Result<Option<i64>> {
    let number = number(value)?.map(|number| json::int(number, json::PART)).transpose()?;
    Ok(number.map(i64::from))
}

/// Returns the value of an element that is a number.
///
/// # Errors
/// Those of [`int`].
pub(super) fn float(value: &Value) -> Result<Option<f32>> {
    let number = number(value)?;
    Ok(number.map(json::number).transpose()?.map(|float| float as f32))
}

/// Returns the members of an element that is an object.
///
/// # Errors
/// Anything else: the parser looks for the end of an object, and finds that of the source.
pub(super) fn members(value: &Value) -> Result<&Map<String, Value>> {
    value.as_object().ok_or_else(SearchError::incomplete)
}

/// Reads an element whose members are objects, each with `read`, which begins with the start of the object and reads to
/// its end. Other members are ignored.
pub(super) fn objects<'a>(
    tokens: &mut Tokens<'a>,
    mut read: impl FnMut(&'a str, &mut Tokens<'a>) -> Result<()>,
) -> Result<()> {
    let mut name = "";
    while let Some(token) = tokens.within_object() {
        match token {
            Token::Name(own) => name = own,
            Token::Object => read(name, tokens)?,
            _ => {}
        }
    }
    Ok(())
}

/// Reads boosts of indices, by name. An error is one of the index that it is for.
pub(super) fn boosts(tokens: &mut Tokens<'_>) -> Vec<(String, Result<f32>)> {
    let (mut boosts, mut name) = (Vec::new(), "");
    while let Some(token) = tokens.within_object() {
        let boost = match token {
            Token::Name(own) => {
                name = own;
                continue;
            }
            Token::Value(value) => json::float(value),
            _ => Err(json::not_numeric(tokens.kind(), json::PART)),
        };
        boosts.push((name.to_owned(), boost));
    }
    boosts
}

/// Reads an element that is a name or a list of names, which ends with the first end of a list. The names and values of
/// the members of objects in it count as well. `None`: the element is ignored.
pub(super) fn listed(tokens: &mut Tokens<'_>) -> Option<Vec<String>> {
    match tokens.current() {
        Token::Value(Value::String(name)) => Some(vec![name.clone()]),
        Token::Array => Some(tokens.texts()),
        _ => None,
    }
}

/// Returns the texts of a value, or of the items of a list.
pub(super) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        scalar if is_scalar(scalar) => vec![java_text(scalar)],
        _ => vec![],
    }
}
