//! Go's `encoding/json`: names of kinds, and escaping of text.

use std::borrow::Cow;

use serde_json::Value;

/// Kind of a value in errors.
pub(crate) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Escapes `<`, `>`, `&` and the line separators of Unicode in JSON text.
pub(crate) fn escape_html(text: &str) -> Cow<'_, str> {
    let special = |c: char| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if special(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Encodes a text as a JSON string.
pub(crate) fn json_string(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    escape_html(&quoted).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_could_be_markup_is_escaped() {
        assert_eq!(
            json_string("<a & \"b\">\u{2028}"),
            r#""\u003ca \u0026 \"b\"\u003e\u2028""#
        );
    }
}
