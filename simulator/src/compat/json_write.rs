//! JSON encoder of v1.2.
//!
//! Source of the semantics: Go's `encoding/json`, which escapes `<`, `>`, `&` and the two line separators of Unicode.

use std::io;

use bytes::Bytes;
use memchr::{memchr_iter, memchr3_iter};
use serde::Serialize;
use serde_json::{
    Value,
    ser::{CharEscape, CompactFormatter, Formatter, Serializer},
};

use super::strconv::json_float;
use crate::api::Object;

/// Formatter that escapes strings as Go does. The layout is that of the inner formatter.
struct GoText<F>(F);

/// Writes text, with its line separators escaped.
fn write_with_line_separators<W: ?Sized + io::Write>(writer: &mut W, text: &[u8]) -> io::Result<()> {
    let (mut rest, mut from) = (text, 0);
    // First byte of U+2028 and U+2029.
    for at in memchr_iter(0xe2, text) {
        if let Some((plain, [0xe2, 0x80, last @ (0xa8 | 0xa9), after @ ..])) = rest.split_at_checked(at - from) {
            writer.write_all(plain)?;
            writer.write_all(if *last == 0xa8 { b"\\u2028" } else { b"\\u2029" })?;
            (rest, from) = (after, at + 3);
        }
    }
    writer.write_all(rest)
}

impl<F: Formatter> Formatter for GoText<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment.as_bytes();
        let mut from = 0;
        for at in memchr3_iter(b'<', b'>', b'&', fragment.as_bytes()) {
            if let Some((plain, [escaped, after @ ..])) = rest.split_at_checked(at - from) {
                write_with_line_separators(writer, plain)?;
                write!(writer, "\\u{escaped:04x}")?;
                (rest, from) = (after, at + 1);
            }
        }
        write_with_line_separators(writer, rest)
    }

    fn write_char_escape<W: ?Sized + io::Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        match escape {
            CharEscape::Backspace => self.0.write_char_escape(writer, CharEscape::AsciiControl(0x08)),
            CharEscape::FormFeed => self.0.write_char_escape(writer, CharEscape::AsciiControl(0x0c)),
            other => self.0.write_char_escape(writer, other),
        }
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(json_float(value).as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

/// Object without some of its fields.
struct Without<'a>(&'a Object, &'a [&'a str]);

impl Serialize for Without<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(name, _)| !self.1.contains(&name.as_str())))
    }
}

/// Appends an object without some of its fields, as compact JSON.
pub(crate) fn fields(object: &Object, without: &[&str], out: &mut Vec<u8>) {
    write(&Without(object, without), out, CompactFormatter);
}

fn write(value: &impl Serialize, out: &mut Vec<u8>, formatter: impl Formatter) {
    // Writing a tree with string keys to memory cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(out, GoText(formatter)));
}

/// Encodes any JSON value compactly.
pub(crate) fn compact(value: &Value) -> Bytes {
    let mut out = Vec::with_capacity(512);
    write(value, &mut out, CompactFormatter);
    out.into()
}

/// Indents JSON by two spaces and escapes text as Go does. Works on the bytes without a tree: a list can have tens of
/// thousands of objects.
pub(crate) fn indented(json: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(2 * json.len());
    let mut depth = 0_usize;
    let mut rest = json;
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'"' => rest = string(after, &mut out),
            b'{' | b'[' => {
                out.push(*byte);
                if let [close @ (b'}' | b']'), after @ ..] = rest {
                    out.push(*close);
                    rest = after;
                } else {
                    depth += 1;
                    new_line(depth, &mut out);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                new_line(depth, &mut out);
                out.push(*byte);
            }
            b',' => {
                out.push(b',');
                new_line(depth, &mut out);
            }
            b':' => out.extend_from_slice(b": "),
            other => out.push(*other),
        }
    }
    out.into()
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * depth));
}

/// Writes a string after its opening quotation mark. Returns the bytes after the string.
fn string<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    out.push(b'"');
    loop {
        let plain = rest
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2));
        let (text, after) = rest.split_at(plain.unwrap_or(rest.len()));
        out.extend_from_slice(text);
        let taken = match after {
            [] => return after,
            [b'"', after @ ..] => {
                out.push(b'"');
                return after;
            }
            [b'\\', b'b', ..] => (r"\u0008", 2),
            [b'\\', b'f', ..] => (r"\u000c", 2),
            [b'\\', escaped, ..] => {
                out.extend([b'\\', *escaped]);
                ("", 2)
            }
            [b'<', ..] => (r"\u003c", 1),
            [b'>', ..] => (r"\u003e", 1),
            [b'&', ..] => (r"\u0026", 1),
            [0xe2, 0x80, 0xa8, ..] => (r"\u2028", 3),
            [0xe2, 0x80, 0xa9, ..] => (r"\u2029", 3),
            [other, ..] => {
                out.push(*other);
                ("", 1)
            }
        };
        let (written, length) = taken;
        out.extend_from_slice(written.as_bytes());
        rest = after.get(length..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{json, ser::PrettyFormatter};

    use super::*;

    #[rstest]
    #[case(json!({"a": "<b> & \u{2028}"}), r#"{"a":"\u003cb\u003e \u0026 \u2028"}"#)]
    #[case(json!("\u{8}\u{c}\n\t\"\\é"), r#""\u0008\u000c\n\t\"\\é""#)]
    #[case(json!({"<": []}), r#"{"\u003c":[]}"#)]
    #[case(json!([1e6, 1.5, 1e21, 1e-7]), "[1000000,1.5,1e+21,1e-7]")]
    fn text_is_escaped_as_go_does(#[case] value: Value, #[case] written: &str) {
        assert_eq!(compact(&value), written);
    }

    #[test]
    fn pretty_is_indented_by_two_and_empties_stay_on_their_line() {
        assert_eq!(
            pretty(&json!({"a": [1], "b": {}, "c": []})),
            "{\n  \"a\": [\n    1\n  ],\n  \"b\": {},\n  \"c\": []\n}"
        );
    }

    /// Returns an indented tree.
    fn pretty(value: &Value) -> Bytes {
        let mut out = Vec::new();
        write(value, &mut out, PrettyFormatter::with_indent(b"  "));
        out.into()
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z<>&\"\\\\\u{8}\u{c}\n\u{1f}\u{e9}\u{2028}\u{2029}\u{1f600}:,{}\\[\\] ]{0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"<]{0,3}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn indenting_text_equals_indenting_its_tree(value in value()) {
            let expected = pretty(&value);
            prop_assert_eq!(indented(&compact(&value)), &expected);
            prop_assert_eq!(indented(value.to_string().as_bytes()), &expected);
        }
    }
}
