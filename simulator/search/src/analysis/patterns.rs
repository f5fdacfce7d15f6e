//! Regular expressions of settings, and their escapes.

use std::sync::Arc;

use serde_json::Value;

use super::settings::text;
use crate::error::Result;
use crate::java_pattern::{JavaPattern, flags};

/// Compiles the pattern of a setting, with its flags.
pub(super) fn pattern_of(own: Option<&Value>, key: &str, default: &str) -> Result<Arc<JavaPattern>> {
    let flags = flags(&text(own, "flags").unwrap_or("").into())?;
    JavaPattern::new(text(own, key).unwrap_or(default), flags).map(Arc::new)
}

/// Returns the replacement of a pattern.
pub(super) fn replacement(own: Option<&Value>) -> String {
    text(own, "replacement").unwrap_or("").to_owned()
}

/// Replaces Java's escapes of characters, such as `\n` and `\u0020`.
pub(super) fn unescaped(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or("");
        let escaped = rest.chars().next().filter(|_| c == '\\');
        let Some(escaped) = escaped else {
            made.push(c);
            continue;
        };
        rest = rest.get(escaped.len_utf8()..).unwrap_or("");
        let code = rest.get(..4).filter(|_| escaped == 'u');
        let coded = code
            .and_then(|code| u32::from_str_radix(code, 16).ok())
            .and_then(char::from_u32);
        made.push(match (escaped, coded) {
            (_, Some(coded)) => {
                rest = rest.get(4..).unwrap_or("");
                coded
            }
            ('n', _) => '\n',
            ('t', _) => '\t',
            ('r', _) => '\r',
            ('b', _) => '\u{8}',
            ('f', _) => '\u{C}',
            (other, _) => other,
        });
    }
    made
}
