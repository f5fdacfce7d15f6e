//! JSON without its secrets, in pieces of any size.
//!
//! Promises: what comes out has the syntax of what went in, byte for byte but for the texts that were replaced; what is
//! replaced does not depend on how the input is cut; at most [`HELD`] bytes and one text are held back.
//! Limits: a text of more than [`LONGEST_TEXT`] is replaced by its length and hash.

use super::context::RedactionContext;
use super::json_input::{Broken, Input, plain_length};
use super::json_string::{decoded, quoted};
use super::structure::{Secret, Structure, Verdict, Wait};
use super::text;
use crate::interaction::Digest;
use memchr::memchr2;
use std::borrow::Cow;
use std::ops::Range;

/// How much may wait for the kind of its object; more of it is taken for secret.
const HELD: usize = 4 << 20;

/// A longer text is not held.
const LONGEST_TEXT: usize = 8 << 20;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Value,
    FirstElement,
    Key,
    FirstKey,
    Colon,
    CommaOrEnd,
}

/// The token that is not complete.
#[derive(Debug)]
enum Token {
    None,
    /// A string after its quote; whether the next byte is escaped.
    String {
        escaped: bool,
    },
    /// A string too long to be held.
    Long {
        escaped: bool,
        digest: Digest,
    },
    /// A number or literal.
    Scalar,
}

/// A value that is secret if its document says so later.
#[derive(Debug)]
struct Deferred {
    id: u64,
    /// Its place in what is held, with its quotes.
    range: Range<usize>,
    secret: Secret,
    is_secret: Option<bool>,
}

/// JSON that comes in pieces.
#[derive(Debug)]
pub(super) struct Json {
    structure: Structure,
    next: Next,
    token: Token,
    /// The part of the token that was received.
    begun: Vec<u8>,
    held: Vec<u8>,
    deferred: Vec<Deferred>,
    last: u64,
    depth: usize,
    /// How many needles there were when the input was searched for known secrets.
    needles: usize,
}

/// What becomes of a text.
enum Outcome {
    Kept,
    Replaced(String),
    /// It is secret if its document says so later.
    Deferred(Secret, Wait),
}

impl Json {
    /// A body. `depth` is how many texts it is within.
    pub(super) fn new(structure: Structure, depth: usize) -> Self {
        Self {
            structure,
            next: Next::Value,
            token: Token::None,
            begun: Vec::new(),
            held: Vec::new(),
            deferred: Vec::new(),
            last: 0,
            depth,
            needles: 0,
        }
    }

    /// A whole text without its secrets; none if it is not JSON.
    pub(super) fn whole(text: &str, context: &mut RedactionContext<'_>, depth: usize) -> Option<String> {
        let mut json = Self::new(Structure::new(context.rules.clone(), false), depth);
        let mut out = Vec::with_capacity(text.len());
        json.push(text.as_bytes(), context, &mut out).ok()?;
        json.finish(context, &mut out).ok()?;
        String::from_utf8(out).ok()
    }

