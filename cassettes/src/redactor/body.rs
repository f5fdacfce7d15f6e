//! Redaction of bodies, in pieces of any size.
//!
//! The format is detected from the content, regardless of the media type: JSON as structure, YAML as a whole document,
//! forms by their parameters, protobuf by its fields, everything else as text. A body that cannot be parsed is replaced
//! with its length and hash on a path of Secrets, and if it may contain a Secret.

use super::Redactor;
use super::blocks::Block;
use super::context::RedactionContext;
use super::document;
use super::encoded;
use super::forms;
use super::headers;
use super::json::Json;
use super::protobuf;
use super::redaction::Redaction;
use super::structure::Structure;
use super::text;
use super::yaml;
use crate::interaction::{Digest, Headers};
use std::sync::Arc;

/// A longer document of a format that is parsed as a whole is replaced with its length and hash.
const MAX_DOCUMENT_BYTES: usize = 8 << 20;

/// A longer line that may contain the beginning of a secret is replaced with its length and hash.
const MAX_LINE_BYTES: usize = 1 << 20;

/// A longer word is released before its end.
const MAX_WORD_BYTES: usize = 4 << 10;

/// Maximum whitespace before a document.
const MAX_LEADING_SPACE: usize = 4 << 10;

/// Number of bytes needed to detect the format, unless there is a complete line.
const MIN_DETECTED_BYTES: usize = 256;

/// Byte order mark of UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Incremental redactor of one body.
#[derive(Debug)]
pub(crate) struct BodyRedactor {
    form: Form,
    /// Whether the path and the status imply the data of a Secret.
    of_secret: bool,
    media_type: String,
    /// Boundary of a multipart form.
    boundary: Option<String>,
    /// Whether it is a direction of an upgraded connection, in which documents and other text can follow one another.
    is_connection: bool,
}

#[derive(Debug)]
enum Form {
    /// Not detected yet.
    Unknown(Vec<u8>),
    /// Redaction is off.
    Off,
    Json(Box<Json>),
    /// A format that is parsed as a whole.
    Whole(Whole, Vec<u8>),
    /// Text: the part that is held back, and the block of its last line.
    Text(Vec<u8>, Block),
    /// A body that is replaced with its length and hash.
    Unread(Digest),
}

/// Formats that are parsed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Yaml,
    Query,
    Multipart,
    Protobuf,
    Gzip,
    Utf16,
    /// The rest after a syntax error in JSON.
    Rest,
}

impl BodyRedactor {
    /// A redactor for the body of a request or response. `path` is that of the request. On a path of Secrets the body
    /// has the data of Secrets unless `failed`.
    pub(crate) fn new(redactor: &Redactor, headers: &Headers, path: &str, failed: bool) -> Self {
        let of_secret = redactor.rules.defaults && !failed && is_of_secrets(path);
        let media_type = headers.media_type().to_ascii_lowercase();
        let parameters = headers.get("content-type").unwrap_or_default().split(';').skip(1);
        let boundary = parameters
            .filter_map(|parameter| parameter.trim().split_once('='))
            .find(|(name, _)| name.eq_ignore_ascii_case("boundary"))
            .map(|(_, value)| value.trim_matches('"').to_owned());
        Self {
            form: if redactor.is_off() {
                Form::Off
            } else {
                Form::Unknown(Vec::new())
            },
            of_secret,
            boundary: boundary.filter(|boundary| media_type.starts_with("multipart/") && !boundary.is_empty()),
            media_type,
            is_connection: false,
        }
    }

    /// A redactor for one direction of an upgraded connection.
    pub(crate) fn of_connection(redactor: &Redactor) -> Self {
        Self {
            is_connection: true,
            ..Self::new(redactor, &Headers::default(), "", false)
        }
    }

    /// Adds a piece and returns the redacted bytes that are ready.
    pub(crate) fn push(&mut self, redactor: &Redactor, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let rest = self.push_into(redactor, bytes, &mut out);
        out.extend_from_slice(rest);
        out
    }

