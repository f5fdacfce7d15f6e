//! The reading of a JSON text that is not strict: what Jackson allows, and what it says of the rest.
//!
//! Guarantees: names without quotes, comments and numbers of any size are read; anything else that is no JSON is
//! refused as by Jackson.
//! Limits: a text is looked at here only after the strict parser has refused it.
//! Source: Jackson 2.5's `UTF8StreamJsonParser` with `ALLOW_UNQUOTED_FIELD_NAMES` and `ALLOW_COMMENTS`, as in
//! Elasticsearch 1.5.

/// The first value of a text as strict JSON.
///
/// # Errors
/// Jackson's message.
pub(super) fn strict(text: &str) -> Result<String, String> {
    let mut reader = Reader {
        rest: text,
        strict: String::with_capacity(text.len()),
        open: Vec::new(),
    };
    reader.value()?;
    while !reader.open.is_empty() {
        reader.next()?;
    }
    Ok(reader.strict)
}

/// An object or an array that is open.
struct Container {
    is_object: bool,
    /// Whether it has an entry.
    is_begun: bool,
}

struct Reader<'a> {
    rest: &'a str,
    strict: String,
    open: Vec<Container>,
}

fn unexpected(c: char, expected: &str) -> String {
    format!("Unexpected character ({}): {expected}", shown(c))
}

/// A character as an error shows it.
fn shown(c: char) -> String {
    let code = u32::from(c);
    if c.is_control() && code < 32 {
        format!("(CTRL-CHAR, code {code})")
    } else if code > 255 {
        format!("'{c}' (code {code} / 0x{code:x})")
    } else {
        format!("'{c}' (code {code})")
    }
}

