//! Takes secrets out of interactions before they reach the disk.
//!
//! Promises: a value that a rule names becomes a placeholder of its length, `redacted-N` filled up with `~`, the same
//! secret the same N throughout a cassette, as base64 if it was base64; a secret that was seen once is found wherever it
//! comes again: in any header, URL, body or frame, plain, as base64 at any alignment, percent-encoded, in hexadecimal or
//! escaped, and across the bounds of pieces. JSON keeps its syntax however it is cut. What cannot be read on a path of
//! Secrets is replaced by its length and hash.
//! Limits: what came before a secret was known as one is found by [`scrub`], which goes over a cassette twice, and not
//! while recording; values of fewer than 8 characters, or that could be any word, are taken out only where a rule
//! names them, and so are those that were seen after 8 MiB of spellings of others; up to 100,000 secrets have numbers of their own.
//! Deliberately kept: the names of objects, Secrets' among them; keys;
//! certificates; values of names that say where a secret is (`secretName`, `password_file`); booleans and counts.
//! Source: RFC 9110, section 11 (credentials); the API's Secret; the credentials of kubeconfig and docker config files.

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
pub(crate) use secret_index::telling;
use std::sync::Arc;

/// Takes secrets out, and remembers them.
#[derive(Debug)]
pub(crate) struct Redactor {
    rules: Arc<Redaction>,
    secrets: Mutex<SecretIndex>,
}

impl Redactor {
    /// A redactor by these rules.
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

    /// Whether it does nothing.
    pub(crate) fn is_off(&self) -> bool {
        self.rules.is_none()
    }

    /// The names of the rules for the header of a cassette.
    pub(crate) fn describe(&self) -> Vec<String> {
        self.rules.describe()
    }

    /// A request without its secrets.
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

    /// The headers of a request or a response without their secrets.
    pub(crate) fn headers(&self, headers: &Headers) -> Headers {
        if self.is_off() {
            return headers.clone();
        }
        let field = |(name, value): &(String, String)| {
            (name.clone(), self.with(|context| headers::header(name, value, context)))
        };
        Headers(headers.0.iter().map(field).collect())
    }

    /// A body without its secrets. `path` is that of the request, `failed` whether it is the response to one that failed.
    pub(crate) fn body(&self, body: &Bytes, headers: &Headers, path: &str, failed: bool) -> Bytes {
        if self.is_off() || body.is_empty() {
            return body.clone();
        }
        let mut pieces = BodyRedactor::new(self, headers, path, failed);
        let mut out = pieces.push(self, body);
        out.append(&mut pieces.finish(self));
        out.into()
    }

    /// A text without its secrets, such as that of an error or a message.
    pub(crate) fn text(&self, text: &str) -> String {
        if self.is_off() {
            return text.to_owned();
        }
        self.with(|context| document::redact(text, context, 0))
            .unwrap_or_else(|| text.to_owned())
    }

    /// A URL, or its path and query, without its secrets.
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

/// Takes the secrets out of a cassette, and names the rules in its header.
pub(crate) fn scrub(cassette: &mut Cassette, rules: Redaction) {
    let redactor = Redactor::new(rules);
    if redactor.is_off() {
        return;
    }
    redactor.secrets.lock().avoid(&crate::format::to_string(cassette));
    // Once to learn what is secret, once more for what came before it was known.
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
