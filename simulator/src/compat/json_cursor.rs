//! Cursor over JSON that counts the bytes read.
//!
//! - Guarantees: every error has the text of v1.2's codec and the number of bytes read so far; no recursion.
//! - Limit: the bytes must have passed [`super::json_scan::check`]. Otherwise the result is an unspecified error.
//! - Source of the semantics: the JSON driver of the ugorji codec of early 2016, which accepts a number in quotes as
//!   a number.

use super::json_scan::plain;

/// Position of the cursor in a container.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Start,
    Key,
    Value,
    Element,
    MapEnd,
    ListEnd,
}

/// Cursor over JSON. `token` is the first byte of the next value, if it has been read.
pub(crate) struct JsonCursor<'a> {
    bytes: &'a [u8],
    read: usize,
    token: Option<u8>,
    at: At,
    lenient: bool,
}

/// Part of a number that a byte may continue.
#[derive(Clone, Copy)]
enum Part {
    Start,
    Whole,
    Fraction,
    ExponentStart,
    Exponent,
}

/// Number as it was written.
#[derive(Default)]
struct Number {
    mantissa: u64,
    exponent: i16,
    negative: bool,
    overflow: bool,
}

/// Result of reading. The error is the codec's text.
pub(crate) type Outcome<T = ()> = Result<T, String>;

