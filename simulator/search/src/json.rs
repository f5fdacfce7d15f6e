//! JSON parsing as in Elasticsearch, with the error messages of its parser.
//!
//! Guarantees: text after the first value is ignored; unquoted names and comments are accepted.
//! Source: Jackson 2.5's `JsonParseException`, `XContentFactory` of Elasticsearch 1.5.

mod binary;
mod syntax;
mod tokens;

pub(crate) use binary::{BASE64, BASE64_UNIT, binary};
pub(crate) use tokens::{Token, Tokens};

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::{Result, SearchError};
use crate::exception::Exception;

/// Parses the JSON value at the start of `bytes`.
///
/// # Errors
/// A `JsonParseException`.
pub(crate) fn value(bytes: &[u8]) -> Result<Value> {
    // It is faster to check the encoding of all texts at once.
    let parsed = match std::str::from_utf8(bytes) {
        Ok(text) => Value::deserialize(&mut serde_json::Deserializer::from_str(text)),
        Err(_) => Value::deserialize(&mut serde_json::Deserializer::from_slice(bytes)),
    };
    parsed.or_else(|error| read_leniently(bytes, &error))
}

/// Parses the JSON object at the start of `bytes`.
///
/// # Errors
/// An `ElasticsearchParseException` if the text does not look like JSON or does not start with an object, else a
/// `JsonParseException`.
pub(crate) fn object(bytes: &[u8]) -> Result<Map<String, Value>> {
    derivable(bytes)?;
    read_object(bytes)
}

/// As [`object`], for a text that was rendered from a template. The error names another class.
pub(crate) fn rendered_object(text: &str) -> Result<Map<String, Value>> {
    match is_derivable(text.as_bytes()) {
        true => read_object(text.as_bytes()),
        false => Err(underivable("PagedBytesReference", text.as_bytes())),
    }
}

fn read_object(bytes: &[u8]) -> Result<Map<String, Value>> {
    match value(bytes)? {
        Value::Object(object) => Ok(object),
        other => {
            let reason = format!("Expected START_OBJECT but got {} null", token_of(&other));
            Err(SearchError::parse(reason))
        }
    }
}

/// Parses a body that is read as a map: a body without an object has no members.
///
/// # Errors
/// A `JsonParseException`.
pub(crate) fn members(bytes: &[u8]) -> Result<Map<String, Value>> {
    match value(bytes)? {
        Value::Object(members) => Ok(members),
        _ => Ok(Map::new()),
    }
}

/// Returns the members of the JSON object at the start of `bytes`, up to the first that cannot be parsed.
pub(crate) fn members_before_error(bytes: &[u8]) -> Map<String, Value> {
    struct Members(Map<String, Value>);
    impl<'de> Visitor<'de> for &mut Members {
        type Value = ();

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<(), A::Error> {
            while let Some((name, value)) = members.next_entry()? {
                self.0.insert(name, value);
            }
            Ok(())
        }
    }
    let mut read = Members(Map::new());
    // The error ends the members.
    drop(serde_json::Deserializer::from_slice(bytes).deserialize_map(&mut read));
    read.0
}

/// Calls `sink` for each leaf of settings, with its dotted path and its text. Nulls are no settings.
pub(crate) fn leaves(path: &str, value: &Value, sink: &mut impl FnMut(&str, String)) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let name = if path.is_empty() { key } else { &format!("{path}.{key}") };
                leaves(name, value, sink);
            }
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, item)| leaves(&format!("{path}.{at}"), item, sink)),
        Value::Null => {}
        scalar => sink(path, text_of(scalar)),
    }
}

/// Returns a number as an integer: its whole part, or the integer of a text.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => whole(other.as_number()?),
    }
}

/// Returns the whole part of a number, as the parser's `longValue` does.
pub(crate) fn whole(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| number.as_f64().map(|number| number as i64))
}

/// What the parser of a body reads, in its errors.
pub(crate) const BODY: &str = "[B@1";

/// What the parser of a part of a body reads, in its errors.
pub(crate) const PART: &str = "UNKNOWN";

/// Converts as the parser's `intValue` does: truncates a number, parses a text that is a whole number.
///
/// # Errors
/// A `NumberFormatException` for any other text, a `JsonParseException` for a boolean and for a number that is too
/// large. They name the `source`.
pub(crate) fn int(value: &Value, source: &str) -> Result<i32> {
    whole_number(value, source, |number| {
        let exceeded = || match number.is_f64() {
            true => format!("int ({} - {})", i32::MIN, i32::MAX),
            false => "int".to_owned(),
        };
        whole(number).and_then(|own| own.try_into().ok()).ok_or_else(exceeded)
    })
}

/// Converts as the parser's `longValue` does.
///
/// # Errors
/// Those of [`int`].
pub(crate) fn long(value: &Value, source: &str) -> Result<i64> {
    whole_number(value, source, |number| {
        let limits = i64::MIN as f64..=i64::MAX as f64;
        let fits =
            number.as_i64().is_some() || number.is_f64() && number.as_f64().is_some_and(|own| limits.contains(&own));
        let exceeded = || format!("long ({} - {})", i64::MIN, i64::MAX);
        whole(number).filter(|_| fits).ok_or_else(exceeded)
    })
}

