//! Bodies without their secrets, in pieces of any size.
//!
//! A body is read by its form, whatever media type it names: JSON as structure, YAML as a whole document, forms by their
//! parameters, protobuf by its fields, everything else as text. What cannot be read is replaced by its length and hash on
//! a path of Secrets, and where it may have a Secret in it.

use super::Redactor;
use super::blocks::Block;
use super::context::RedactionContext;
use super::document;
use super::encoded;
use super::headers;
use super::json::Json;
use super::protobuf;
use super::redaction::Redaction;
use super::structure::Structure;
use super::text;
use super::yaml;
use crate::interaction::{Digest, Headers};
use std::sync::Arc;

/// A longer document that is read as a whole is replaced by its length and hash.
const LONGEST_DOCUMENT: usize = 8 << 20;

/// A longer line with the beginning of what may be a secret is replaced by its length and hash.
const LONGEST_LINE: usize = 1 << 20;

/// A longer word is passed on before its end.
const LONGEST_WORD: usize = 4 << 10;

/// How much space may come before a document.
const LONGEST_SPACE: usize = 4 << 10;

/// How much of a body must be there, unless a line is, to recognize its form.
const RECOGNIZED: usize = 256;

/// The mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A body on its way through a redactor.
#[derive(Debug)]
pub(crate) struct BodyRedactor {
    form: Form,
    /// Whether the path and the status say that there is the data of a Secret.
    of_secret: bool,
    media_type: String,
    /// Where the parts of a form are divided.
    boundary: Option<String>,
    /// Whether it is of an upgraded connection, in which documents and other text follow one another.
    running: bool,
}

#[derive(Debug)]
enum Form {
    /// Not enough was received.
    Unknown(Vec<u8>),
    /// Nothing is secret.
    Off,
    Json(Box<Json>),
    /// What is read as a whole.
    Whole(Whole, Vec<u8>),
    /// What is held back of a text, and the block that it is in.
    Text(Vec<u8>, Block),
    /// What cannot be read.
    Unread(Digest),
}

/// The forms that are read as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Yaml,
    Query,
    Multipart,
    Protobuf,
    Gzip,
    Utf16,
    /// The rest of JSON that turned out to be none.
    Rest,
}

