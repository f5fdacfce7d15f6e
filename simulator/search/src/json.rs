//! JSON parsing as in Elasticsearch, with the error messages of its parser.
//!
//! Guarantees: text after the first value is ignored.
//! Source: Jackson 2.5's `JsonParseException`, `XContentFactory` of Elasticsearch 1.5.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{Result, SearchError};

/// Parses the JSON value at the start of `bytes`.
///
/// # Errors
/// A `JsonParseException`.
pub(crate) fn value(bytes: &[u8]) -> Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    Value::deserialize(&mut deserializer).map_err(|error| syntax_error(bytes, &error))
}

/// Parses the JSON object at the start of `bytes`.
///
/// # Errors
/// An `ElasticsearchParseException` if the text does not start with an object, else a `JsonParseException`.
pub(crate) fn object(bytes: &[u8]) -> Result<Map<String, Value>> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(underivable());
    }
    match value(bytes)? {
        Value::Object(object) => Ok(object),
        _ => Err(underivable()),
    }
}

/// Calls `sink` for each leaf of the settings, with its dotted path and its text.
pub(crate) fn leaves(path: &str, value: &Value, sink: &mut impl FnMut(&str, String)) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match path {
                    "" => leaves(key, value, sink),
                    path => leaves(&format!("{path}.{key}"), value, sink),
                }
            }
        }
        Value::String(text) => sink(path, text.clone()),
        other => sink(path, other.to_string()),
    }
}

/// Converts as the parser's `intValue` does: truncates a number, parses a text that is a whole number.
///
/// # Errors
/// A `NumberFormatException` for any other text, a `JsonParseException` for a number that is too large.
pub(crate) fn int(value: &Value) -> Result<i32> {
    match value {
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().map(|number| number as i64))
            .and_then(|number| i32::try_from(number).ok())
            .ok_or_else(|| {
                let reason = format!("Numeric value ({number}) out of range of int");
                SearchError::new(400, "JsonParseException", reason)
            }),
        other => {
            let text = java_text(other);
            text.parse().map_err(|_| SearchError::number(&text))
        }
    }
}

/// Returns the error for a body whose content type cannot be derived from its first bytes.
pub(crate) fn underivable() -> SearchError {
    SearchError::parse("Failed to derive xcontent from org.elasticsearch.common.bytes.ChannelBufferBytesReference@1")
}

/// Formats a number as Java's `Float.toString` and `Double.toString` do.
pub(crate) fn java_number<N: Copy + Into<f64> + fmt::Debug + fmt::UpperExp>(number: N) -> String {
    let size = number.into().abs();
    if size == 0.0 || !size.is_finite() || (1e-3..1e7).contains(&size) {
        return format!("{number:?}");
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, power)) if !digits.contains('.') => format!("{digits}.0E{power}"),
        _ => text,
    }
}

/// Formats a value as Java's `Object.toString` does.
pub(crate) fn java_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().map_or_else(String::new, java_number),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(java_text).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{key}={}", java_text(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Name of the Java class to which Jackson deserializes a value.
pub(crate) fn java_class(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "java.lang.Boolean",
        Value::Number(number) if number.is_f64() => "java.lang.Double",
        Value::Number(number) if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) => {
            "java.lang.Integer"
        }
        Value::Number(_) => "java.lang.Long",
        Value::String(_) => "java.lang.String",
        Value::Array(_) => "java.util.ArrayList",
        Value::Object(_) => "java.util.LinkedHashMap",
    }
}

/// Finds the integer literal in `source` that overflows a long and was parsed as `number`.
pub(crate) fn oversized_integer(source: &[u8], number: f64) -> Option<&str> {
    if number.fract() != 0.0 || number.abs() < i64::MAX as f64 {
        return None;
    }
    let text = std::str::from_utf8(source).ok()?;
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    text.split(|c| !belongs(c)).find(|word| {
        let digits = word.strip_prefix('-').unwrap_or(word);
        digits.len() >= 19 && digits.bytes().all(|byte| byte.is_ascii_digit()) && word.parse() == Ok(number)
    })
}

/// Checks that the content type of a body can be derived.
///
/// # Errors
/// A body that does not look like JSON.
pub(crate) fn derivable(bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Err(SearchError::parse(
            "Failed to derive xcontent from org.elasticsearch.common.bytes.BytesArray@1",
        ));
    }
    if bytes.iter().take(20).any(|byte| *byte == b'{') {
        Ok(())
    } else {
        Err(underivable())
    }
}

