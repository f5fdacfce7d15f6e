//! JSON syntax check.
//!
//! - Guarantees: no recursion; bounded depth; every error has v1.2's text.
//! - Source of the semantics: Go's `encoding/json`, which v1.2 uses to read a body's kind and version before anything
//!   else.

use memchr::memchr2;

/// Maximum nesting of arrays and objects.
pub(crate) const MAX_DEPTH: usize = 10_000;

/// What the scanner expects next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    FirstValueOrEnd,
    FirstKeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// Text of a byte in errors.
fn format_byte(c: u8) -> String {
    match c {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        0x07 => r"'\a'".to_owned(),
        0x08 => r"'\b'".to_owned(),
        0x0c => r"'\f'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0x0b => r"'\v'".to_owned(),
        c if c < 0x20 || c == 0x7f => format!("'\\x{c:02x}'"),
        c if (0x80..0xa1).contains(&c) || c == 0xad => format!("'\\u{:04x}'", u32::from(c)),
        c => format!("'{}'", char::from(c)),
    }
}

fn invalid(c: u8, context: &str) -> String {
    format!("invalid character {} {context}", format_byte(c))
}

fn end() -> String {
    "unexpected end of JSON input".to_owned()
}

/// Returns the bytes of a string from a position to the next quote or backslash, or to the end.
pub(super) fn plain(bytes: &[u8], from: usize) -> &[u8] {
    let rest = bytes.get(from..).unwrap_or_default();
    let (plain, _) = rest.split_at(memchr2(b'"', b'\\', rest).unwrap_or(rest.len()));
    plain
}

