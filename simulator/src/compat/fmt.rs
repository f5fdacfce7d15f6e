//! Go's `fmt` for values decoded from JSON: numbers are floats, maps are printed with sorted names.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::strconv::format_float;

/// `%v`.
pub(crate) fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format_float(number.as_f64().unwrap_or_default()),
        Value::String(text) => text.clone(),
        Value::Array(items) => go_list(items),
        Value::Object(map) => go_map(map),
    }
}

/// `%v` of a list.
pub(crate) fn go_list(items: &[Value]) -> String {
    format!("[{}]", items.iter().map(go_value).collect::<Vec<_>>().join(" "))
}

/// `%v` of a map.
pub(crate) fn go_map(map: &Map<String, Value>) -> String {
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_unstable_by_key(|(name, _)| *name);
    let entries: Vec<String> = entries
        .into_iter()
        .map(|(name, value)| format!("{name}:{}", go_value(value)))
        .collect();
    format!("map[{}]", entries.join(" "))
}

/// Quotes a text as errors of the package `time` do: bytes other than printable ASCII are escaped.
pub(crate) fn go_time_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(out, "\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"b": [1, null, "x"], "a": {}}), "map[a:map[] b:[1 <nil> x]]")]
    #[case(json!(2_147_483_647), "2.147483647e+09")]
    #[case(json!(9_223_372_036_854_775_807i64), "9.223372036854776e+18")]
    #[case(json!(999_999), "999999")]
    #[case(json!(true), "true")]
    fn decoded_values_are_printed_as_by_go(#[case] value: Value, #[case] text: &str) {
        assert_eq!(go_value(&value), text);
    }
}
