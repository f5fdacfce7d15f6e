//! Translation of Java's syntax to that of the library, with Java's errors.

use std::collections::HashSet;

use super::classes::LINE_ENDS;
use super::{CASE_INSENSITIVE, COMMENTS, DOTALL, LITERAL, MULTILINE, UNICODE_CASE, UNIX_LINES};

/// Maximum number of groups and classes in each other.
const MAX_DEPTH: usize = 100;
/// Maximum length of a pattern, in bytes.
const MAX_LENGTH: usize = 10_000;

pub(super) type Translated<T> = Result<T, String>;

/// Translates a pattern.
///
/// # Errors
/// The message of Java's `PatternSyntaxException`.
pub(super) fn translate(pattern: &str, flags: i32) -> Translated<String> {
    if pattern.len() > MAX_LENGTH {
        return Err(format!("the pattern is longer than {MAX_LENGTH} bytes"));
    }
    let is_literal = flags & LITERAL != 0;
    let unquoted = if is_literal {
        escaped(pattern)
    } else {
        unquoted(pattern)
    };
    let mut parser = Parser {
        source: pattern,
        pattern: unquoted.chars().collect(),
        at: 0,
        flags,
        groups: 0,
        names: HashSet::new(),
        depth: 0,
        is_unbounded: false,
        has_length: false,
        lengths: 0,
        made: String::new(),
    };
    parser.alternatives()?;
    match parser.peek() {
        None => Ok(parser.made),
        Some(_) => Err(parser.error("Unmatched closing ')'", parser.at.checked_sub(1))),
    }
}

/// Returns the pattern of a text.
fn escaped(text: &str) -> String {
    let mut made = String::new();
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            made.push('\\');
        }
        made.push(c);
    }
    made
}

/// Replaces `\Q…\E` by escapes.
fn unquoted(pattern: &str) -> String {
    let mut made = String::new();
    let mut rest = pattern;
    while let Some((at, _)) = rest.match_indices('\\').next() {
        let (before, escape) = rest.split_at(at);
        made.push_str(before);
        if let Some(quoted) = escape.strip_prefix(r"\Q") {
            let (text, after) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
            made.push_str(&escaped(text));
            rest = after;
        } else {
            let length = escape.chars().take(2).map(char::len_utf8).sum();
            let (escape, after) = escape.split_at(length);
            made.push_str(escape);
            rest = after;
        }
    }
    made + rest
}

pub(super) struct Parser<'p> {
    source: &'p str,
    /// The source without quotes.
    pub(super) pattern: Vec<char>,
    pub(super) at: usize,
    pub(super) flags: i32,
    /// Number of groups so far.
    pub(super) groups: usize,
    pub(super) names: HashSet<String>,
    pub(super) depth: usize,
    /// Whether the length of what was read, since the last look-behind began, has no obvious maximum.
    pub(super) is_unbounded: bool,
    /// Whether something with a length was read in this alternative, or before it.
    pub(super) has_length: bool,
    /// Number of parts with a length so far.
    pub(super) lengths: usize,
    pub(super) made: String,
}

/// What was read, as far as its repetition is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Atom {
    /// A character or a class.
    Char,
    Group,
    /// A place in the text.
    Assertion,
}

/// What an escape stands for.
pub(super) enum Escape {
    Char(char),
    /// A class without its brackets, and whether it is negated.
    Class(String, bool),
    /// Another expression.
    Other(String, Atom),
}

