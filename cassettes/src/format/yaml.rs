//! Conversion between trees and YAML in block style.
//!
//! Guarantees:
//! - Written YAML is read back the same by this reader and by any YAML 1.1 or 1.2 reader. Strings that one of them
//!   would resolve to another type are quoted.
//! - Every line of content is indented, so `---` and `...` at the start of a line are always document markers.
//!
//! Limits: no anchors, aliases or tags; [`MAX_DEPTH`] levels of JSON.
//! Source: YAML 1.2.2; the plain scalars that YAML 1.1 resolves.

use super::node::{MAX_DEPTH, Node, is_number};
use granit_parser::{Event, Parser, ScalarStyle};
use std::borrow::Cow;

/// A longer text is written as a literal block even if it is one line.
const MAX_SCALAR_LENGTH: usize = 4096;

/// Appends `key: value` at an indentation.
pub(super) fn entry(out: &mut String, indent: usize, key: &str, node: &Node<'_>) {
    pad(out, indent);
    scalar(out, key);
    out.push(':');
    value(out, indent, node);
}

/// Appends `key: text` at an indentation.
pub(super) fn text_entry(out: &mut String, indent: usize, key: &str, text: &str) {
    pad(out, indent);
    out.push_str(key);
    out.push(':');
    string(out, indent, text);
}

/// Appends `key: text` and a line break to the current line.
pub(super) fn scalar_entry(out: &mut String, key: &str, text: &str) {
    scalar(out, key);
    out.push_str(": ");
    scalar(out, text);
    out.push('\n');
}

/// Appends `- value` at an indentation.
fn item(out: &mut String, indent: usize, node: &Node<'_>) {
    pad(out, indent);
    out.push('-');
    match node {
        Node::Map(entries) if !entries.is_empty() => {
            for (n, (key, node)) in entries.iter().enumerate() {
                if n == 0 {
                    out.push(' ');
                } else {
                    pad(out, indent + 2);
                }
                scalar(out, key);
                out.push(':');
                value(out, indent + 2, node);
            }
        }
        _ => value(out, indent, node),
    }
}

/// Appends spaces.
pub(super) fn pad(out: &mut String, indent: usize) {
    const SPACES: &str = "                                                                ";
    match SPACES.get(..indent) {
        Some(spaces) => out.push_str(spaces),
        None => out.extend(std::iter::repeat_n(' ', indent)),
    }
}

fn value(out: &mut String, indent: usize, node: &Node<'_>) {
    match node {
        Node::Null => out.push_str(" null\n"),
        Node::Bool(true) => out.push_str(" true\n"),
        Node::Bool(false) => out.push_str(" false\n"),
        Node::Number(text) => {
            out.push(' ');
            out.push_str(text);
            out.push('\n');
        }
        Node::String(text) => string(out, indent, text),
        Node::List(items) if items.is_empty() => out.push_str(" []\n"),
        Node::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
        Node::List(items) => {
            out.push('\n');
            for node in items {
                item(out, indent + 2, node);
            }
        }
        Node::Map(entries) => {
            out.push('\n');
            for (key, node) in entries {
                entry(out, indent + 2, key, node);
            }
        }
    }
}

fn string(out: &mut String, indent: usize, text: &str) {
    out.push(' ');
    if (text.len() > MAX_SCALAR_LENGTH || memchr::memchr(b'\n', text.as_bytes()).is_some()) && literal_holds(text) {
        let mut block = Vec::with_capacity(text.len() + text.len() / 8 + 16);
        literal(&mut block, indent + 2, text.as_bytes());
        out.push_str(&String::from_utf8_lossy(&block));
    } else {
        scalar(out, text);
        out.push('\n');
    }
}

/// Whether a literal block can hold a text: line breaks, tabs and printable characters.
fn literal_holds(text: &str) -> bool {
    // The inner loop has no exit, so that it is vectorized.
    let look = |(printable, ascii), byte: &u8| {
        let fine = ((*byte >= b' ') & (*byte != 0x7f)) | (*byte == b'\n') | (*byte == b'\t');
        (printable & fine, ascii & byte.is_ascii())
    };
    let mut all_ascii = true;
    for bytes in text.as_bytes().chunks(256) {
        let (printable, ascii) = bytes.iter().fold((true, true), look);
        if !printable {
            return false;
        }
        all_ascii &= ascii;
    }
    all_ascii || text.chars().all(|c| c == '\n' || c == '\t' || is_printable(c))
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether bytes are ASCII text that a literal block can hold.
pub(super) fn is_plain_ascii(bytes: &[u8]) -> bool {
    let fine = |fine, byte: &u8| fine & ((((*byte >= b' ') & (*byte < 0x7f)) | (*byte == b'\n')) | (*byte == b'\t'));
    bytes.chunks(256).all(|bytes| bytes.iter().fold(true, fine))
}

/// Whether bytes are ASCII text that one line of a literal block can hold.
pub(super) fn is_plain_line(bytes: &[u8]) -> bool {
    let fine = |fine, byte: &u8| fine & (((*byte >= b' ') & (*byte < 0x7f)) | (*byte == b'\t'));
    bytes.chunks(256).all(|bytes| bytes.iter().fold(true, fine))
}

/// Appends the header of a literal block. `body` is its text without the final line break, if it has one.
pub(super) fn literal_header(out: &mut Vec<u8>, first: Option<u8>, body: Option<&[u8]>) {
    out.push(b'|');
    if matches!(first, Some(b' ' | b'\n' | b'\t')) {
        out.push(b'2');
    }
    match body {
        None => out.push(b'-'),
        Some(body) if body.ends_with(b"\n") || body.is_empty() => out.push(b'+'),
        Some(_) => {}
    }
    out.push(b'\n');
}

/// Appends a literal block. The text must be one that it can hold.
pub(super) fn literal(out: &mut Vec<u8>, indent: usize, text: &[u8]) {
    let body = text.strip_suffix(b"\n");
    literal_header(out, text.first().copied(), body);
    let body = body.unwrap_or(text);
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', body).chain([body.len()]) {
        let line = body.get(start..end).unwrap_or_default();
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(b' ', indent));
            out.extend_from_slice(line);
        }
        out.push(b'\n');
        start = end + 1;
    }
}