impl<'a> JsonCursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            read: 0,
            token: None,
            at: At::Start,
            lenient: false,
        }
    }

    /// Returns a cursor that decodes half a surrogate pair as U+FFFD, as `encoding/json` does.
    pub(crate) fn lenient(bytes: &'a [u8]) -> Self {
        Self {
            lenient: true,
            ..Self::new(bytes)
        }
    }

    pub(crate) fn error<T>(&self, text: impl std::fmt::Display) -> Outcome<T> {
        Err(format!("[pos {}]: {text}", self.read))
    }

    fn byte(&mut self) -> Outcome<u8> {
        let byte = self.bytes.get(self.read).copied().ok_or_else(|| "EOF".to_owned())?;
        self.read += 1;
        Ok(byte)
    }

    /// First byte of the next value.
    pub(crate) fn peek(&mut self) -> Outcome<u8> {
        if let Some(token) = self.token {
            return Ok(token);
        }
        let mut byte = self.byte()?;
        while matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            byte = self.byte()?;
        }
        self.token = Some(byte);
        Ok(byte)
    }

    fn expect(&mut self, wanted: u8) -> Outcome {
        let got = self.peek()?;
        if got != wanted {
            return self.error(format_args!(
                "json: expect char '{}' but got char '{}'",
                char::from(wanted),
                char::from(got)
            ));
        }
        self.token = None;
        Ok(())
    }

    /// Moves to another position in a container, across the separator.
    pub(crate) fn step(&mut self, to: At) -> Outcome {
        let fresh = self.at == At::Start;
        match to {
            At::Key | At::Element if !fresh => self.expect(b',')?,
            At::Value => self.expect(b':')?,
            At::MapEnd => self.expect(b'}')?,
            At::ListEnd => self.expect(b']')?,
            _ => {
                self.peek()?;
            }
        }
        self.at = to;
        Ok(())
    }

    /// Whether the container ends here.
    pub(crate) fn ends(&mut self) -> Outcome<bool> {
        Ok(matches!(self.peek()?, b'}' | b']'))
    }

    pub(crate) fn open(&mut self, bracket: u8) -> Outcome {
        self.expect(bracket)?;
        self.at = At::Start;
        Ok(())
    }

    fn rest_of(&mut self, word: &str) -> Outcome {
        let end = self.read.saturating_add(word.len());
        let got = self.bytes.get(self.read..end).ok_or_else(|| "EOF".to_owned())?;
        self.read = end;
        self.token = None;
        if got != word.as_bytes() {
            return self.error(format_args!(
                "json: expecting {word}: got {}",
                String::from_utf8_lossy(got)
            ));
        }
        Ok(())
    }

    /// Reads a null, if there is one. Returns whether there was.
    pub(crate) fn null(&mut self) -> Outcome<bool> {
        if self.peek()? != b'n' {
            return Ok(false);
        }
        self.rest_of("ull")?;
        Ok(true)
    }

    pub(crate) fn boolean(&mut self) -> Outcome<bool> {
        match self.peek()? {
            b'f' => self.rest_of("alse").map(|()| false),
            b't' => self.rest_of("rue").map(|()| true),
            c => self.error(format_args!("json: decode bool: got first char {}", char::from(c))),
        }
    }

    pub(crate) fn text(&mut self) -> Outcome<String> {
        self.expect(b'"')?;
        let mut out = Vec::new();
        loop {
            let plain = plain(self.bytes, self.read);
            out.extend_from_slice(plain);
            self.read += plain.len();
            if self.byte()? == b'"' {
                break;
            }
            match self.byte()? {
                c @ (b'"' | b'\\' | b'/' | b'\'') => out.push(c),
                b'b' => out.push(0x08),
                b'f' => out.push(0x0c),
                b'n' => out.push(b'\n'),
                b'r' => out.push(b'\r'),
                b't' => out.push(b'\t'),
                b'u' => {
                    let c = self.escaped()?;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                c => return self.error(format_args!("json: unsupported escaped value: {}", char::from(c))),
            }
        }
        Ok(match String::from_utf8(out) {
            Ok(text) => text,
            Err(bad) => String::from_utf8_lossy(bad.as_bytes()).into_owned(),
        })
    }

    /// Reads the character after `\u`, including a second escape for a surrogate pair.
    fn escaped(&mut self) -> Outcome<char> {
        let first = self.hex()?;
        if !(0xd800..0xe000).contains(&first) {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let low = |bytes: &[u8]| bytes.starts_with(b"\\ud") && matches!(bytes.get(3), Some(b'c'..=b'f' | b'C'..=b'F'));
        let pair = first < 0xdc00 && self.bytes.get(self.read..).is_some_and(low);
        if self.lenient && !pair {
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        if self.byte()? != b'\\' || self.byte()? != b'u' {
            return self.error("json: unquoteStr: invalid unicode sequence. Expecting \\u");
        }
        let second = self.hex()?;
        let pair = (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second);
        let joined = if pair {
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            0xfffd
        };
        Ok(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Outcome<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let c = self.byte()?;
            let Some(digit) = char::from(c).to_digit(16) else {
                return self.error(format_args!(
                    "json: unquoteStr: invalid hex char in \\u unicode sequence: '{}'",
                    char::from(c)
                ));
            };
            value = value * 16 + digit;
        }
        Ok(value)
    }

    /// Reads a number, which may be in quotes.
    fn number(&mut self) -> Outcome<Number> {
        let mut byte = self.peek()?;
        let quoted = byte == b'"';
        if quoted {
            byte = self.byte()?;
        }
        if !matches!(byte, b'+' | b'-' | b'.' | b'0'..=b'9') {
            return self.error(format_args!("json: decNum: got first char '{}'", char::from(byte)));
        }
        self.token = None;
        let mut number = Number::default();
        let (mut exponent, mut below_one) = (0i16, false);
        let mut part = Part::Start;
        loop {
            part = match (part, byte) {
                (Part::Start, b'+' | b'-') => {
                    number.negative = byte == b'-';
                    Part::Whole
                }
                (Part::Start | Part::Whole, b'0'..=b'9') => {
                    number.digit(byte - b'0', false);
                    Part::Whole
                }
                (Part::Start | Part::Whole, b'.') => Part::Fraction,
                (Part::Fraction, b'0'..=b'9') => {
                    number.digit(byte - b'0', true);
                    Part::Fraction
                }
                (Part::Start | Part::Whole | Part::Fraction, b'e' | b'E') => Part::ExponentStart,
                (Part::ExponentStart, b'+' | b'-') => {
                    below_one = byte == b'-';
                    Part::Exponent
                }
                (Part::ExponentStart | Part::Exponent, b'0'..=b'9') => {
                    exponent = exponent.wrapping_mul(10).wrapping_add(i16::from(byte - b'0'));
                    Part::Exponent
                }
                (_, b'"') if quoted => break,
                _ => {
                    self.read -= 1;
                    break;
                }
            };
            match self.byte() {
                Ok(next) => byte = next,
                Err(_) => break,
            }
        }
        while number.mantissa != 0 && number.mantissa.is_multiple_of(10) {
            number.mantissa /= 10;
            number.exponent = number.exponent.wrapping_add(1);
        }
        number.exponent = if below_one {
            number.exponent.wrapping_sub(exponent)
        } else {
            number.exponent.wrapping_add(exponent)
        };
        Ok(number)
    }

    pub(crate) fn integer(&mut self, bits: u8) -> Outcome<i64> {
        let number = self.number()?;
        if number.overflow {
            return self.error(format_args!("json: overflow integer after: {}", number.mantissa));
        }
        if number.exponent < 0 {
            return self.error("json: fractional integer");
        }
        // The codec's overflow check misses some numbers, which are decoded as other numbers.
        let power = 10u64.checked_pow(number.exponent.unsigned_abs().into());
        let Some(magnitude) = power
            .map(|power| number.mantissa.wrapping_mul(power))
            .filter(|product| *product >= number.mantissa)
        else {
            return self.error("json: overflow integer");
        };
        let value = magnitude.cast_signed();
        let value = if number.negative { value.wrapping_neg() } else { value };
        if bits < 64 && value >> (bits - 1) != 0 && value >> (bits - 1) != -1 {
            return self.error(format_args!("json: overflow {bits} bits: "));
        }
        Ok(value)
    }

    /// Skips the next value and returns its bytes.
    pub(crate) fn raw(&mut self) -> Outcome<&'a [u8]> {
        self.peek()?;
        let from = self.read - 1;
        self.skip()?;
        self.bytes.get(from..self.read).ok_or_else(|| "EOF".to_owned())
    }

    /// Rejects a number too large for a float, which the codec decodes for an unknown value.
    fn check_float(&self, from: usize) -> Outcome {
        let text = self.bytes.get(from..self.read).unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        match text.parse::<f64>() {
            Ok(value) if value.is_infinite() => Err(format!(
                "parse float: {text}, strconv.ParseFloat: parsing \"{text}\": value out of range"
            )),
            _ => Ok(()),
        }
    }

    /// Skips the next value of any type.
    pub(crate) fn skip(&mut self) -> Outcome {
        let was = self.at;
        let mut open = Vec::new();
        loop {
            match self.peek()? {
                c @ (b'{' | b'[') => {
                    self.token = None;
                    open.push(c);
                }
                b'}' | b']' => {
                    self.token = None;
                    open.pop();
                }
                b'"' => drop(self.text()?),
                b',' | b':' if !open.is_empty() => self.token = None,
                b'n' => self.rest_of("ull")?,
                b't' => self.rest_of("rue")?,
                b'f' => self.rest_of("alse")?,
                _ => {
                    let from = self.read - 1;
                    self.number()?;
                    self.check_float(from)?;
                }
            }
            if open.is_empty() {
                self.at = was;
                return Ok(());
            }
        }
    }

    /// Reads an object. `entry` gets each name and reads its value.
    pub(crate) fn entries(&mut self, mut entry: impl FnMut(&mut Self, String) -> Outcome) -> Outcome {
        self.open(b'{')?;
        while !self.ends()? {
            self.step(At::Key)?;
            let key = self.text()?;
            self.step(At::Value)?;
            entry(self, key)?;
        }
        self.step(At::MapEnd)
    }
}

impl Number {
    fn digit(&mut self, digit: u8, after_dot: bool) {
        if after_dot {
            self.exponent = self.exponent.wrapping_sub(1);
        }
        if self.mantissa > u64::MAX / 10 {
            self.overflow = true;
            return;
        }
        self.mantissa = self.mantissa.wrapping_mul(10);
        match self.mantissa.checked_add(digit.into()) {
            Some(sum) => self.mantissa = sum,
            None => self.overflow = true,
        }
    }
}