impl Parser<'_> {
    /// Returns the error near the character `at`.
    pub(super) fn error(&self, what: &str, at: Option<usize>) -> String {
        let source = self.source;
        match at {
            None => format!("{what}\n{source}"),
            Some(at) if at < source.chars().count() => format!("{what} near index {at}\n{source}\n{}^", " ".repeat(at)),
            Some(at) => format!("{what} near index {at}\n{source}"),
        }
    }

    /// Returns the error near the current character.
    pub(super) fn fail<T>(&self, what: &str) -> Translated<T> {
        Err(self.error(what, Some(self.at)))
    }

    /// Returns the error near the character before.
    pub(super) fn fail_before<T>(&self, what: &str) -> Translated<T> {
        Err(self.error(what, self.at.checked_sub(1)))
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.pattern.get(self.at).copied()
    }

    pub(super) fn peek_after(&self, count: usize) -> Option<char> {
        self.pattern.get(self.at + count).copied()
    }

    /// Returns whether all these flags are set.
    pub(super) fn has(&self, flags: i32) -> bool {
        self.flags & flags == flags
    }

    /// Skips what is a comment if comments are permitted.
    pub(super) fn skip_comments(&mut self) {
        while self.has(COMMENTS) {
            match self.peek() {
                Some(c) if c.is_ascii_whitespace() || c == '\u{B}' => self.at += 1,
                Some('#') => {
                    let is_end = |c: char| c == '\n' || !self.has(UNIX_LINES) && "\r\u{85}\u{2028}\u{2029}".contains(c);
                    let end = self.pattern.iter().skip(self.at).position(|c| is_end(*c));
                    self.at = end.map_or(self.pattern.len(), |end| self.at + end);
                }
                _ => return,
            }
        }
    }

    /// Consumes a sign if it is next.
    pub(super) fn takes(&mut self, sign: char) -> bool {
        let taken = self.peek() == Some(sign);
        self.at += usize::from(taken);
        taken
    }

    pub(super) fn enter(&mut self) -> Translated<()> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => Err(format!("more than {MAX_DEPTH} groups or classes in each other")),
            false => Ok(()),
        }
    }

    pub(super) fn alternatives(&mut self) -> Translated<()> {
        self.enter()?;
        loop {
            self.sequence()?;
            if !self.takes('|') {
                break;
            }
            self.made.push('|');
            self.has_length = false;
        }
        self.depth -= 1;
        Ok(())
    }

    fn sequence(&mut self) -> Translated<()> {
        loop {
            self.skip_comments();
            let start = self.made.len();
            let atom = match self.peek() {
                None | Some('|' | ')') => return Ok(()),
                Some(c @ ('?' | '*' | '+')) => return self.fail(&format!("Dangling meta character '{c}'")),
                // A repetition of nothing.
                Some('{') => Atom::Assertion,
                Some('(') => {
                    self.at += 1;
                    match self.group()? {
                        None => continue,
                        Some(atom) => atom,
                    }
                }
                Some('[') => {
                    self.at += 1;
                    let ignores_case = self.has(CASE_INSENSITIVE | UNICODE_CASE);
                    self.made.push_str(if ignores_case { "(?i:" } else { "(?:" });
                    self.class()?;
                    self.made.push(')');
                    Atom::Char
                }
                Some('\\') => {
                    self.at += 1;
                    self.escaped()?
                }
                Some(c) => {
                    self.at += 1;
                    self.sign(c)
                }
            };
            self.skip_comments();
            self.closure(start, atom)?;
        }
    }

    /// Translates what is after a backslash.
    fn escaped(&mut self) -> Translated<Atom> {
        match self.escape(false)? {
            Escape::Char(c) => self.push(c),
            Escape::Class(content, is_negated) => self.push_class(&content, is_negated),
            Escape::Other(text, atom) => {
                self.made.push_str(&text);
                return Ok(atom);
            }
        }
        Ok(Atom::Char)
    }

    /// Translates a character that is not part of an escape or a class.
    fn sign(&mut self, c: char) -> Atom {
        match c {
            '.' if self.has(DOTALL) => self.made.push_str("(?s:.)"),
            '.' if self.has(UNIX_LINES) => self.made.push_str(r"[^\n]"),
            '.' => self.push_class(LINE_ENDS, true),
            '^' | '$' => {
                let place = match (c, self.has(MULTILINE), self.has(UNIX_LINES)) {
                    ('^', false, _) => r"\A",
                    ('^', true, true) => r"(?:(?:\A|(?<=\n))(?!\z))",
                    ('^', true, false) => r"(?:(?:\A|(?<=[\n\x{85}\x{2028}\x{2029}])|(?<=\r)(?!\n))(?!\z))",
                    (_, true, true) => r"(?=\n|\z)",
                    (_, true, false) => r"(?:(?=[\r\x{85}\x{2028}\x{2029}]|\z)|(?<!\r)(?=\n))",
                    (_, false, _) => self.last_line_end(),
                };
                self.made.push_str(place);
                return Atom::Assertion;
            }
            c => self.push(c),
        }
        Atom::Char
    }

    /// The end of the text, or the place before the line end at its end.
    pub(super) fn last_line_end(&self) -> &'static str {
        match self.has(UNIX_LINES) {
            true => r"(?=\n?\z)",
            false => r"(?:(?=(?:\r\n|[\r\x{85}\x{2028}\x{2029}])?\z)|(?<!\r)(?=\n\z))",
        }
    }

    fn push(&mut self, c: char) {
        let escaped = fancy_regex::escape(c.encode_utf8(&mut [0; 4])).into_owned();
        match (self.has(CASE_INSENSITIVE), self.has(UNICODE_CASE)) {
            (true, true) => self.made.push_str(&format!("(?i:{escaped})")),
            (true, false) if c.is_ascii_alphabetic() => {
                self.push_class(&format!("{}{}", c.to_ascii_lowercase(), c.to_ascii_uppercase()), false);
            }
            _ => self.made.push_str(&escaped),
        }
    }

    pub(super) fn push_class(&mut self, content: &str, is_negated: bool) {
        self.made.push_str(if is_negated { "[^" } else { "[" });
        self.made.push_str(content);
        self.made.push(']');
    }

    /// Reads a repetition of what was made from `start` on.
    fn closure(&mut self, start: usize, atom: Atom) -> Translated<()> {
        let had_length = self.has_length;
        self.has_length |= atom != Atom::Assertion;
        self.lengths += usize::from(atom != Atom::Assertion);
        let (least, most) = match self.peek() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('{') => (-1, None),
            _ => return Ok(()),
        };
        self.at += 1;
        let is_counted = least < 0;
        let (least, most) = if is_counted { self.counts()? } else { (least, most) };
        let is_lazy = self.takes('?');
        let is_possessive = !is_lazy && self.takes('+');
        // Java finds a maximum for characters that are repeated greedily, or that are the first.
        let is_greedy = !is_counted && !is_lazy && !is_possessive;
        let has_maximum = atom == Atom::Char && (is_greedy || !had_length) || atom == Atom::Assertion;
        self.is_unbounded |= most.is_none() && !has_maximum;
        if atom == Atom::Assertion {
            // It holds once or always.
            if least == 0 {
                self.made.insert_str(start, if is_lazy { "(?:|" } else { "(?:" });
                self.made.push_str(if is_lazy { ")" } else { "|)" });
            }
            return Ok(());
        }
        self.made
            .insert_str(start, if is_possessive { "(?>(?:" } else { "(?:" });
        let most = most.map_or_else(String::new, |most| most.to_string());
        self.made.push_str(&format!("){{{least},{most}}}"));
        self.made.push_str(match (is_lazy, is_possessive) {
            (true, _) => "?",
            (_, true) => ")",
            _ => "",
        });
        Ok(())
    }

    /// Reads the numbers of a repetition.
    fn counts(&mut self) -> Translated<(i32, Option<i32>)> {
        if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return self.fail("Illegal repetition");
        }
        let least = self.count()?;
        let most = match self.takes(',') {
            false => Some(least),
            true if self.peek() == Some('}') => None,
            true => Some(self.count()?),
        };
        if self.peek() != Some('}') {
            return self.fail("Unclosed counted closure");
        }
        if most.is_some_and(|most| most < least) {
            return self.fail("Illegal repetition range");
        }
        self.at += 1;
        Ok((least, most))
    }

    fn count(&mut self) -> Translated<i32> {
        let mut count = 0i32;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            let longer = count.checked_mul(10).and_then(|count| count.checked_add(digit as i32));
            match longer {
                None => return self.fail("Illegal repetition range"),
                Some(longer) => count = longer,
            }
            self.at += 1;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("(a", "Unclosed group near index 2\n(a")]
    #[case("[a&&b", "Unclosed character class near index 4\n[a&&b\n    ^")]
    #[case("[]", "Unclosed character class near index 1\n[]\n ^")]
    #[case("a**", "Dangling meta character '*' near index 2\na**\n  ^")]
    #[case("a)", "Unmatched closing ')' near index 0\na)\n^")]
    #[case(")", "Unmatched closing ')'\n)")]
    #[case("a{1", "Unclosed counted closure near index 3\na{1")]
    #[case("{", "Illegal repetition near index 1\n{")]
    #[case("a{2,1}", "Illegal repetition range near index 5\na{2,1}\n     ^")]
    #[case(
        "a{99999999999}",
        "Illegal repetition range near index 11\na{99999999999}\n           ^"
    )]
    #[case("\\", "Unexpected internal error near index 1\n\\")]
    #[case("\\Qa.\\E**", "Dangling meta character '*' near index 4\n\\Qa.\\E**\n    ^")]
    #[case(
        "(?<=(?:a)+)b",
        "Look-behind group does not have an obvious maximum length near index 9\n(?<=(?:a)+)b\n         ^"
    )]
    #[case("\\y", "Illegal/unsupported escape sequence near index 1\n\\y\n ^")]
    #[case("\\p{x}", "Unknown character property name {x} near index 4\n\\p{x}\n    ^")]
    #[case("\\p{", "Unclosed character family near index 3\n\\p{")]
    #[case("(?z)", "Unknown inline modifier near index 2\n(?z)\n  ^")]
    #[case("(?<a", "named capturing group is missing trailing '>' near index 4\n(?<a")]
    #[case("[b-a]", "Illegal character range near index 3\n[b-a]\n   ^")]
    #[case("\\u12", "Illegal Unicode escape sequence near index 4\n\\u12")]
    #[case("[\\b]", "Illegal/unsupported escape sequence near index 2\n[\\b]\n  ^")]
    fn malformed_patterns_are_refused_as_in_java(#[case] pattern: &str, #[case] expected: &str) {
        assert_eq!(translate(pattern, 0).unwrap_err(), expected);
    }

    #[test]
    fn a_pattern_has_limits() {
        assert!(translate(&"(".repeat(1_000), 0).is_err());
        assert!(translate(&"[".repeat(1_000), 0).is_err());
        assert!(translate(&"a".repeat(20_000), 0).is_err());
    }
}