fn scalar(out: &mut String, text: &str) {
    if is_plain(text) {
        return out.push_str(text);
    }
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c if u32::from(c) > 0xffff => out.push_str(&format!("\\U{:08X}", u32::from(c))),
            c => out.push_str(&format!("\\u{:04X}", u32::from(c))),
        }
    }
    out.push('"');
}

/// Whether every YAML reader reads the unquoted string as this string.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 11] = [
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf",
    ];
    let bytes = text.as_bytes();
    let Some(first) = bytes.first() else {
        return false;
    };
    if !(first.is_ascii_alphabetic() || matches!(first, b'/' | b'_' | b'$')) || bytes.last() == Some(&b' ') {
        return false;
    }
    let mut last = 0;
    for &byte in bytes {
        let breaks = !(b' '..0x7f).contains(&byte) || (last == b':' && byte == b' ') || (last == b' ' && byte == b'#');
        if breaks {
            return false;
        }
        last = byte;
    }
    last != b':' && !(text.len() <= 5 && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text)))
}

/// Parses one document.
///
/// # Errors
/// The line, from 1, and the error.
pub(super) fn read(text: &str) -> Result<Node<'static>, (usize, String)> {
    let mut stack: Vec<Open> = Vec::new();
    let mut root = None;
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH + 20,
        block_nesting_limit: MAX_DEPTH + 20,
    };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| (error.marker().line(), error.to_string()))?;
        let wrong = |what: &str| Err((span.start.line(), what.to_owned()));
        let node = match event {
            Event::Scalar(value, style, 0, None) => resolve(value, style),
            Event::SequenceStart(_, 0, None) => {
                stack.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(_, 0, None) => {
                stack.push(Open::Map(Vec::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match stack.pop() {
                Some(Open::List(items)) => Node::List(items),
                Some(Open::Map(entries, _)) => Node::Map(entries),
                None => return wrong("an end without a beginning"),
            },
            Event::Alias(_) | Event::UnresolvedAlias(_) | Event::Anchor(..) => {
                return wrong("a cassette has no aliases");
            }
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) => {
                return wrong("a cassette has no anchors or tags");
            }
            Event::DocumentStart(..) if root.is_some() => return wrong("a second document"),
            _ => continue,
        };
        match stack.last_mut() {
            None => root = Some(node),
            Some(Open::List(items)) => items.push(node),
            Some(Open::Map(entries, key)) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => match node {
                    Node::String(text) | Node::Number(text) => *key = Some(text),
                    Node::Bool(value) => *key = Some(value.to_string().into()),
                    Node::Null => *key = Some("null".into()),
                    Node::List(_) | Node::Map(_) => return wrong("a key that is no text"),
                },
            },
        }
    }
    Ok(root.unwrap_or(Node::Null))
}

enum Open {
    List(Vec<Node<'static>>),
    Map(Vec<(Cow<'static, str>, Node<'static>)>, Option<Cow<'static, str>>),
}

fn resolve(value: Cow<'_, str>, style: ScalarStyle) -> Node<'static> {
    let text = value.into_owned();
    if style != ScalarStyle::Plain {
        return Node::String(text.into());
    }
    match text.as_str() {
        "" | "~" | "null" => Node::Null,
        "true" => Node::Bool(true),
        "false" => Node::Bool(false),
        _ if is_number(&text) => Node::Number(text.into()),
        _ => Node::String(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round(node: &Node<'_>) -> Node<'static> {
        let mut out = String::new();
        entry(&mut out, 0, "it", node);
        match read(&out) {
            Ok(read) => read.get("it").expect("the entry").clone(),
            Err((line, what)) => panic!("line {line}: {what}\n{out}"),
        }
    }

    fn tree() -> impl Strategy<Value = Node<'static>> {
        let text = prop_oneof![
            any::<String>(),
            "[ \t\n:#a'\"|>-]{0,12}",
            "(yes|No|null|~|1e3|0x1f|2026-11-21|---|\\.\\.\\.|- a|a: b|a #b| x|x |10.0.0.1)",
            "([ a-c]{0,4}\n){0,4}[ a-c]{0,3}",
        ];
        let leaf = prop_oneof![
            Just(Node::Null),
            any::<bool>().prop_map(Node::Bool),
            any::<i64>().prop_map(|n| Node::Number(n.to_string().into())),
            text.clone().prop_map(|text| Node::String(text.into())),
        ];
        leaf.prop_recursive(4, 24, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Node::List),
                prop::collection::vec((text.clone(), inner), 0..4)
                    .prop_map(|entries| Node::Map(entries.into_iter().map(|(k, v)| (Cow::Owned(k), v)).collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_tree_survives(node in tree()) {
            prop_assert_eq!(round(&node), node);
        }

        #[test]
        fn content_is_always_indented(node in tree()) {
            let mut out = String::new();
            entry(&mut out, 0, "it", &node);
            prop_assert!(out.lines().skip(1).all(|line| line.is_empty() || line.starts_with(' ')), "{}", out);
        }
    }

    #[test]
    fn an_alias_is_refused() {
        assert!(read("a: &x 1\nb: *x\n").is_err());
    }
}
