//! From a tree to YAML.

use std::fmt::Write;

use serde_json::Value;

use super::resolve::{Scalar, resolve};

/// Writes a tree as YAML with sorted keys, in the reference's layout.
pub fn from_value(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => block(value, 0, false, &mut out),
        Value::Array(list) if !list.is_empty() => block(value, 0, false, &mut out),
        value => {
            inline(value, 0, &mut out);
            out.push('\n');
        }
    }
    out
}

fn block(value: &Value, indent: usize, mut inside: bool, out: &mut String) {
    let mut start = |out: &mut String| {
        if !inside {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        inside = false;
    };
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            for key in keys {
                start(out);
                text(key, indent, out);
                out.push(':');
                match map.get(key).unwrap_or(&Value::Null) {
                    Value::Object(inner) if !inner.is_empty() => {
                        out.push('\n');
                        block(&Value::Object(inner.clone()), indent + 2, false, out);
                    }
                    Value::Array(inner) if !inner.is_empty() => {
                        out.push('\n');
                        block(&Value::Array(inner.clone()), indent, false, out);
                    }
                    other => {
                        out.push(' ');
                        inline(other, indent, out);
                        out.push('\n');
                    }
                }
            }
        }
        Value::Array(list) => {
            for item in list {
                start(out);
                out.push_str("- ");
                match item {
                    Value::Object(inner) if !inner.is_empty() => block(item, indent + 2, true, out),
                    Value::Array(inner) if !inner.is_empty() => block(item, indent + 2, true, out),
                    other => {
                        inline(other, indent, out);
                        out.push('\n');
                    }
                }
            }
        }
        _ => {}
    }
}

fn inline(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(_) => out.push_str("{}"),
        Value::Array(_) => out.push_str("[]"),
        Value::String(given) => text(given, indent, out),
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

fn text(given: &str, _indent: usize, out: &mut String) {
    if matches!(resolve(given), Scalar::Text) && plain(given) {
        out.push_str(given);
    } else {
        let _ = write!(out, "{}", Value::from(given));
    }
}

fn plain(given: &str) -> bool {
    !given.is_empty() && given.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'/' | b'.' | b'_' | b'-')) && !given.starts_with('-')
}