impl BodyRedactor {
    /// The body of a request or response. `path` is that of the request; a body on a path of Secrets has the data of
    /// one, unless it is the response to a request that failed.
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
            running: false,
        }
    }

    /// One direction of an upgraded connection.
    pub(crate) fn running(redactor: &Redactor) -> Self {
        Self {
            running: true,
            ..Self::new(redactor, &Headers::default(), "", false)
        }
    }

    /// More of it; returns what is ready.
    pub(crate) fn push(&mut self, redactor: &Redactor, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let rest = self.push_into(redactor, bytes, &mut out);
        out.extend_from_slice(rest);
        out
    }

    /// Adds more of it. Appends what is ready to `out`, but for the last part that is ready: a range of `bytes`, which is
    /// returned. Most of a long body is that part, and is not copied.
    pub(crate) fn push_into<'a>(&mut self, redactor: &Redactor, bytes: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        redactor.with(|context| self.pass(bytes, context, out))
    }

    /// Its end; returns what was held back.
    pub(crate) fn finish(self, redactor: &Redactor) -> Vec<u8> {
        let mut out = Vec::new();
        redactor.with(|context| self.end(context, &mut out));
        out
    }

    fn take(&mut self, bytes: &[u8], context: &mut RedactionContext<'_>, out: &mut Vec<u8>) {
        let rest = self.pass(bytes, context, out);
        out.extend_from_slice(rest);
    }

    /// As [`BodyRedactor::push_into`].
    fn pass<'a>(&mut self, bytes: &'a [u8], context: &mut RedactionContext<'_>, out: &mut Vec<u8>) -> &'a [u8] {
        let is_first = matches!(&self.form, Form::Unknown(begun) if begun.is_empty());
        if is_first && !bytes.starts_with(MARK) && (self.running || is_recognizable(bytes)) {
            self.form = self.recognized(bytes, context.rules);
        }
        match &mut self.form {
            Form::Off => return bytes,
            Form::Unknown(begun) => {
                begun.extend_from_slice(bytes);
                if begun.starts_with(MARK) {
                    out.extend(begun.drain(..MARK.len()));
                }
                if self.running || is_recognizable(begun) {
                    let begun = std::mem::take(begun);
                    self.form = self.recognized(&begun, context.rules);
                    self.take(&begun, context, out);
                }
            }
            Form::Json(json) => match json.push(bytes, context, out) {
                Ok(rest) => return rest,
                Err(broken) => {
                    let has_secret = json.has_secret();
                    self.form = self.rest(has_secret);
                    self.take(&broken.rest, context, out);
                }
            },
            Form::Whole(_, held) => {
                held.extend_from_slice(bytes);
                if held.len() > LONGEST_DOCUMENT {
                    self.form = Form::Unread(digest(held));
                }
            }
            Form::Text(held, block) => {
                held.extend_from_slice(bytes);
                let ready = ready(held, context, *block);
                let rest = held.split_off(ready);
                let ready = std::mem::replace(held, rest);
                put(&ready, context, block, out);
                if held.len() > LONGEST_LINE {
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
            self.form = self.recognized(&begun, context.rules);
            self.take(&begun, context, out);
        }
        match std::mem::replace(&mut self.form, Form::Off) {
            Form::Off | Form::Unknown(_) => {}
            Form::Json(mut json) => {
                let secret = json.is_within_secret() || matches!(self.rest(json.has_secret()), Form::Unread(_));
                if let Err(broken) = json.finish(context, out) {
                    match secret {
                        true => unread(&broken.rest, out),
                        false => put(&broken.rest, context, &mut Block::default(), out),
                    }
                }
            }
            Form::Whole(form, held) => self.whole(form, held, context, out),
            Form::Text(held, mut block) => put(&held, context, &mut block, out),
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
                .and_then(|text| yaml::redact(text, self.of_secret, context, 0))
                .map(String::into_bytes),
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
            None => put(&held, context, &mut Block::default(), out),
        }
    }

    /// A body within this one, without its secrets.
    fn inner(&self, body: &[u8], media_type: &str, context: &mut RedactionContext<'_>) -> Vec<u8> {
        let mut inner = Self {
            form: Form::Unknown(Vec::new()),
            of_secret: self.of_secret,
            media_type: media_type.to_owned(),
            boundary: None,
            running: false,
        };
        let mut out = Vec::with_capacity(body.len());
        // What is compressed in it again is not followed further.
        if encoded::is_gzip(body) || encoded::is_utf16(body) {
            inner.form = Form::Unread(Digest::default());
        }
        inner.take(body, context, &mut out);
        inner.end(context, &mut out);
        out
    }

    /// The form of a body that begins so.
    fn recognized(&self, bytes: &[u8], rules: &Arc<Redaction>) -> Form {
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
        if self.running {
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
        // A form in parts begins as YAML may.
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

    /// The form of the rest of JSON that turned out to be none.
    fn rest(&self, has_secret: bool) -> Form {
        let is_text = self.running || !(self.media_type.is_empty() || self.media_type.contains("json"));
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

/// Whether enough of a body is there to recognize its form.
fn is_recognizable(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    match text.first() {
        None => bytes.len() > LONGEST_SPACE,
        Some(b'{' | b'[') => true,
        Some(_) => text.contains(&b'\n') || text.len() >= RECOGNIZED,
    }
}

/// Whether what cannot be read may be a Secret.
fn may_have_secret(bytes: &[u8]) -> bool {
    let bytes = bytes.to_ascii_lowercase();
    let has = |word: &str| memchr::memmem::find(&bytes, word.as_bytes()).is_some();
    has("secret") || has("data") || has("\\u00")
}

/// How much of a text can be passed on before more of it comes.
fn ready(held: &[u8], context: &mut RedactionContext<'_>, block: Block) -> usize {
    let wait = text::unfinished(held, context, block);
    let ready = held.len() - wait;
    let rest = held.get(ready..).unwrap_or_default();
    let is_word = || !rest.iter().any(u8::is_ascii_whitespace) && !text::is_marked(rest, context.rules);
    if wait > LONGEST_WORD && block == Block::None && is_word() {
        return context.secrets.boundary(held, held.len() - LONGEST_WORD);
    }
    ready
}

fn put(bytes: &[u8], context: &mut RedactionContext<'_>, block: &mut Block, out: &mut Vec<u8>) {
    match document::bytes(bytes, context, block) {
        Some(found) => out.extend_from_slice(&found),
        None => out.extend_from_slice(bytes),
    }
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
