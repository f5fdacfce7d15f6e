//! Incremental redaction of JSON.
//!
//! Guarantees:
//! - The output is the input byte for byte, apart from replaced strings and numbers.
//! - The output does not depend on how the input is split.
//! - At most [`MAX_HELD_BYTES`](super::json_output) and one string are held back.
//!
//! Limit: a string of more than [`MAX_STRING_BYTES`] is replaced with its length and hash.

use super::context::RedactionContext;
use super::json_input::{Input, SyntaxError, plain_length};
use super::json_output::Held;
use super::json_string::{decoded, quoted};
use super::repeats::Repeats;
use super::structure::{ItemReading, Reading, Secret, Structure, Verdict, Wait};
use super::text;
use crate::interaction::Digest;
use memchr::memchr2;
use std::borrow::Cow;
use std::ops::Range;

/// Maximum length of a string that is held until its end.
const MAX_STRING_BYTES: usize = 8 << 20;

/// The next token expected by the syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Value,
    FirstElement,
    Key,
    FirstKey,
    Colon,
    CommaOrEnd,
}

/// The incomplete token.
#[derive(Debug)]
enum Token {
    None,
    /// A string after its opening quote. `escaped` is whether the next byte is escaped.
    String {
        escaped: bool,
    },
    /// A string longer than [`MAX_STRING_BYTES`].
    Long {
        escaped: bool,
        digest: Digest,
    },
    /// A number or literal.
    Scalar,
}

/// Incremental redactor of JSON.
#[derive(Debug)]
pub(super) struct Json {
    structure: Structure,
    next: Next,
    token: Token,
    /// The part of the incomplete token so far.
    begun: Vec<u8>,
    held: Held,
    repeats: Repeats,
    /// End of the last item of the piece that was cached.
    last_item: Option<usize>,
    depth: usize,
    /// Number of needles at the beginning of the piece.
    needles: usize,
}

/// Result for a string.
enum Outcome {
    Kept,
    Replaced(String),
    /// Decided later in the document.
    Deferred(Secret, Wait),
}

impl Json {
    /// A redactor. `depth` is the number of enclosing texts.
    pub(super) fn new(structure: Structure, depth: usize) -> Self {
        Self {
            structure,
            next: Next::Value,
            token: Token::None,
            begun: Vec::new(),
            held: Held::default(),
            repeats: Repeats::default(),
            last_item: None,
            depth,
            needles: 0,
        }
    }

    /// Redacts a whole text. Returns none if it is not JSON.
    pub(super) fn whole(text: &str, context: &mut RedactionContext<'_>, depth: usize) -> Option<String> {
        let mut json = Self::new(Structure::new(context.rules.clone(), false), depth);
        let mut out = Vec::with_capacity(text.len());
        let rest = json.push(text.as_bytes(), context, &mut out).ok()?;
        out.extend_from_slice(rest);
        json.finish(context, &mut out).ok()?;
        String::from_utf8(out).ok()
    }

