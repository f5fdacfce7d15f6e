//! Regular expressions of settings, which have Java's syntax.
//!
//! Limits: no look-around, no back-references.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::settings::text;
use crate::error::{Result, SearchError};
use crate::exception::Exception;

/// Java's names of flags.
const FLAGS: [&str; 7] = [
    "CASE_INSENSITIVE",
    "MULTILINE",
    "DOTALL",
    "UNICODE_CASE",
    "CANON_EQ",
    "LITERAL",
    "COMMENTS",
];

/// Escapes of classes that have only ASCII characters in Java, and these classes without brackets.
const CLASSES: [(char, &str); 3] = [('w', "0-9A-Za-z_"), ('d', "0-9"), ('s', r" \t\n\x0B\f\r")];

/// Compiles a pattern with flags that are separated by `|`.
pub(super) fn compiled(pattern: &str, flags: &str) -> Result<Arc<Regex>> {
    let names: Vec<&str> = flags
        .split('|')
        .map(str::trim)
        .filter(|flag| !flag.is_empty())
        .collect();
    if let Some(unknown) = names.iter().find(|name| !FLAGS.contains(*name)) {
        return Err(SearchError::illegal(format!("Unknown regex flag [{unknown}]")));
    }
    let is_set = |name: &str| names.contains(&name);
    RegexBuilder::new(&translated(pattern))
        .case_insensitive(is_set("CASE_INSENSITIVE"))
        .multi_line(is_set("MULTILINE"))
        .dot_matches_new_line(is_set("DOTALL"))
        .ignore_whitespace(is_set("COMMENTS"))
        .size_limit(1 << 20)
        .build()
        .map(Arc::new)
        .map_err(|error| {
            let reason = error.to_string();
            let reason = if reason.contains("unclosed group") {
                format!("Unclosed group near index {}\n{pattern}", pattern.chars().count())
            } else {
                reason
            };
            SearchError::new(400, Exception::PatternSyntax, reason)
        })
}

/// Replaces `\w`, `\d`, `\s` and their negations by classes of ASCII characters.
fn translated(pattern: &str) -> String {
    let mut made = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            made.push(c);
            continue;
        }
        let Some(escaped) = chars.next() else {
            made.push('\\');
            break;
        };
        match CLASSES.iter().find(|(class, _)| escaped.eq_ignore_ascii_case(class)) {
            Some((_, class)) if escaped.is_ascii_lowercase() => made.push_str(&format!("[{class}]")),
            Some((_, class)) => made.push_str(&format!("[^{class}]")),
            None => made.extend(['\\', escaped]),
        }
    }
    made
}

/// Compiles the pattern of a setting.
pub(super) fn pattern_of(own: Option<&Value>, key: &str, default: &str) -> Result<Arc<Regex>> {
    compiled(text(own, key).unwrap_or(default), text(own, "flags").unwrap_or(""))
}

/// Converts a replacement of Java, in which a group reference has one digit.
pub(super) fn replacement(own: Option<&Value>) -> String {
    let mut converted = String::new();
    let mut chars = text(own, "replacement").unwrap_or("").chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('$', Some(digit)) if digit.is_ascii_digit() => {
                converted.push_str(&format!("${{{digit}}}"));
                chars.next();
            }
            _ => converted.push(c),
        }
    }
    converted
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