/// Parses the text of a floating-point number.
///
/// # Errors
/// A `NumberFormatException` for any other text.
pub(crate) fn double(text: &str) -> Result<f64> {
    text.trim().parse().map_err(|_| SearchError::float(text))
}

/// Reads a number, or the text of one.
///
/// # Errors
/// A `NumberFormatException` for anything else.
pub(crate) fn number(value: &Value) -> Result<f64> {
    number_of(value).ok_or_else(|| SearchError::float(&java_text(value)))
}

/// Converts as the parser's `floatValue` does.
///
/// # Errors
/// A `JsonParseException` for a boolean, a `NumberFormatException` for a text that is no number.
pub(crate) fn float(value: &Value) -> Result<f32> {
    match value {
        Value::Bool(own) => Err(not_numeric(boolean_token(*own), PART)),
        Value::String(text) => typed_number(text.trim()).ok_or_else(|| SearchError::float(text)),
        other => Ok(number_of(other).unwrap_or_default() as f32),
    }
}

/// Reads a whole number, or the text of one. `convert` fails with the range that a number exceeds.
fn whole_number<N: FromStr>(
    value: &Value,
    source: &str,
    convert: impl Fn(&Number) -> std::result::Result<N, String>,
) -> Result<N> {
    match value {
        Value::Bool(own) => Err(not_numeric(boolean_token(*own), source)),
        Value::Number(number) => convert(number)
            .map_err(|range| unreadable(&format!("Numeric value ({number}) out of range of {range}"), source)),
        other => {
            let text = java_text(other);
            text.parse().map_err(|_| SearchError::number(&text))
        }
    }
}

/// Returns the error for a body whose content type cannot be derived from its first bytes. It names the body by class
/// and hash code.
fn underivable(class: &str, body: &[u8]) -> SearchError {
    let hash = |hash: u32, byte: &u8| hash.wrapping_mul(31).wrapping_add_signed(i32::from(*byte as i8));
    SearchError::parse(format!(
        "Failed to derive xcontent from org.elasticsearch.common.bytes.{class}@{:x}",
        body.iter().fold(1, hash)
    ))
}

/// Returns the error for a part of a body whose content type cannot be derived. It lists the bytes.
pub(crate) fn underivable_part(part: &[u8]) -> SearchError {
    let length = part.len();
    SearchError::parse(format!(
        "Failed to derive xcontent from (offset=0, length={length}): {part:?}"
    ))
}

/// Returns the error for a token that the parser cannot convert to a number. `source` is what it parses.
pub(crate) fn unreadable(reason: &str, source: &str) -> SearchError {
    let reason = format!("{reason}\n at [Source: {source}; line: 1, column: 1]");
    SearchError::new(400, Exception::JsonParse, reason)
}

/// Returns the error for a token that is no number.
pub(crate) fn not_numeric(token: &str, source: &str) -> SearchError {
    let reason = format!("Current token ({token}) not numeric, can not use numeric value accessors");
    unreadable(&reason, source)
}

/// Name of the token of a boolean in errors of the parser.
pub(crate) fn boolean_token(value: bool) -> &'static str {
    if value { "VALUE_TRUE" } else { "VALUE_FALSE" }
}

/// Formats a number as Java's `Float.toString` and `Double.toString` do.
pub(crate) fn java_number<N: Copy + Into<f64> + fmt::Debug + fmt::UpperExp>(number: N) -> String {
    let size = number.into().abs();
    if size.is_infinite() {
        let sign = if number.into() < 0.0 { "-" } else { "" };
        return format!("{sign}Infinity");
    }
    if size == 0.0 || size.is_nan() || (1e-3..1e7).contains(&size) {
        return format!("{number:?}");
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, power)) if !digits.contains('.') => format!("{digits}.0E{power}"),
        _ => text,
    }
}

/// Returns a number as a body has it: one that JSON does not have is a text.
pub(crate) fn floating(number: f64) -> Value {
    Value::from(match number {
        _ if number.is_finite() => return Value::from(number),
        _ if number.is_nan() => "NaN",
        _ if number > 0.0 => "Infinity",
        _ => "-Infinity",
    })
}

/// Returns the text of a value in a body, as the parser's `text` has it.
pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
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

/// Reads a number, which may be a text.
pub(crate) fn number_of(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns whether the text of a flag means that it is set.
pub(crate) fn is_set(text: &str) -> bool {
    !matches!(text, "false" | "0" | "off" | "no")
}

/// Parses a number. Java takes the letter of a type for a part of it.
pub(crate) fn typed_number<N: FromStr>(text: &str) -> Option<N> {
    text.strip_suffix(['d', 'f', 'D', 'F']).unwrap_or(text).parse().ok()
}

/// Returns a snake-case name in camel case.
pub(crate) fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}