    /// Adds a piece. Appends redacted bytes that are ready to `out`, and returns those that follow and are an unaltered
    /// part of `bytes`. Most of a long body is returned, and not copied.
    pub(crate) fn push_into<'a>(&mut self, redactor: &Redactor, bytes: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        redactor.with(|context| self.pass(bytes, context, out))
    }

    /// Ends the body and returns the bytes that were held back.
    pub(crate) fn finish(self, redactor: &Redactor) -> Vec<u8> {
        let mut out = Vec::new();
        redactor.with(|context| self.end(context, &mut out));
        out
    }

    /// Whether no byte is held back.
    pub(crate) fn is_released(&self) -> bool {
        match &self.form {
            Form::Off => true,
            Form::Json(json) => json.is_released(),
            Form::Unknown(held) | Form::Whole(_, held) | Form::Text(held, _) => held.is_empty(),
            Form::Unread(digest) => digest.length() == 0,
        }
    }

    fn take(&mut self, bytes: &[u8], context: &mut RedactionContext<'_>, out: &mut Vec<u8>) {
        let rest = self.pass(bytes, context, out);
        out.extend_from_slice(rest);
    }

    /// As [`BodyRedactor::push_into`].
    fn pass<'a>(&mut self, bytes: &'a [u8], context: &mut RedactionContext<'_>, out: &mut Vec<u8>) -> &'a [u8] {
        let is_first = matches!(&self.form, Form::Unknown(begun) if begun.is_empty());
        if is_first && !bytes.starts_with(BOM) && (self.is_connection || is_detectable(bytes)) {
            self.form = self.detect(bytes, context.rules);
        }
        match &mut self.form {
            Form::Off => return bytes,
            Form::Unknown(begun) => {
                begun.extend_from_slice(bytes);
                if begun.starts_with(BOM) {
                    out.extend(begun.drain(..BOM.len()));
                }
                if self.is_connection || is_detectable(begun) {
                    let begun = std::mem::take(begun);
                    self.form = self.detect(&begun, context.rules);
                    self.take(&begun, context, out);
                }
            }
            Form::Json(json) => match json.push(bytes, context, out) {
                Ok(rest) => return rest,
                Err(error) => {
                    let has_secret = json.has_secret();
                    self.form = self.rest(has_secret);
                    self.take(&error.rest, context, out);
                }
            },
            Form::Whole(_, held) => {
                held.extend_from_slice(bytes);
                if held.len() > MAX_DOCUMENT_BYTES {
                    self.form = Form::Unread(digest(held));
                }
            }
            Form::Text(held, block) => {
                held.extend_from_slice(bytes);
                let ready = ready(held, context, *block);
                let rest = held.split_off(ready);
                let ready = std::mem::replace(held, rest);
                put(&ready, context, block, out);
                if held.len() > MAX_LINE_BYTES {
                    self.form = Form::Unread(digest(held));
                }
            }
            Form::Unread(digest) => digest.update(bytes),
        }
        &[]
    }

    fn end(mut self, context: &mut RedactionContext<'_>, out: &mut Vec<u8>) {
        if let Form::Unknown(begun) = &mut self.form {
            let begun = std::mem::take(begun);
            if begun.iter().all(u8::is_ascii_whitespace) {
                return out.extend_from_slice(&begun);
            }
            self.form = self.detect(&begun, context.rules);
            self.take(&begun, context, out);
        }
        match std::mem::replace(&mut self.form, Form::Off) {
            Form::Off | Form::Unknown(_) => {}
            Form::Json(mut json) => {
                let secret = json.is_within_secret() || matches!(self.rest(json.has_secret()), Form::Unread(_));
                if let Err(error) = json.finish(context, out) {
                    // A cut string may be a document, whose syntax cannot be read any more.
                    match secret || may_have_secret(&error.rest) || forms::open_user_info(&error.rest).is_some() {
                        true => unread(&error.rest, out),
                        false => put(&error.rest, context, &mut Block::default(), out),
                    }
                }
            }
            Form::Whole(form, held) => self.whole(form, held, context, out),
            Form::Text(held, mut block) => put_last(&held, context, &mut block, out),
            Form::Unread(digest) => {
                if digest.length() > 0 {
                    out.extend_from_slice(digest.text().as_bytes());
                }
            }
        }
    }

    fn whole(&self, form: Whole, mut held: Vec<u8>, context: &mut RedactionContext<'_>, out: &mut Vec<u8>) {
        let found = match form {
            Whole::Yaml => std::str::from_utf8(&held)
                .ok()
                .filter(|_| forms::open_user_info(&held).is_none())
                .and_then(|text| self.yaml(text, context)),
            Whole::Query => {
                let query = String::from_utf8_lossy(&held);
                Some(headers::query(&query, context).into_bytes())
            }
            Whole::Multipart => {
                let part = |content: &[u8], media_type: &str, context: &mut RedactionContext<'_>| {
                    self.inner(content, media_type, context)
                };
                let boundary = self.boundary.as_deref().unwrap_or_default();
                Some(encoded::multipart(&held, boundary, context, part))
            }
            Whole::Protobuf => protobuf::redact(&mut held, context).then(|| held.clone()),
            Whole::Gzip => encoded::gunzip(&held)
                .filter(|text| !self.of_secret && self.inner(text, "", context) == *text)
                .map(|_| held.clone()),
            Whole::Utf16 => {
                let text = encoded::utf16(&held);
                let clean = !self.of_secret && self.inner(text.as_bytes(), "", context) == text.as_bytes();
                clean.then(|| held.clone())
            }
            Whole::Rest => None,
        };
        let lost = match form {
            Whole::Yaml | Whole::Rest => self.of_secret || may_have_secret(&held),
            _ => true,
        };
        match found {
            Some(found) => out.extend_from_slice(&found),
            None if lost => unread(&held, out),
            None => put_last(&held, context, &mut Block::default(), out),
        }
    }

    /// Redacts YAML. The last line may be cut, and then no syntax.
    fn yaml(&self, text: &str, context: &mut RedactionContext<'_>) -> Option<Vec<u8>> {
        if let Some(found) = yaml::redact(text, self.of_secret, context, 0) {
            return Some(found.into_bytes());
        }
        let (lines, last) = text.split_at(text.rfind('\n')? + 1);
        let mut out = yaml::redact(lines, self.of_secret, context, 0)?.into_bytes();
        unread(last.as_bytes(), &mut out);
        Some(out)
    }

    /// Redacts a body within this one.
    fn inner(&self, body: &[u8], media_type: &str, context: &mut RedactionContext<'_>) -> Vec<u8> {
        let mut inner = Self {
            form: Form::Unknown(Vec::new()),
            of_secret: self.of_secret,
            media_type: media_type.to_owned(),
            boundary: None,
            is_connection: false,
        };
        let mut out = Vec::with_capacity(body.len());
        // Nested compression is not followed.
        if encoded::is_gzip(body) || encoded::is_utf16(body) {
            inner.form = Form::Unread(Digest::default());
        }
        inner.take(body, context, &mut out);
        inner.end(context, &mut out);
        out
    }

    /// Detects the format from the beginning of a body.
    fn detect(&self, bytes: &[u8], rules: &Arc<Redaction>) -> Form {
        let text = bytes.trim_ascii_start();
        let is_yaml = self.media_type.contains("yaml");
        let whole = |form| Form::Whole(form, Vec::new());
        if (text.starts_with(b"{") || text.starts_with(b"[")) && !is_yaml {
            let structure = Structure::new(rules.clone(), self.of_secret);
            return Form::Json(Box::new(Json::new(structure, 0)));
        }
        if text.starts_with(b"k8s\0") || self.media_type == "application/vnd.kubernetes.protobuf" {
            return whole(Whole::Protobuf);
        }
        if self.is_connection {
            return Form::Text(Vec::new(), Block::None);
        }
        if encoded::is_gzip(bytes) {
            return whole(Whole::Gzip);
        }
        if encoded::is_utf16(bytes) {
            return whole(Whole::Utf16);
        }
        let starts = |line: &[u8]| {
            [&b"kind:"[..], b"apiVersion:", b"---"]
                .iter()
                .any(|mark| line.starts_with(mark))
        };
        // A multipart form can begin like YAML.
        if self.boundary.is_some() {
            return whole(Whole::Multipart);
        }
        if is_yaml || starts(text) || text.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"kind:")) {
            return whole(Whole::Yaml);
        }
        if self.media_type == "application/x-www-form-urlencoded" {
            return whole(Whole::Query);
        }
        match self.of_secret {
            true => Form::Unread(Digest::default()),
            false => Form::Text(Vec::new(), Block::None),
        }
    }

    /// The format of the rest after a syntax error in JSON.
    fn rest(&self, has_secret: bool) -> Form {
        let is_text = self.is_connection || !(self.media_type.is_empty() || self.media_type.contains("json"));
        match () {
            () if self.of_secret || (has_secret && !is_text) => Form::Unread(Digest::default()),
            () if is_text => Form::Text(Vec::new(), Block::None),
            () => Form::Whole(Whole::Rest, Vec::new()),
        }
    }
}

