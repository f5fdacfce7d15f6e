//! Bodies without their secrets, in pieces of any size.
//!
//! A body is read by its form: JSON as structure, YAML as a whole document, forms by their parameters, protobuf by its
//! fields, everything else as text. On a path of Secrets, what cannot be read is replaced by its length and hash.

use super::Redactor;
use super::headers;
use super::json::Json;
use super::protobuf;
use super::redaction::Redaction;
use super::structure::Structure;
use super::text::{self, Knowledge};
use super::yaml;
use crate::interaction::{Digest, Headers};
use std::sync::Arc;

/// A longer document in YAML or protobuf is replaced by its length and hash.
const LONGEST_DOCUMENT: usize = 8 << 20;

/// A longer line with the beginning of what may be a secret is replaced by its length and hash.
const LONGEST_LINE: usize = 1 << 20;

/// A longer word is passed on before its end.
const LONGEST_WORD: usize = 4 << 10;

/// How much space may come before a document.
const LONGEST_SPACE: usize = 4 << 10;

/// A body on its way through a redactor.
#[derive(Debug)]
pub(crate) struct BodyRedactor {
    form: Form,
    /// Whether the path and the status say that there is the data of a Secret.
    of_secret: bool,
    media_type: String,
}

#[derive(Debug)]
enum Form {
    /// Only white space was received.
    Unknown(Vec<u8>),
    /// Nothing is secret.
    Off,
    Json(Box<Json>),
    Yaml(Vec<u8>),
    Query(Vec<u8>),
    Protobuf(Vec<u8>),
    /// What is held back of a text.
    Text(Vec<u8>),
    /// What cannot be read.
    Unread(Digest),
}

impl BodyRedactor {
    /// The body of a request or response. `path` is that of the request; a body on a path of Secrets has the data of
    /// one, unless it is the response to a request that failed.
    pub(crate) fn new(redactor: &Redactor, headers: &Headers, path: &str, failed: bool) -> Self {
        let of_secret = redactor.rules.defaults && !failed && path.split('/').any(|segment| segment == "secrets");
        let media_type = headers.media_type().to_ascii_lowercase();
        let form = match media_type.as_str() {
            _ if redactor.is_off() => Form::Off,
            "application/x-www-form-urlencoded" => Form::Query(Vec::new()),
            "application/vnd.kubernetes.protobuf" => Form::Protobuf(Vec::new()),
            _ => Form::Unknown(Vec::new()),
        };
        Self {
            form,
            of_secret,
            media_type,
        }
    }

    /// More of it; returns what is ready.
    pub(crate) fn push(&mut self, redactor: &Redactor, bytes: &[u8]) -> Vec<u8> {
        let mut known = redactor.known.lock();
        let mut knowledge = Knowledge {
            rules: &redactor.rules,
            known: &mut known,
        };
        let mut out = Vec::with_capacity(bytes.len());
        self.take(bytes, &mut knowledge, &mut out);
        out
    }

    /// Its end; returns what was held back.
    pub(crate) fn finish(self, redactor: &Redactor) -> Vec<u8> {
        let mut known = redactor.known.lock();
        let mut knowledge = Knowledge {
            rules: &redactor.rules,
            known: &mut known,
        };
        let mut out = Vec::new();
        self.end(&mut knowledge, &mut out);
        out
    }