/// Returns the first control character.
fn first_control(bytes: &[u8]) -> Option<u8> {
    // Eight bytes at a time: a byte below 0x20 borrows, and only a byte below 0x80 can.
    let has_control = |word: &&[u8; 8]| {
        let word = u64::from_ne_bytes(**word);
        word.wrapping_sub(u64::MAX / 0xff * 0x20) & !word & (u64::MAX / 0xff * 0x80) != 0
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let found = words.iter().find(has_control).map_or(rest, <[u8; 8]>::as_slice);
    found.iter().copied().find(|c| *c < 0x20)
}

/// Scanner over unchecked bytes.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn next(&mut self) -> Result<u8, String> {
        let c = self.bytes.get(self.at).copied().ok_or_else(end)?;
        self.at += 1;
        Ok(c)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Scans the rest of a string after its opening quote.
    fn string(&mut self) -> Result<(), String> {
        loop {
            let plain = plain(self.bytes, self.at);
            if let Some(c) = first_control(plain) {
                return Err(invalid(c, "in string literal"));
            }
            self.at += plain.len();
            if self.next()? == b'"' {
                return Ok(());
            }
            match self.next()? {
                b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                b'u' => {
                    for _ in 0..4 {
                        let c = self.next()?;
                        if !c.is_ascii_hexdigit() {
                            return Err(invalid(c, "in \\u hexadecimal character escape"));
                        }
                    }
                }
                c => return Err(invalid(c, "in string escape code")),
            }
        }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
    }

    /// Scans one or more digits.
    fn some_digits(&mut self, context: &str) -> Result<(), String> {
        match self.next()? {
            c if c.is_ascii_digit() => {
                self.digits();
                Ok(())
            }
            c => Err(invalid(c, context)),
        }
    }

    /// Scans the rest of a number that starts with `first`.
    fn number(&mut self, first: u8) -> Result<(), String> {
        let first = if first == b'-' {
            match self.next()? {
                c if c.is_ascii_digit() => c,
                c => return Err(invalid(c, "in numeric literal")),
            }
        } else {
            first
        };
        if first != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    /// Scans the rest of `true`, `false` or `null`.
    fn literal(&mut self, word: &str) -> Result<(), String> {
        for &expected in word.as_bytes().iter().skip(1) {
            let c = self.next()?;
            if c != expected {
                return Err(invalid(
                    c,
                    &format!("in literal {word} (expecting {})", format_byte(expected)),
                ));
            }
        }
        Ok(())
    }
}

/// Checks that `bytes` are exactly one JSON value. The error describes the first fault.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    let mut scanner = Scanner { bytes, at: 0 };
    let mut open: Vec<u8> = Vec::new();
    let mut expect = Expect::Value;
    loop {
        scanner.skip_space();
        if expect == Expect::Nothing {
            return match scanner.peek() {
                None => Ok(()),
                Some(c) => Err(invalid(c, "after top-level value")),
            };
        }
        let c = scanner.next()?;
        let after = |open: &[u8]| {
            if open.is_empty() {
                Expect::Nothing
            } else {
                Expect::CommaOrEnd
            }
        };
        expect = match (expect, c) {
            (Expect::FirstValueOrEnd, b']') | (Expect::FirstKeyOrEnd, b'}') => {
                open.pop();
                after(&open)
            }
            (Expect::Value | Expect::FirstValueOrEnd, _) => match c {
                b'{' | b'[' => {
                    if open.len() >= MAX_DEPTH {
                        return Err("exceeded max depth".to_owned());
                    }
                    open.push(c);
                    if c == b'{' {
                        Expect::FirstKeyOrEnd
                    } else {
                        Expect::FirstValueOrEnd
                    }
                }
                b'"' => {
                    scanner.string()?;
                    after(&open)
                }
                b'-' | b'0'..=b'9' => {
                    scanner.number(c)?;
                    after(&open)
                }
                b't' | b'f' | b'n' => {
                    scanner.literal(match c {
                        b't' => "true",
                        b'f' => "false",
                        _ => "null",
                    })?;
                    after(&open)
                }
                c => return Err(invalid(c, "looking for beginning of value")),
            },
            (Expect::FirstKeyOrEnd | Expect::Key, b'"') => {
                scanner.string()?;
                Expect::Colon
            }
            (Expect::FirstKeyOrEnd | Expect::Key, c) => {
                return Err(invalid(c, "looking for beginning of object key string"));
            }
            (Expect::Colon, b':') => Expect::Value,
            (Expect::Colon, c) => return Err(invalid(c, "after object key")),
            (_, c) => match (open.last(), c) {
                (Some(b'{'), b',') => Expect::Key,
                (Some(b'['), b',') => Expect::Value,
                (Some(b'{'), b'}') | (Some(b'['), b']') => {
                    open.pop();
                    after(&open)
                }
                (Some(b'{'), c) => return Err(invalid(c, "after object key:value pair")),
                (_, c) => return Err(invalid(c, "after array element")),
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", "unexpected end of JSON input")]
    #[case("{", "unexpected end of JSON input")]
    #[case("  [1, ", "unexpected end of JSON input")]
    #[case("{bad", "invalid character 'b' looking for beginning of object key string")]
    #[case("{\"a\":1,}", "invalid character '}' looking for beginning of object key string")]
    #[case("kind: x", "invalid character 'k' looking for beginning of value")]
    #[case("[1 2]", "invalid character '2' after array element")]
    #[case("{\"a\" 1}", "invalid character '1' after object key")]
    #[case("{\"a\":1 \"b\"", "invalid character '\"' after object key:value pair")]
    #[case("{} x", "invalid character 'x' after top-level value")]
    #[case("01", "invalid character '1' after top-level value")]
    #[case("-x", "invalid character 'x' in numeric literal")]
    #[case("1.e", "invalid character 'e' after decimal point in numeric literal")]
    #[case("1ex", "invalid character 'x' in exponent of numeric literal")]
    #[case("trve", "invalid character 'v' in literal true (expecting 'u')")]
    #[case("\"\\x\"", "invalid character 'x' in string escape code")]
    #[case("\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape")]
    #[case("\"a\nb\"", "invalid character '\\n' in string literal")]
    #[case("'a'", "invalid character '\\'' looking for beginning of value")]
    #[case("\u{fe}", "invalid character 'Ã' looking for beginning of value")]
    fn invalid_json_has_gos_errors(#[case] text: &str, #[case] problem: &str) {
        assert_eq!(check(text.as_bytes()), Err(problem.to_owned()));
    }

    #[test]
    fn the_first_control_character_is_found_at_every_place() {
        for length in 1..=20 {
            for (at, c) in (0..length).flat_map(|at| (0..=u8::MAX).map(move |c| (at, c))) {
                let mut text = vec![b' '; length];
                text[at] = c;
                assert_eq!(first_control(&text), (c < 0x20).then_some(c), "{c} at {at} of {length}");
            }
        }
    }

    #[rstest]
    #[case("null")]
    #[case(" {\"a\" : [1, -2.5e+3, true, null, \"\\u00e9\\n\"]} \n")]
    #[case("[]")]
    #[case("0")]
    fn valid_json_passes(#[case] text: &str) {
        assert_eq!(check(text.as_bytes()), Ok(()));
    }

    #[test]
    fn depth_is_bounded() {
        assert_eq!(
            check("[".repeat(MAX_DEPTH + 1).as_bytes()),
            Err("exceeded max depth".to_owned())
        );
    }
}