/// Whether a path is that of Secrets.
fn is_of_secrets(path: &str) -> bool {
    let decoded = |segment: &str| {
        url::form_urlencoded::parse(format!("v={segment}").as_bytes())
            .next()
            .is_some_and(|(_, decoded)| decoded == "secrets")
    };
    path.split('/')
        .any(|segment| segment == "secrets" || (segment.contains('%') && decoded(segment)))
}

/// Whether there are enough bytes to detect the format.
fn is_detectable(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    match text.first() {
        None => bytes.len() > MAX_LEADING_SPACE,
        Some(b'{' | b'[') => true,
        Some(_) => text.contains(&b'\n') || text.len() >= MIN_DETECTED_BYTES,
    }
}

/// Whether bytes that cannot be parsed may be a Secret.
fn may_have_secret(bytes: &[u8]) -> bool {
    let bytes = bytes.to_ascii_lowercase();
    let has = |word: &str| memchr::memmem::find(&bytes, word.as_bytes()).is_some();
    has("secret") || has("data") || has("\\u00")
}

/// Length of the part of a text that can be released before more is added.
fn ready(held: &[u8], context: &mut RedactionContext<'_>, block: Block) -> usize {
    let wait = text::unfinished(held, context, block);
    let ready = held.len() - wait;
    let rest = held.get(ready..).unwrap_or_default();
    let is_word = || !rest.iter().any(u8::is_ascii_whitespace) && !text::is_marked(rest, context.rules);
    if wait > MAX_WORD_BYTES && block == Block::None && is_word() {
        return context.secrets.boundary(held, held.len() - MAX_WORD_BYTES);
    }
    ready
}

fn put(bytes: &[u8], context: &mut RedactionContext<'_>, block: &mut Block, out: &mut Vec<u8>) {
    match document::bytes(bytes, context, block) {
        Some(found) => out.extend_from_slice(&found),
        None => out.extend_from_slice(bytes),
    }
}

/// As [`put`], for the end of a text, which may be cut.
fn put_last(bytes: &[u8], context: &mut RedactionContext<'_>, block: &mut Block, out: &mut Vec<u8>) {
    let (text, cut) = bytes.split_at(forms::open_user_info(bytes).unwrap_or(bytes.len()));
    put(text, context, block, out);
    unread(cut, out);
}

fn digest(bytes: &[u8]) -> Digest {
    let mut digest = Digest::default();
    digest.update(bytes);
    digest
}

fn unread(bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.is_empty() {
        out.extend_from_slice(digest(bytes).text().as_bytes());
    }
}