/// Returns whether a name without quotes can have the character.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '#' | '*' | '-' | '+') || u32::from(c) > 127
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Takes a character, and keeps it.
    fn keep(&mut self, c: char) {
        self.strict.push(c);
        self.skip(c);
    }

    fn skip(&mut self, c: char) {
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or("");
    }

    /// Name of the innermost container.
    fn place(&self) -> &'static str {
        match self.open.last() {
            None => "ROOT",
            Some(container) if container.is_object => "OBJECT",
            Some(_) => "ARRAY",
        }
    }

    /// Skips space and comments.
    fn space(&mut self) -> Result<(), String> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
            let Some(comment) = self.rest.strip_prefix('/') else {
                return Ok(());
            };
            let end = match comment.chars().next() {
                Some('/') => comment.find('\n').map(|at| at + 1).or(Some(comment.len())),
                Some('*') => comment.get(1..).and_then(|body| body.find("*/")).map(|at| at + 3),
                Some(other) => {
                    return Err(unexpected(other, "was expecting either '*' or '/' for a comment"));
                }
                None => None,
            };
            let end = end.ok_or("Unexpected end-of-input in a comment")?;
            self.rest = comment.get(end..).unwrap_or("");
        }
    }

    /// The next character after a comma or a colon.
    fn inside(&mut self) -> Result<char, String> {
        self.space()?;
        let place = self.place();
        self.peek()
            .ok_or_else(|| format!("Unexpected end-of-input within/between {place} entries"))
    }

    /// The next entry of the innermost container, or its end.
    fn next(&mut self) -> Result<(), String> {
        self.space()?;
        let place = self.place();
        let source = "[Source: [B@1; line: 1, column: 1]";
        let Some(mut c) = self.peek() else {
            return Err(format!(
                "Unexpected end-of-input: expected close marker for {place} (from {source})"
            ));
        };
        let is_object = place == "OBJECT";
        if matches!(c, '}' | ']') {
            if is_object != (c == '}') {
                let expected = if is_object { '}' } else { ']' };
                return Err(format!(
                    "Unexpected close marker '{c}': expected '{expected}' (for {place} starting at {source})"
                ));
            }
            self.keep(c);
            self.open.pop();
            return Ok(());
        }
        let is_begun = self
            .open
            .last_mut()
            .is_some_and(|open| std::mem::replace(&mut open.is_begun, true));
        if is_begun {
            if c != ',' {
                return Err(unexpected(
                    c,
                    &format!("was expecting comma to separate {place} entries"),
                ));
            }
            self.keep(c);
            c = self.inside()?;
        }
        if is_object {
            if c == '"' {
                self.string("field name")?;
            } else {
                self.bare_name(c)?;
            }
            let colon = self.inside()?;
            if colon != ':' {
                return Err(unexpected(
                    colon,
                    "was expecting a colon to separate field name and value",
                ));
            }
            self.keep(colon);
        }
        self.value()
    }

    /// A name without quotes, which begins with `first`.
    fn bare_name(&mut self, first: char) -> Result<(), String> {
        if !is_name(first) {
            return Err(unexpected(
                first,
                "was expecting either valid name character (for unquoted name) or double-quote (for quoted) to start \
                 field name",
            ));
        }
        self.strict.push('"');
        while let Some(c) = self.peek().filter(|c| is_name(*c)) {
            self.keep(c);
        }
        self.strict.push('"');
        match self.rest {
            "" => Err("Unexpected end-of-input in field name".to_owned()),
            _ => Ok(()),
        }
    }

    /// A text in quotes; `what` says in errors what it is.
    fn string(&mut self, what: &str) -> Result<(), String> {
        self.keep('"');
        let part = if what == "field name" { "name" } else { "string value" };
        loop {
            let end = || format!("Unexpected end-of-input in {what}");
            match self.peek().ok_or_else(end)? {
                '"' => {
                    self.keep('"');
                    return Ok(());
                }
                '\\' => {
                    self.keep('\\');
                    let escape = self
                        .peek()
                        .ok_or("Unexpected end-of-input in character escape sequence")?;
                    if !matches!(escape, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u') {
                        return Err(format!("Unrecognized character escape {}", shown(escape)));
                    }
                    self.keep(escape);
                    if escape == 'u' {
                        self.hex_digits()?;
                    }
                }
                c if u32::from(c) < 32 => {
                    return Err(format!(
                        "Illegal unquoted character ({}): has to be escaped using backslash to be included in {part}",
                        shown(c)
                    ));
                }
                c => self.keep(c),
            }
        }
    }

    fn hex_digits(&mut self) -> Result<(), String> {
        for _ in 0..4 {
            let digit = self
                .peek()
                .ok_or("Unexpected end-of-input in character escape sequence")?;
            if !digit.is_ascii_hexdigit() {
                return Err(unexpected(digit, "expected a hex-digit for character escape sequence"));
            }
            self.keep(digit);
        }
        Ok(())
    }

    /// A value up to its end, or an object or an array up to its first entry.
    fn value(&mut self) -> Result<(), String> {
        match self.inside()? {
            '"' => self.string("VALUE_STRING"),
            c @ ('{' | '[') => {
                self.keep(c);
                self.open.push(Container {
                    is_object: c == '{',
                    is_begun: false,
                });
                Ok(())
            }
            c if c == '-' || c.is_ascii_digit() => self.number(),
            c if c.is_alphabetic() || matches!(c, '_' | '$') => self.word(c),
            c => Err(unexpected(
                c,
                "expected a valid value (number, String, array, object, 'true', 'false' or 'null')",
            )),
        }
    }

    fn word(&mut self, first: char) -> Result<(), String> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        match word {
            "true" | "false" | "null" => {
                self.strict.push_str(word);
                self.rest = rest;
                Ok(())
            }
            "NaN" | "Infinity" => Err(format!(
                "Non-standard token '{word}': enable JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS to allow"
            )),
            _ if matches!(first, 't' | 'f' | 'n') => Err(format!(
                "Unrecognized token '{word}': was expecting 'null', 'true', 'false' or NaN"
            )),
            _ => Err(format!(
                "Unrecognized token '{word}': was expecting ('true', 'false' or 'null')"
            )),
        }
    }

    fn number(&mut self) -> Result<(), String> {
        let refused = |c: Option<char>, what: &str| match c {
            Some(c) => Err(format!("Unexpected character ({}) in numeric value: {what}", shown(c))),
            None => Err("Unexpected end-of-input in VALUE_NUMBER".to_owned()),
        };
        let begin = self.strict.len();
        if self.peek() == Some('-') {
            self.keep('-');
        }
        match self.peek() {
            Some(c) if c.is_ascii_digit() => {}
            other => {
                return refused(
                    other,
                    "expected digit (0-9) to follow minus sign, for valid numeric value",
                );
            }
        }
        let is_zero = self.peek() == Some('0');
        if self.digits() > 1 && is_zero {
            return Err("Invalid numeric value: Leading zeroes not allowed".to_owned());
        }
        if self.peek() == Some('.') {
            self.keep('.');
            if self.digits() == 0 {
                return refused(self.peek(), "Decimal point not followed by a digit");
            }
        }
        if let Some(exponent) = self.peek().filter(|c| matches!(c, 'e' | 'E')) {
            self.keep(exponent);
            if let Some(sign) = self.peek().filter(|c| matches!(c, '+' | '-')) {
                self.keep(sign);
            }
            if self.digits() == 0 {
                return refused(self.peek(), "Exponent indicator not followed by a digit");
            }
        }
        self.bound(begin);
        Ok(())
    }

    /// Replaces a number that is too large for a double, which strict JSON refuses, by the largest double.
    fn bound(&mut self, begin: usize) {
        let number = self.strict.get(begin..).and_then(|literal| literal.parse::<f64>().ok());
        if let Some(number) = number.filter(|number| number.is_infinite()) {
            self.strict.truncate(begin);
            self.strict.push_str(&format!("{:e}", f64::MAX.copysign(number)));
        }
    }

    /// Takes digits; their number.
    fn digits(&mut self) -> usize {
        let mut count = 0;
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            self.keep(digit);
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::strict;
    use rstest::rstest;

    #[rstest]
    #[case("{query:{match_all:{}}}", "{\"query\":{\"match_all\":{}}}")]
    #[case("{\"a\":[-1e400,1]}", "{\"a\":[-1.7976931348623157e308,1]}")]
    #[case("{/* all */ \"a\": 1, // one\n b-c: [true, null]}", "{\"a\":1,\"b-c\":[true,null]}")]
    fn names_without_quotes_comments_and_large_numbers_are_read(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(strict(text).unwrap(), expected);
    }

    #[rstest]
    #[case("{\"a\":", "Unexpected end-of-input within/between OBJECT entries")]
    #[case("{\"a\":{}", "Unexpected end-of-input: expected close marker for OBJECT (from [")]
    #[case("{bad", "Unexpected end-of-input in field name")]
    #[case("{\"a\":\"b", "Unexpected end-of-input in VALUE_STRING")]
    #[case("{\"a\":[1,", "Unexpected end-of-input within/between ARRAY entries")]
    #[case(
        "{\"a\":nope}",
        "Unrecognized token 'nope': was expecting 'null', 'true', 'false' or NaN"
    )]
    #[case("{\"a\":xyz}", "Unrecognized token 'xyz': was expecting ('true', 'false' or 'null')")]
    #[case(
        "{'a':1}",
        "Unexpected character (''' (code 39)): was expecting either valid name character (for unquoted name) or"
    )]
    #[case(
        "{\"a\":1,}",
        "Unexpected character ('}' (code 125)): was expecting either valid name character"
    )]
    #[case(
        "{\"a\" 1}",
        "Unexpected character ('1' (code 49)): was expecting a colon to separate field name and value"
    )]
    #[case(
        "{\"a\":1 \"b\":2}",
        "Unexpected character ('\"' (code 34)): was expecting comma to separate OBJECT entries"
    )]
    #[case("{\"a\":[1}", "Unexpected close marker '}': expected ']' (for ARRAY starting at [")]
    #[case("{\"a\":01}", "Invalid numeric value: Leading zeroes not allowed")]
    #[case("{\"a\":.5}", "Unexpected character ('.' (code 46)): expected a valid value")]
    #[case("{\"a\":\"\\x\"}", "Unrecognized character escape 'x' (code 120)")]
    #[case(
        "{\"a\":\"\n\"}",
        "Illegal unquoted character ((CTRL-CHAR, code 10)): has to be escaped"
    )]
    fn a_syntax_error_is_worded_as_jackson_does(#[case] text: &str, #[case] message: &str) {
        let error = strict(text).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}