/// Innermost construct that is open at the end of a text.
enum Open {
    Name,
    Text,
    Container(&'static str),
}

/// Returns the innermost construct that is open at the end of a text.
fn open_at_end(bytes: &[u8]) -> Open {
    let mut containers = Vec::new();
    let mut chars = bytes.iter().copied();
    let mut names_next = false;
    while let Some(byte) = chars.next() {
        match byte {
            b'{' | b'[' => {
                containers.push(byte);
                names_next = byte == b'{';
            }
            b'}' | b']' => drop(containers.pop()),
            b',' => names_next = containers.last() == Some(&b'{'),
            b':' => names_next = false,
            b'"' => {
                let mut closed = false;
                while let Some(inner) = chars.next() {
                    match inner {
                        b'\\' => drop(chars.next()),
                        b'"' => {
                            closed = true;
                            break;
                        }
                        _ => {}
                    }
                }
                if !closed {
                    return if names_next { Open::Name } else { Open::Text };
                }
            }
            // An unquoted name, which Jackson accepts here.
            other if names_next && !other.is_ascii_whitespace() && !chars.clone().any(|byte| byte == b':') => {
                return Open::Name;
            }
            _ => {}
        }
    }
    Open::Container(match containers.last() {
        Some(b'[') => "ARRAY",
        Some(_) => "OBJECT",
        None => "ROOT",
    })
}

fn syntax_error(bytes: &[u8], error: &serde_json::Error) -> SearchError {
    let at = format!(
        "\n at [Source: [B@1; line: {}, column: {}]",
        error.line(),
        error.column()
    );
    let position = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum::<usize>()
        + error.column().saturating_sub(1);
    let open = open_at_end(bytes);
    let message = match (error.is_eof(), open) {
        (_, Open::Name) => "Unexpected end-of-input in field name".to_owned(),
        (true, Open::Text) => "Unexpected end-of-input in VALUE_STRING".to_owned(),
        (true, Open::Container("ROOT")) => "Unexpected end-of-input".to_owned(),
        (true, Open::Container(kind)) => format!("Unexpected end-of-input within/between {kind} entries"),
        _ => {
            // For an unknown word, the position is inside the word: go back to its start.
            let back = bytes.get(..position).unwrap_or(&[]).iter().rev();
            let start = position - back.take_while(|byte| byte.is_ascii_alphabetic()).count();
            let rest = String::from_utf8_lossy(bytes.get(start..).unwrap_or(&[])).into_owned();
            let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            match rest.chars().next() {
                Some(c) if c.is_alphabetic() => {
                    format!("Unrecognized token '{word}': was expecting ('true', 'false' or 'null')")
                }
                Some(c) => format!(
                    "Unexpected character ('{c}' (code {})): expected a valid value \
                     (number, String, array, object, 'true', 'false' or 'null')",
                    u32::from(c)
                ),
                None => "Unexpected end-of-input".to_owned(),
            }
        }
    };
    SearchError::new(400, "JsonParseException", message + &at)
}

/// Name of the first token of a value, as Jackson calls it.
pub(crate) fn token_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "VALUE_NULL",
        Value::Bool(_) => "VALUE_BOOLEAN",
        Value::Number(_) => "VALUE_NUMBER",
        Value::String(_) => "VALUE_STRING",
        Value::Array(_) => "START_ARRAY",
        Value::Object(_) => "START_OBJECT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{\"a\":", "Unexpected end-of-input within/between OBJECT entries")]
    #[case("{bad", "Unexpected end-of-input in field name")]
    #[case("{\"a\":\"b", "Unexpected end-of-input in VALUE_STRING")]
    #[case("{\"a\":[1,", "Unexpected end-of-input within/between ARRAY entries")]
    #[case(
        "{\"a\":nope}",
        "Unrecognized token 'nope': was expecting ('true', 'false' or 'null')"
    )]
    fn a_syntax_error_names_the_open_construct(#[case] text: &str, #[case] message: &str) {
        let error = object(text.as_bytes()).unwrap_err();
        assert_eq!(error.reason.lines().next(), Some(message));
    }

    #[test]
    fn text_after_the_object_is_ignored() {
        assert_eq!(object(b"{\"a\":1} trailing").unwrap().len(), 1);
        assert_eq!(object(b"[1]").unwrap_err().kind, "ElasticsearchParseException");
    }

    #[rstest]
    #[case(1.0, "1.0")]
    #[case(-0.5, "-0.5")]
    #[case(10_000_000.0, "1.0E7")]
    #[case(1_420_156_800_000.0, "1.4201568E12")]
    #[case(0.000_25, "2.5E-4")]
    fn a_number_is_formatted_as_in_java(#[case] number: f64, #[case] expected: &str) {
        assert_eq!(java_number(number), expected);
    }
}