    /// Adds a piece. Appends redacted bytes that are ready to `out`, and returns those that follow and are an unaltered
    /// part of `bytes`.
    pub(super) fn push<'a>(
        &mut self,
        bytes: &'a [u8],
        context: &mut RedactionContext<'_>,
        out: &mut Vec<u8>,
    ) -> Result<&'a [u8], SyntaxError> {
        let mut input = Input::new(bytes);
        self.needles = context.secrets.count();
        self.repeats.altered();
        self.last_item = None;
        let mut at = 0;
        let mut sound = true;
        while let Some(byte) = bytes.get(at) {
            let taken = match &mut self.token {
                Token::None if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => Some(1),
                Token::None => self.token(*byte, at, &mut input, context),
                token => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let taken = match token {
                        Token::Scalar => self.scalar(rest, context),
                        _ => self.string(rest, context),
                    };
                    input.begin = at + taken;
                    Some(taken)
                }
            };
            match taken {
                Some(taken) => at += taken,
                None => {
                    sound = false;
                    break;
                }
            }
        }
        let end = input.end.unwrap_or(at);
        if sound && !self.held.has_deferred() {
            self.held.release(context, self.depth, out);
            return Ok(bytes.get(input.begin..end).unwrap_or_default());
        }
        self.keep(&mut input, end);
        if self.held.is_stuck() {
            self.structure.decide_all();
            self.held.apply_decisions(&mut self.structure);
        }
        if sound {
            self.held.release(context, self.depth, out);
            return Ok(&[]);
        }
        // The rest is not parsed, so deferred values cannot be decided later.
        self.structure.decide_all();
        self.held.apply_decisions(&mut self.structure);
        self.held.release(context, self.depth, out);
        let rest = bytes.get(at..).unwrap_or_default().to_vec();
        Err(SyntaxError { rest })
    }

    /// Ends the JSON and appends the bytes that were held back.
    pub(super) fn finish(mut self, context: &mut RedactionContext<'_>, out: &mut Vec<u8>) -> Result<(), SyntaxError> {
        if matches!(self.token, Token::Scalar) {
            self.end_scalar(context);
        }
        let whole = self.structure.is_root() && matches!(self.token, Token::None);
        self.structure.decide_at_end();
        self.held.apply_decisions(&mut self.structure);
        self.held.release(context, self.depth, out);
        match (whole, &self.token) {
            (true, _) => Ok(()),
            // An incomplete string may be a part of a secret.
            (false, Token::String { .. }) => {
                out.push(b'"');
                Err(SyntaxError { rest: self.begun })
            }
            (false, Token::Long { digest, .. }) => {
                out.push(b'"');
                out.extend_from_slice(digest.clone().text().as_bytes());
                Err(SyntaxError { rest: Vec::new() })
            }
            (false, _) => Err(SyntaxError { rest: Vec::new() }),
        }
    }

    /// Whether no byte is held back.
    pub(super) fn is_released(&self) -> bool {
        self.held.len() == 0 && matches!(self.token, Token::None)
    }

    /// Whether the data of a Secret was found so far.
    pub(super) fn has_secret(&self) -> bool {
        self.structure.has_secret()
    }

    /// Whether the incomplete string is at a position of a secret.
    pub(super) fn is_within_secret(&mut self) -> bool {
        matches!(self.token, Token::String { .. } | Token::Long { .. })
            && !matches!(self.next, Next::Key | Next::FirstKey)
            && !matches!(self.structure.partial_scalar(), Verdict::Open)
    }

    /// Copies the unaltered input up to a position.
    fn keep(&mut self, input: &mut Input<'_>, end: usize) {
        self.held.push(input.bytes.get(input.begin..end).unwrap_or_default());
        input.begin = end;
    }

    /// Parses a token, as far as it is in the piece. Returns the number of bytes. None after a syntax error.
    fn token(
        &mut self,
        byte: u8,
        at: usize,
        input: &mut Input<'_>,
        context: &mut RedactionContext<'_>,
    ) -> Option<usize> {
        let value = matches!(self.next, Next::Value | Next::FirstElement);
        match byte {
            b'"' if value || matches!(self.next, Next::Key | Next::FirstKey) => {
                let within = input.bytes.get(at + 1..)?;
                let Some(length) = plain_length(within) else {
                    if within.len() <= MAX_STRING_BYTES && memchr2(b'"', b'\\', within).is_none() {
                        input.end = Some(at);
                        self.begun.clear();
                        self.begun.extend_from_slice(within);
                        self.token = Token::String { escaped: false };
                        return Some(within.len() + 1);
                    }
                    self.keep(input, at);
                    input.begin = at + 1;
                    self.begun.clear();
                    self.token = Token::String { escaped: false };
                    return Some(1);
                };
                self.plain_string(at + 1..at + 1 + length, input, context);
                return Some(length + 2);
            }
            b'{' | b'[' if value => {
                let reading = self.structure.reading();
                if let Some(length) =
                    reading.and_then(|reading| self.skip_cached(reading, input.bytes.get(at..)?, context))
                {
                    return Some(length);
                }
                if !self.structure.open(byte == b'[') {
                    return None;
                }
                self.repeats.opened(at, reading);
                self.next = if byte == b'{' {
                    Next::FirstKey
                } else {
                    Next::FirstElement
                };
            }
            b'}' if self.structure.in_list() == Some(false)
                && matches!(self.next, Next::FirstKey | Next::CommaOrEnd) =>
            {
                self.close(at + 1, input, context);
            }
            b']' if self.structure.in_list() == Some(true)
                && matches!(self.next, Next::FirstElement | Next::CommaOrEnd) =>
            {
                self.close(at + 1, input, context);
            }
            b',' if self.next == Next::CommaOrEnd => {
                self.next = match self.structure.in_list() {
                    Some(true) => Next::Value,
                    _ => Next::Key,
                };
            }
            b':' if self.next == Next::Colon => self.next = Next::Value,
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' if value => {
                self.keep(input, at);
                self.begun.clear();
                self.token = Token::Scalar;
                return Some(0);
            }
            _ => return None,
        }
        Some(1)
    }

    /// Handles a string that is complete and has no escapes, as most are. `place` excludes the quotes.
    fn plain_string(&mut self, place: Range<usize>, input: &mut Input<'_>, context: &mut RedactionContext<'_>) {
        let raw = input.bytes.get(place.clone()).unwrap_or_default();
        let text = input.text(&place).map_or_else(|| decoded(raw), Cow::Borrowed);
        let search = input.has_secret(&place, context.secrets);
        let end = place.end + 1;
        match self.text(raw, &text, search, context) {
            Outcome::Kept => {}
            Outcome::Replaced(text) => {
                self.keep(input, place.start - 1);
                self.held.push(quoted(&text, raw).as_bytes());
                input.begin = end;
            }
            Outcome::Deferred(secret, wait) => {
                self.keep(input, end);
                self.defer(self.held.len() - (raw.len() + 2), secret, wait);
            }
        }
    }

    fn close(&mut self, end: usize, input: &Input<'_>, context: &mut RedactionContext<'_>) {
        self.structure.close();
        self.held.apply_decisions(&mut self.structure);
        if context.secrets.count() != self.needles {
            self.repeats.altered();
        }
        let piece = input.bytes.get(..end).unwrap_or_default();
        if let Some((reading, bytes)) = self.repeats.closed(piece) {
            match self.of_item(reading) {
                // The items must be parsed, so that the Secret is noticed in each document.
                Some(_) if self.structure.has_secret() => {}
                Some(reading) => {
                    let range = end - bytes.len()..end;
                    let items = &mut context.secrets.items;
                    let is_cached = items.add(reading, self.needles, piece, range, self.last_item);
                    self.last_item = is_cached.then_some(end);
                }
                None => self
                    .repeats
                    .keep(reading, self.needles, bytes, self.structure.last_key()),
            }
        }
        self.after_value();
    }

    /// Skips an object or list that is cached. Returns its length.
    fn skip_cached(&mut self, reading: Reading, rest: &[u8], context: &mut RedactionContext<'_>) -> Option<usize> {
        let needles = context.secrets.count();
        let length = match self.of_item(reading) {
            Some(reading) => context.secrets.items.find(reading, needles, rest)?,
            None => {
                let (length, last_key) = self.repeats.find(reading, needles, rest)?;
                self.structure.continue_after(last_key);
                length
            }
        };
        self.after_value();
        Some(length)
    }

    /// The reading of an item. None in nested texts, which are searched less deeply.
    fn of_item(&self, reading: Reading) -> Option<ItemReading> {
        reading.of_item().filter(|_| self.depth == 0)
    }

    fn after_value(&mut self) {
        self.next = match self.structure.is_root() {
            true => Next::Value,
            false => Next::CommaOrEnd,
        };
    }

    /// Continues an incomplete string. Returns the number of bytes.
    fn string(&mut self, bytes: &[u8], context: &mut RedactionContext<'_>) -> usize {
        let (Token::String { escaped } | Token::Long { escaped, .. }) = &mut self.token else {
            return 0;
        };
        let mut at = 0;
        let end = loop {
            if std::mem::take(escaped) && at < bytes.len() {
                at += 1;
            }
            let rest = bytes.get(at..).unwrap_or_default();
            match memchr2(b'"', b'\\', rest) {
                None => break None,
                Some(found) if rest.get(found) == Some(&b'"') => break Some(at + found),
                Some(found) => {
                    at += found + 1;
                    *escaped = true;
                    if at == bytes.len() {
                        break None;
                    }
                }
            }
        };
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        if let Token::Long { digest, .. } = &mut self.token {
            digest.update(part);
        } else {
            self.begun.extend_from_slice(part);
        }
        let Some(end) = end else {
            if let (true, Token::String { escaped }) = (self.begun.len() > MAX_STRING_BYTES, &self.token) {
                let mut digest = Digest::default();
                digest.update(&std::mem::take(&mut self.begun));
                self.token = Token::Long {
                    escaped: *escaped,
                    digest,
                };
            }
            return bytes.len();
        };
        let raw = match std::mem::replace(&mut self.token, Token::None) {
            Token::Long { digest, .. } => digest.text().into_bytes(),
            _ => std::mem::take(&mut self.begun),
        };
        // It was not searched as a whole before.
        let outcome = self.text(&raw, &decoded(&raw), true, context);
        let start = self.held.len();
        if let Outcome::Replaced(text) = &outcome {
            self.held.push(quoted(text, &raw).as_bytes());
            return end + 1;
        }
        for part in [b"\"", raw.as_slice(), b"\""] {
            self.held.push(part);
        }
        if let Outcome::Deferred(secret, wait) = outcome {
            self.defer(start, secret, wait);
        }
        end + 1
    }

    /// Handles a complete string. `raw` is the source between the quotes, `search` whether it may have a known secret.
    fn text(&mut self, raw: &[u8], text: &str, search: bool, context: &mut RedactionContext<'_>) -> Outcome {
        let search = search || context.secrets.count() != self.needles;
        let found = if matches!(self.next, Next::Key | Next::FirstKey) {
            self.structure.key(text);
            self.next = Next::Colon;
            search.then(|| context.secrets.text(text)).flatten()
        } else {
            let verdict = self.structure.scalar(text);
            self.held.apply_decisions(&mut self.structure);
            self.after_value();
            match verdict {
                Verdict::Secret(secret) if !text.is_empty() => Some(context.placeholder(text, secret)),
                Verdict::Undecided { secret, wait } if !text.is_empty() => return Outcome::Deferred(secret, wait),
                _ if search => context.search(text, self.depth),
                _ => self.by_rules(raw, text, context),
            }
        };
        found.map_or(Outcome::Kept, |text| {
            self.repeats.altered();
            Outcome::Replaced(text)
        })
    }

    /// Redacts a string without known secrets by the rules. Returns none if it has no secret. `raw` is its source.
    fn by_rules(&self, raw: &[u8], text: &str, context: &mut RedactionContext<'_>) -> Option<String> {
        // Nested texts are searched less deeply, so the cache is not used.
        let is_cacheable = self.depth == 0 && !text::is_word(raw);
        if (is_cacheable && context.secrets.clean.has(raw)) || !text::is_marked(raw, context.rules) {
            return None;
        }
        let found = context.search(text, self.depth);
        if is_cacheable && found.is_none() {
            context.secrets.clean.add(raw);
        }
        found
    }

    /// Defers the held bytes from a position on.
    fn defer(&mut self, start: usize, secret: Secret, wait: Wait) {
        self.structure.defer(wait, self.held.defer(start, secret));
        self.repeats.altered();
    }

    /// Continues a number or literal. Returns the number of bytes.
    fn scalar(&mut self, bytes: &[u8], context: &mut RedactionContext<'_>) -> usize {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = bytes.iter().position(|byte| !is_part(byte)).unwrap_or(bytes.len());
        self.begun.extend_from_slice(bytes.get(..length).unwrap_or_default());
        if length < bytes.len() {
            self.end_scalar(context);
        }
        length
    }

    fn end_scalar(&mut self, context: &mut RedactionContext<'_>) {
        self.token = Token::None;
        let raw = std::mem::take(&mut self.begun);
        let text = String::from_utf8_lossy(&raw);
        let verdict = self.structure.scalar(&text);
        self.held.apply_decisions(&mut self.structure);
        let start = self.held.len();
        let long = verdict != Verdict::Open && text.bytes().filter(u8::is_ascii_digit).count() >= 6;
        match verdict {
            Verdict::Secret(_) if long => {
                self.repeats.altered();
                let placeholder = context.secrets.placeholder(&text, false);
                self.held.push(quoted(&placeholder, b"").as_bytes());
            }
            verdict => {
                self.held.push(&raw);
                if let (Verdict::Undecided { secret, wait }, true) = (verdict, long) {
                    self.defer(start, secret, wait);
                }
            }
        }
        self.begun = raw;
        self.after_value();
    }
}
