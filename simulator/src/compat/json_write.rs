//! JSON as v1.2 writes it.
//!
//! Source of semantics: Go's `encoding/json`, which escapes `<`, `>`, `&` and the two line separators of Unicode.

use std::io;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{
    Value,
    ser::{CharEscape, CompactFormatter, Formatter, PrettyFormatter, Serializer},
};

use super::strconv::json_float;
use crate::api::Object;

/// Escapes strings as Go does; the layout is that of another formatter.
struct GoText<F>(F);

impl<F: Formatter> Formatter for GoText<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut from = 0;
        for (at, c) in fragment.char_indices() {
            if matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') {
                writer.write_all(fragment.get(from..at).unwrap_or_default().as_bytes())?;
                write!(writer, "\\u{:04x}", u32::from(c))?;
                from = at + c.len_utf8();
            }
        }
        writer.write_all(fragment.get(from..).unwrap_or_default().as_bytes())
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

/// An object without some of its fields.
struct Without<'a>(&'a Object, &'a [&'a str]);

impl Serialize for Without<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(name, _)| !self.1.contains(&name.as_str())))
    }
}

/// Appends an object without some of its fields, compact.
pub(crate) fn fields(object: &Object, without: &[&str], out: &mut Vec<u8>) {
    write(&Without(object, without), out, CompactFormatter);
}

fn write(value: &impl Serialize, out: &mut Vec<u8>, formatter: impl Formatter) {
    // Writing a tree of text keys to memory cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(out, GoText(formatter)));
}

/// Encodes any JSON, compact.
pub(crate) fn compact(value: &Value) -> Bytes {
    let mut out = Vec::with_capacity(512);
    write(value, &mut out, CompactFormatter);
    out.into()
}

/// Encodes any JSON, indented by two spaces.
pub(crate) fn pretty(value: &Value) -> Bytes {
    let mut out = Vec::with_capacity(512);
    write(value, &mut out, PrettyFormatter::with_indent(b"  "));
    out.into()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

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
}
