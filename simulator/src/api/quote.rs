//! Go's `%q`, which texts of [`super::Status`] need. Other formats of Go are in `compat`.

use std::fmt::Write;

/// Quotes a text as Go's `%q` and `strconv.Quote` do: characters that are not printable are escaped.
pub(crate) fn go_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if is_printable(c) => out.push(c),
            // Writing to a string cannot fail.
            c if u32::from(c) < 0x80 => drop(write!(out, "\\x{:02x}", u32::from(c))),
            c if u32::from(c) < 0x1_0000 => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => drop(write!(out, "\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Whether Go prints `c` without an escape: a letter, mark, number, punctuation, symbol or the space.
fn is_printable(c: char) -> bool {
    // A mark is only escaped at the start of a text.
    c.is_ascii_graphic() || c == ' ' || !c.is_ascii() && format!("a{c}").escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("plain text", r#""plain text""#)]
    #[case("a\"b\\c'", r#""a\"b\\c'""#)]
    #[case("\0\u{7f}\t\u{7}", r#""\x00\x7f\t\a""#)]
    #[case("\u{2028}\u{a0}\u{ad}", r#""\u2028\u00a0\u00ad""#)]
    #[case("\u{e0001}", r#""\U000e0001""#)]
    #[case("ü日\u{301}", "\"ü日\u{301}\"")]
    fn unprintable_characters_are_escaped(#[case] text: &str, #[case] quoted: &str) {
        assert_eq!(go_quote(text), quoted);
    }
}