    fn take(&mut self, bytes: &[u8], knowledge: &mut Knowledge<'_>, out: &mut Vec<u8>) {
        match &mut self.form {
            Form::Off => out.extend_from_slice(bytes),
            Form::Unknown(space) => {
                space.extend_from_slice(bytes);
                let blank = space.iter().all(u8::is_ascii_whitespace);
                if !blank || space.len() > LONGEST_SPACE {
                    let begun = std::mem::take(space);
                    self.form = self.recognized(&begun, knowledge.rules);
                    self.take(&begun, knowledge, out);
                }
            }
            Form::Json(json) => {
                if let Err(broken) = json.push(bytes, knowledge, out) {
                    self.form = self.unread();
                    self.take(&broken.rest, knowledge, out);
                }
            }
            Form::Yaml(held) | Form::Query(held) | Form::Protobuf(held) => {
                held.extend_from_slice(bytes);
                if held.len() > LONGEST_DOCUMENT {
                    let mut digest = Digest::default();
                    digest.update(held);
                    self.form = Form::Unread(digest);
                }
            }
            Form::Text(held) => {
                held.extend_from_slice(bytes);
                let wait = text::unfinished(held, knowledge);
                let is_word = |wait: usize| {
                    held.get(held.len() - wait..).is_some_and(|rest| {
                        !rest.iter().any(u8::is_ascii_whitespace) && !text::is_marked(rest, knowledge.rules)
                    })
                };
                let wait = if wait > LONGEST_WORD && is_word(wait) {
                    LONGEST_WORD
                } else {
                    wait
                };
                let rest = held.split_off(held.len() - wait);
                let ready = std::mem::replace(held, rest);
                put(&ready, knowledge, out);
                if held.len() > LONGEST_LINE {
                    let mut digest = Digest::default();
                    digest.update(held);
                    self.form = Form::Unread(digest);
                }
            }
            Form::Unread(digest) => digest.update(bytes),
        }
    }

    fn end(self, knowledge: &mut Knowledge<'_>, out: &mut Vec<u8>) {
        match self.form {
            Form::Off => {}
            Form::Unknown(space) => out.extend_from_slice(&space),
            Form::Json(mut json) => {
                let secret = self.of_secret || json.is_within_secret();
                if let Err(broken) = json.finish(knowledge, out) {
                    match secret {
                        true => unread(&broken.rest, out),
                        false => put(&broken.rest, knowledge, out),
                    }
                }
            }
            Form::Yaml(held) => {
                let found = std::str::from_utf8(&held)
                    .ok()
                    .and_then(|text| yaml::redact(text, self.of_secret, knowledge, 0));
                match found {
                    Some(text) => out.extend_from_slice(text.as_bytes()),
                    None if self.of_secret => unread(&held, out),
                    None => put(&held, knowledge, out),
                }
            }
            Form::Query(held) => {
                let query = String::from_utf8_lossy(&held);
                out.extend_from_slice(headers::query(&query, knowledge).as_bytes());
            }
            Form::Protobuf(mut held) => match protobuf::redact(&mut held, knowledge) {
                true => out.extend_from_slice(&held),
                false if self.of_secret => unread(&held, out),
                false => put(&held, knowledge, out),
            },
            Form::Text(held) => put(&held, knowledge, out),
            Form::Unread(digest) => {
                if digest.length() > 0 {
                    out.extend_from_slice(digest.text().as_bytes());
                }
            }
        }
    }

    /// The form of a body that begins so.
    fn recognized(&self, bytes: &[u8], rules: &Arc<Redaction>) -> Form {
        let text = bytes.trim_ascii_start();
        if text.starts_with(b"{") || text.starts_with(b"[") {
            let structure = Structure::new(rules.clone(), self.of_secret);
            return Form::Json(Box::new(Json::new(structure, 0)));
        }
        if text.starts_with(b"k8s\0") {
            return Form::Protobuf(Vec::new());
        }
        let starts = |line: &[u8]| {
            [&b"kind:"[..], b"apiVersion:", b"---"]
                .iter()
                .any(|mark| line.starts_with(mark))
        };
        if self.media_type.contains("yaml")
            || starts(text)
            || text.split(|byte| *byte == b'\n').any(|l| l.starts_with(b"kind:"))
        {
            return Form::Yaml(Vec::new());
        }
        self.unread()
    }

    /// The form of what is in no form that can be read.
    fn unread(&self) -> Form {
        match self.of_secret {
            true => Form::Unread(Digest::default()),
            false => Form::Text(Vec::new()),
        }
    }
}

fn put(bytes: &[u8], knowledge: &mut Knowledge<'_>, out: &mut Vec<u8>) {
    match text::redact_bytes(bytes, knowledge) {
        Some(found) => out.extend_from_slice(&found),
        None => out.extend_from_slice(bytes),
    }
}

fn unread(bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.is_empty() {
        let mut digest = Digest::default();
        digest.update(bytes);
        out.extend_from_slice(digest.text().as_bytes());
    }
}