    /// More of it; appends what is ready.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        context: &mut RedactionContext<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        let mut input = Input::new(bytes, context.secrets.places(bytes));
        self.needles = context.secrets.count();
        let mut at = 0;
        let mut sound = true;
        while let Some(byte) = bytes.get(at) {
            let taken = match &mut self.token {
                Token::None if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => Some(1),
                Token::None => self.mark(*byte, at, &mut input, context),
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
        self.keep(&mut input, at);
        if self.held.len() > HELD && !self.deferred.is_empty() {
            self.structure.decide_all();
            self.decided();
        }
        if sound {
            self.release(context, out);
            return Ok(());
        }
        // Nothing decides any more what was deferred.
        self.structure.decide_all();
        self.decided();
        self.release(context, out);
        let rest = bytes.get(at..).unwrap_or_default().to_vec();
        Err(Broken { rest })
    }

    /// Its end; appends what was held back.
    pub(super) fn finish(mut self, context: &mut RedactionContext<'_>, out: &mut Vec<u8>) -> Result<(), Broken> {
        if matches!(self.token, Token::Scalar) {
            self.end_scalar(context);
        }
        let whole = self.structure.is_root() && matches!(self.token, Token::None);
        self.structure.decide_all();
        self.decided();
        self.release(context, out);
        match (whole, &self.token) {
            (true, _) => Ok(()),
            // A text that was cut off may be a part of a secret.
            (false, Token::String { .. }) => {
                out.push(b'"');
                Err(Broken { rest: self.begun })
            }
            (false, Token::Long { digest, .. }) => {
                out.push(b'"');
                out.extend_from_slice(digest.clone().text().as_bytes());
                Err(Broken { rest: Vec::new() })
            }
            (false, _) => Err(Broken { rest: Vec::new() }),
        }
    }

    /// Whether what was read so far has the data of a Secret.
    pub(super) fn has_secret(&self) -> bool {
        self.structure.has_secret()
    }

    /// Whether the text that is not complete is at a place of secrets.
    pub(super) fn is_within_secret(&mut self) -> bool {
        matches!(self.token, Token::String { .. } | Token::Long { .. })
            && !matches!(self.next, Next::Key | Next::FirstKey)
            && !matches!(self.structure.scalar("?"), Verdict::Open)
    }

    /// Copies what was read and is not replaced.
    fn keep(&mut self, input: &mut Input<'_>, end: usize) {
        self.held
            .extend_from_slice(input.bytes.get(input.begin..end).unwrap_or_default());
        input.begin = end;
    }

    /// A token that begins with this byte, as far as it is there; none if it cannot be there. Returns how much was taken.
    fn mark(
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
                if !self.structure.open(byte == b'[') {
                    return None;
                }
                self.next = if byte == b'{' {
                    Next::FirstKey
                } else {
                    Next::FirstElement
                };
            }
            b'}' if self.structure.in_list() == Some(false)
                && matches!(self.next, Next::FirstKey | Next::CommaOrEnd) =>
            {
                self.close();
            }
            b']' if self.structure.in_list() == Some(true)
                && matches!(self.next, Next::FirstElement | Next::CommaOrEnd) =>
            {
                self.close();
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

    /// A string that is in the input as a whole and has no escapes. Most are.
    fn plain_string(&mut self, place: Range<usize>, input: &mut Input<'_>, context: &mut RedactionContext<'_>) {
        let raw = input.bytes.get(place.clone()).unwrap_or_default();
        let text = input
            .text
            .get(place.clone())
            .map_or_else(|| decoded(raw), Cow::Borrowed);
        let search = input.has_secret(&place);
        let end = place.end + 1;
        match self.text(raw, &text, search, context) {
            Outcome::Kept => {}
            Outcome::Replaced(text) => {
                self.keep(input, place.start - 1);
                self.held.extend_from_slice(quoted(&text, raw).as_bytes());
                input.begin = end;
            }
            Outcome::Deferred(secret, wait) => {
                self.keep(input, end);
                self.defer(self.held.len() - (raw.len() + 2), secret, wait);
            }
        }
    }

    fn close(&mut self) {
        self.structure.close();
        self.decided();
        self.after_value();
    }

    fn after_value(&mut self) {
        self.next = match self.structure.is_root() {
            true => Next::Value,
            false => Next::CommaOrEnd,
        };
    }

    /// More of a string that was not complete; how much was taken.
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
            if let (true, Token::String { escaped }) = (self.begun.len() > LONGEST_TEXT, &self.token) {
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
        // It was not searched as a whole yet.
        let outcome = self.text(&raw, &decoded(&raw), true, context);
        let start = self.held.len();
        if let Outcome::Replaced(text) = &outcome {
            self.held.extend_from_slice(quoted(text, &raw).as_bytes());
            return end + 1;
        }
        self.held.push(b'"');
        self.held.extend_from_slice(&raw);
        self.held.push(b'"');
        if let Outcome::Deferred(secret, wait) = outcome {
            self.defer(start, secret, wait);
        }
        end + 1
    }

    /// A complete string: as it is written between its quotes, and its text. `search` says whether it may have a known secret.
    fn text(&mut self, raw: &[u8], text: &str, search: bool, context: &mut RedactionContext<'_>) -> Outcome {
        let search = search || context.secrets.count() != self.needles;
        let found = if matches!(self.next, Next::Key | Next::FirstKey) {
            self.structure.key(text);
            self.next = Next::Colon;
            search.then(|| context.secrets.text(text)).flatten()
        } else {
            let verdict = self.structure.scalar(text);
            self.decided();
            self.after_value();
            match verdict {
                Verdict::Secret(secret) if !text.is_empty() => Some(context.placeholder(text, secret)),
                Verdict::Undecided { secret, wait } if !text.is_empty() => return Outcome::Deferred(secret, wait),
                _ if search => context.search(text, self.depth),
                _ => self.by_rules(raw, text, context),
            }
        };
        found.map_or(Outcome::Kept, Outcome::Replaced)
    }

    /// A text that has no known secret, without those that rules find in it; none if there are none. `raw` is how it is written.
    fn by_rules(&self, raw: &[u8], text: &str, context: &mut RedactionContext<'_>) -> Option<String> {
        // A text within a text is searched less deeply.
        let is_kept = self.depth == 0 && !text::is_word(raw);
        if (is_kept && context.secrets.clean.has(raw)) || !text::is_marked(raw, context.rules) {
            return None;
        }
        let found = context.search(text, self.depth);
        if is_kept && found.is_none() {
            context.secrets.clean.add(raw);
        }
        found
    }

    fn defer(&mut self, start: usize, secret: Secret, wait: Wait) {
        self.last += 1;
        self.structure.defer(wait, self.last);
        self.deferred.push(Deferred {
            id: self.last,
            range: start..self.held.len(),
            secret,
            is_secret: None,
        });
    }

    /// More of a number or literal; how much was taken.
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
        self.decided();
        let start = self.held.len();
        let long = verdict != Verdict::Open && text.bytes().filter(u8::is_ascii_digit).count() >= 6;
        match verdict {
            Verdict::Secret(_) if long => {
                let placeholder = context.secrets.placeholder(&text, false);
                self.held.extend_from_slice(quoted(&placeholder, b"").as_bytes());
            }
            verdict => {
                self.held.extend_from_slice(&raw);
                if let (Verdict::Undecided { secret, wait }, true) = (verdict, long) {
                    self.defer(start, secret, wait);
                }
            }
        }
        self.begun = raw;
        self.after_value();
    }

    /// Takes what the structure has decided.
    fn decided(&mut self) {
        if self.deferred.is_empty() {
            return;
        }
        for (id, is_secret) in self.structure.take_decided() {
            let found = self.deferred.binary_search_by_key(&id, |deferred| deferred.id);
            if let Some(deferred) = found.ok().and_then(|at| self.deferred.get_mut(at)) {
                deferred.is_secret = Some(is_secret);
            }
        }
    }

    /// Appends what is held up to the first value that is not decided.
    fn release(&mut self, context: &mut RedactionContext<'_>, out: &mut Vec<u8>) {
        if self.deferred.is_empty() {
            match out.is_empty() {
                // Both keep their memory for what comes next.
                true => std::mem::swap(out, &mut self.held),
                false => out.append(&mut self.held),
            }
            return;
        }
        let open = self.deferred.iter().position(|deferred| deferred.is_secret.is_none());
        let count = open.unwrap_or(self.deferred.len());
        let limit = self
            .deferred
            .get(count)
            .map_or(self.held.len(), |first| first.range.start);
        let mut end = 0;
        for Deferred {
            range,
            secret,
            is_secret,
            ..
        } in self.deferred.drain(..count)
        {
            out.extend_from_slice(self.held.get(end..range.start).unwrap_or_default());
            let raw = self.held.get(range.clone()).unwrap_or_default();
            let within = raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\""));
            let found = match (within, is_secret) {
                (Some(within), Some(false)) => context.search(&decoded(within), self.depth),
                (None, Some(false)) => None,
                _ => Some(context.placeholder(&decoded(within.unwrap_or(raw)), secret)),
            };
            match found {
                Some(text) => out.extend_from_slice(quoted(&text, within.unwrap_or_default()).as_bytes()),
                None => out.extend_from_slice(raw),
            }
            end = range.end;
        }
        out.extend_from_slice(self.held.get(end..limit).unwrap_or_default());
        self.held.drain(..limit);
        for deferred in &mut self.deferred {
            deferred.range = deferred.range.start - limit..deferred.range.end - limit;
        }
    }
}
