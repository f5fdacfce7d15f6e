//! Parsing of bodies into values by media type.
//!
//! Source: RFC 8259; YAML 1.1 as readers resolved it at the time of the recorded server, except that times stay text.

use granit_parser::{Event, Parser, ScalarStyle};
use regex::Regex;
use serde_json::{Map, Number, Value};
use std::sync::LazyLock;

/// Parses a body of this media type. Returns its text if it is neither JSON nor YAML.
pub(crate) fn body(text: &str, media_type: &str) -> Value {
    let value = if media_type.contains("yaml") {
        yaml(text)
    } else {
        serde_json::from_str(text).ok()
    };
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

enum Open {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

/// One YAML document without anchors.
fn yaml(text: &str) -> Option<Value> {
    let mut stack: Vec<Open> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(text) {
        let node = match event.ok()?.0 {
            Event::Scalar(text, ScalarStyle::Plain, 0, None) => resolve(&text),
            Event::Scalar(text, _, 0, None) => Value::String(text.into_owned()),
            Event::SequenceStart(_, 0, None) => {
                stack.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(_, 0, None) => {
                stack.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match stack.pop()? {
                Open::List(items) => Value::Array(items),
                Open::Map(entries, _) => Value::Object(entries),
            },
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) | Event::Alias(_) => return None,
            Event::DocumentStart(..) if root.is_some() => return None,
            _ => continue,
        };
        match stack.last_mut() {
            None => root = Some(node),
            Some(Open::List(items)) => items.push(node),
            Some(Open::Map(entries, key)) => match key.take() {
                Some(key) => drop(entries.insert(key, node)),
                None => {
                    *key = Some(match node {
                        Value::String(text) => text,
                        other => other.to_string(),
                    });
                }
            },
        }
    }
    Some(root.unwrap_or(Value::Null))
}

fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    static FLOAT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+][0-9]+)?$").ok());
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    if !text
        .trim_start_matches(['-', '+'])
        .starts_with(|first: char| first.is_ascii_digit() || first == '.')
    {
        return None;
    }
    let whole = |value: i64| Number::from(if negative { -value } else { value });
    let radix = |prefix: &str, radix| {
        digits
            .strip_prefix(prefix)
            .and_then(|rest| i64::from_str_radix(rest, radix).ok())
    };
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let base = if digits.len() > 1 && digits.starts_with('0') {
            8
        } else {
            10
        };
        return i64::from_str_radix(digits, base).ok().map(whole);
    }
    if let Some(value) = radix("0x", 16).or_else(|| radix("0b", 2)) {
        return Some(whole(value));
    }
    if !digits.starts_with('0') && digits.contains(':') {
        let parts: Option<Vec<i64>> = digits.split(':').map(|part| part.parse().ok()).collect();
        let parts = parts?;
        let small = parts.iter().skip(1).all(|part| (0..60).contains(part));
        return small
            .then(|| {
                parts
                    .iter()
                    .try_fold(0i64, |sum, part| sum.checked_mul(60)?.checked_add(*part))
            })?
            .map(whole);
    }
    FLOAT
        .as_ref()
        .filter(|float| float.is_match(text))
        .and_then(|_| Number::from_f64(plain.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("a: 1\nb: [yes, 'yes', 1.5, 1e3, ~]", "application/yaml", json!({"a": 1, "b": [true, "yes", 1.5, "1e3", null]}))]
    #[case("a: 2026-11-21T11:45:16Z", "application/yaml", json!({"a": "2026-11-21T11:45:16Z"}))]
    #[case("a: 010\nb: 0x1f\nc: 1:30\nd: 1.2.3", "application/yaml", json!({"a": 8, "b": 31, "c": 90, "d": "1.2.3"}))]
    #[case("a: [", "application/yaml", json!("a: ["))]
    #[case("{\"a\":1}\n", "", json!({"a": 1}))]
    #[case("ok", "text/plain", json!("ok"))]
    #[case("", "", json!(""))]
    fn a_body_is_read_by_its_media_type(#[case] text: &str, #[case] media: &str, #[case] value: Value) {
        assert_eq!(body(text, media), value);
    }
}
