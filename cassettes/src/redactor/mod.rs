//! Redaction: replaces secrets in interactions before they are written to the disk.
//!
//! Guarantees:
//! - A value that matches a rule is replaced with a placeholder of its length, `redacted-N` padded with `~`, in base64
//!   if the value was base64. The same secret has the same N in the whole cassette.
//! - A known secret is found everywhere: in any header, URL, body or frame, plain, in base64 at any alignment,
//!   percent-encoded, in hexadecimal or escaped, and across the boundaries of pieces.
//! - JSON keeps its syntax however it is split.
//! - A body on a path of Secrets that cannot be parsed is replaced with its length and hash.
//!
//! Limits:
//! - Occurrences before a secret is known are found by [`scrub`], which makes two passes, but not while recording.
//! - Values of fewer than 8 characters, values that could be a common word, and values first seen after 8 MiB of
//!   spellings of others are replaced only where they match a rule.
//! - At most 100,000 secrets have their own number.
//!
//! Kept deliberately: names of objects, including Secrets; keys; certificates; values of names that locate a secret
//! (`secretName`, `password_file`); booleans and counts.
//!
//! Source: RFC 9110, section 11 (credentials); the API's Secret; credentials in kubeconfig and docker config files.

mod blocks;
mod body;
mod clean_texts;
mod commands;
mod context;
mod conversation;
mod document;
mod encoded;
mod forms;
mod headers;
mod items;
mod json;
mod json_input;
mod json_output;
mod json_string;
mod keys;
mod markup;
mod named;
mod names;
mod protobuf;
mod redaction;
mod repeats;
mod secret_index;
mod sieve;
mod spellings;
mod structure;
#[cfg(test)]
mod tests;
mod text;
mod words;
mod yaml;

pub(crate) use body::BodyRedactor;
pub(crate) use conversation::Conversation;
pub use redaction::{Redaction, RedactionError};

use crate::interaction::{Cassette, Headers, Interaction, Outcome, Payload, Request, Response};
use bytes::Bytes;
use context::RedactionContext;
use parking_lot::Mutex;
use secret_index::SecretIndex;
pub(crate) use secret_index::is_distinct;
use std::sync::Arc;

/// The redaction rules and the known secrets.
#[derive(Debug)]
pub(crate) struct Redactor {
    rules: Arc<Redaction>,
    secrets: Mutex<SecretIndex>,
}

impl Redactor {
    /// A redactor with these rules.
    pub(crate) fn new(rules: Redaction) -> Self {
        let mut secrets = SecretIndex::default();
        for secret in &rules.literals {
            secrets.number(secret.as_bytes(), true);
        }
        Self {
            rules: Arc::new(rules),
            secrets: Mutex::new(secrets),
        }
    }

    /// Whether nothing is redacted.
    pub(crate) fn is_off(&self) -> bool {
        self.rules.is_none()
    }

    /// The names of the rules for the header of a cassette.
    pub(crate) fn describe(&self) -> Vec<String> {
        self.rules.describe()
    }

    /// Redacts a request.
    pub(crate) fn request(&self, request: &Request) -> Request {
        if self.is_off() {
            return request.clone();
        }
        let headers = self.headers(&request.headers);
        let body = request
            .body
            .as_ref()
            .map(|body| self.body(body, &request.headers, request.path(), false));
        Request {
            url: self.url(&request.url),
            headers,
            body,
            ..request.clone()
        }
    }

    /// Redacts header fields.
    pub(crate) fn headers(&self, headers: &Headers) -> Headers {
        if self.is_off() {
            return headers.clone();
        }
        let field = |(name, value): &(String, String)| {
            (name.clone(), self.with(|context| headers::header(name, value, context)))
        };
        Headers(headers.0.iter().map(field).collect())
    }

    /// Redacts a body. `path` is that of the request; `failed` is whether it is an error response.
    pub(crate) fn body(&self, body: &Bytes, headers: &Headers, path: &str, failed: bool) -> Bytes {
        if self.is_off() || body.is_empty() {
            return body.clone();
        }
        let mut pieces = BodyRedactor::new(self, headers, path, failed);
        let mut out = pieces.push(self, body);
        out.append(&mut pieces.finish(self));
        out.into()
    }

    /// Redacts a text, such as an error message.
    pub(crate) fn text(&self, text: &str) -> String {
        if self.is_off() {
            return text.to_owned();
        }
        self.with(|context| document::redact(text, context, 0))
            .unwrap_or_else(|| text.to_owned())
    }

    /// Redacts a URL, or path and query.
    pub(crate) fn url(&self, url: &str) -> String {
        if self.is_off() {
            return url.to_owned();
        }
        self.with(|context| headers::url(url, context))
    }

    fn with<T>(&self, work: impl FnOnce(&mut RedactionContext<'_>) -> T) -> T {
        let mut secrets = self.secrets.lock();
        work(&mut RedactionContext {
            rules: &self.rules,
            secrets: &mut secrets,
            search: document::redact,
        })
    }

    fn interaction(&self, interaction: &mut Interaction) {
        let path = interaction.request.path().to_owned();
        interaction.request = self.request(&interaction.request);
        interaction.note = interaction.note.as_ref().map(|note| self.text(note));
        match &mut interaction.outcome {
            Outcome::Failure(failure) => failure.text = self.text(&failure.text),
            Outcome::Response(response) => self.response(response, &path),
        }
    }

    fn response(&self, response: &mut Response, path: &str) {
        let failed = response.status >= 400;
        let original = response.headers.clone();
        response.headers = self.headers(&response.headers);
        response.trailers = self.headers(&response.trailers);
        response.cut = response.cut.as_ref().map(|cut| self.text(cut));
        match &mut response.payload {
            Payload::Body(body) => *body = self.body(body, &original, path, failed),
            Payload::Messages(messages) => {
                let mut conversation = Conversation::new(&original, path);
                let mut ready = Vec::with_capacity(messages.len());
                for message in messages.iter() {
                    ready.extend(conversation.push(self, message));
                }
                ready.extend(conversation.finish(self));
                *messages = ready;
            }
            Payload::Stream(frames) => {
                let mut pieces = BodyRedactor::new(self, &original, path, failed);
                for frame in frames.iter_mut() {
                    frame.data = pieces.push(self, &frame.data).into();
                }
                let rest = pieces.finish(self);
                if let Some(last) = frames.last_mut() {
                    last.data = [&last.data[..], &rest[..]].concat().into();
                }
                frames.retain(|frame| !frame.data.is_empty());
            }
        }
    }
}

/// Redacts a cassette and adds the names of the rules to its header.
pub(crate) fn scrub(cassette: &mut Cassette, rules: Redaction) {
    let redactor = Redactor::new(rules);
    if redactor.is_off() {
        return;
    }
    redactor
        .secrets
        .lock()
        .reserve_numbers(&crate::format::to_string(cassette));
    // The first pass learns the secrets, the second finds earlier occurrences.
    for _ in 0..2 {
        cassette
            .interactions
            .iter_mut()
            .for_each(|interaction| redactor.interaction(interaction));
    }
    let header = &mut cassette.header;
    header.upstream = header.upstream.as_ref().map(|upstream| redactor.url(upstream));
    header.comment = header.comment.as_ref().map(|comment| redactor.text(comment));
    for rule in redactor.describe() {
        if !header.redactions.contains(&rule) {
            header.redactions.push(rule);
        }
    }
}