/// The values that Elasticsearch's parsers find where they skip the brackets of arrays: the items of an array, and of
/// those within it, or a value itself.
pub(crate) fn spread(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().flat_map(spread).collect(),
        other => vec![other],
    }
}

/// The members of an object, with each of the values that [`spread`] finds.
pub(crate) fn spread_members(object: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    object
        .iter()
        .flat_map(|(name, value)| spread(value).into_iter().map(move |part| (name, part)))
}

/// Returns whether a value is neither an object nor an array nor null.
pub(crate) fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}

/// Returns the error for a value that is no object where one is required.
pub(crate) fn not_a_map(value: &Value) -> SearchError {
    if value.is_null() {
        return SearchError::null_pointer();
    }
    let reason = format!("{} cannot be cast to java.util.Map", java_class(value));
    SearchError::new(500, Exception::ClassCast, reason)
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

/// Returns the text of a number in its source.
pub(crate) fn literal(source: &[u8], number: &Number) -> String {
    let text = number.to_string();
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return text;
    };
    if memchr::memmem::find(source, text.as_bytes()).is_some() {
        return text;
    }
    find_literal(source, float).map_or(text, str::to_owned)
}

/// Finds the literal in `source` that was parsed as `number`.
fn find_literal(source: &[u8], number: f64) -> Option<&str> {
    let text = std::str::from_utf8(source).ok()?;
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    text.split(|c| !belongs(c)).find(|word| {
        let parsed = word
            .parse::<f64>()
            .ok()
            .filter(|_| word.ends_with(|c: char| c.is_ascii_digit()));
        parsed.is_some_and(|parsed| parsed.clamp(f64::MIN, f64::MAX) == number)
    })
}

/// Returns whether a literal is an integer that overflows a long.
pub(crate) fn is_oversized_integer(literal: &str) -> bool {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    digits.len() >= 19 && digits.bytes().all(|byte| byte.is_ascii_digit()) && literal.parse::<i64>().is_err()
}

/// Returns whether a number in a source is an integer that overflows a long.
pub(crate) fn is_oversized(source: &[u8], number: &Number) -> bool {
    let is_large = number.as_f64().is_some_and(|float| float.abs() >= i64::MAX as f64);
    is_large && !number.is_i64() && is_oversized_integer(&literal(source, number))
}

/// Fails for a source with an integer that overflows a long: Elasticsearch does not read such a source as a map.
pub(crate) fn check_integers(source: &[u8], parsed: &Value) -> Result<()> {
    let fits = match parsed {
        Value::Number(number) => !is_oversized(source, number),
        Value::Array(items) => return items.iter().try_for_each(|item| check_integers(source, item)),
        Value::Object(members) => return members.values().try_for_each(|member| check_integers(source, member)),
        _ => true,
    };
    if fits { Ok(()) } else { Err(oversized()) }
}

/// Returns the error for an integer that overflows a long.
pub(crate) fn oversized() -> SearchError {
    let reason = "No matching token for number_type [BIG_INTEGER]";
    SearchError::new(500, Exception::ElasticsearchIllegalState, reason)
}

/// Checks that the content type of a body can be derived.
///
/// # Errors
/// A body that does not look like JSON.
pub(crate) fn derivable(bytes: &[u8]) -> Result<()> {
    match bytes {
        _ if is_derivable(bytes) => Ok(()),
        [] => Err(underivable("BytesArray", bytes)),
        _ => Err(underivable("ChannelBufferBytesReference", bytes)),
    }
}

fn is_derivable(bytes: &[u8]) -> bool {
    bytes.iter().take(20).any(|byte| *byte == b'{')
}

/// Parses a text that the strict parser rejected with `error`.
fn read_leniently(bytes: &[u8], error: &serde_json::Error) -> Result<Value> {
    let at = format!(
        "\n at [Source: [B@1; line: {}, column: {}]",
        error.line(),
        error.column()
    );
    let refuse = |message: String| SearchError::new(400, Exception::JsonParse, message + &at);
    let text = syntax::strict(&String::from_utf8_lossy(bytes)).map_err(refuse)?;
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    Value::deserialize(&mut deserializer).map_err(|error| refuse(error.to_string()))
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

    #[test]
    fn invalid_json_is_rejected_and_names_need_no_quotes() {
        let error = object(b"{\"a\":nope}").unwrap_err();
        assert_eq!((error.status, error.kind), (400, Exception::JsonParse));
        assert_eq!(object(b"{a:{b:1}}").unwrap()["a"]["b"], 1);
    }

    #[test]
    fn numbers_are_the_nearest_doubles() {
        // 17 digits each, from a linear congruential generator.
        let mut state = 1u64;
        for _ in 0..1000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let text = format!("{:?}", (state >> 11) as f64 / (1u64 << 50) as f64);
            assert_eq!(value(text.as_bytes()).unwrap().as_f64(), text.parse().ok());
        }
    }

    #[test]
    fn text_after_the_object_is_ignored() {
        assert_eq!(object(b"{\"a\":1} trailing").unwrap().len(), 1);
        assert_eq!(object(b"[1]").unwrap_err().kind, Exception::ElasticsearchParse);
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
