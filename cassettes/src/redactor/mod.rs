//! Takes secrets out of interactions before they reach the disk.
//!
//! Promises: a value that a rule names becomes `redacted-N`, the same secret the same N throughout a cassette, as
//! base64 where it was base64; a secret that was seen once is found wherever it comes again: in any header, URL, body
//! or frame, plain, as base64 at any alignment, percent-encoded or escaped, and across the bounds of chunks.
//! Limits: what came before a secret was known as one is found by [`scrub`], which goes over a cassette twice, and not
//! while recording; values of fewer than 8 characters, or that could be any word, are taken out only where a rule
//! names them; up to 100,000 secrets are told apart.
//! Source: RFC 9110, section 11 (credentials); the API's Secret; the credentials of kubeconfig and docker config files.

mod known;
mod rules;
mod stream;
mod tree;
mod walk;

pub use rules::{Rules, RulesError};
pub use stream::Tail;

use crate::interaction::{Answer, Cassette, Data, Headers, Interaction, Message, Outcome, Payload, Request};
use bytes::Bytes;
use known::Known;
use parking_lot::Mutex;
use std::borrow::Cow;

/// Takes secrets out, and remembers them.
#[derive(Debug)]
pub struct Redactor {
    rules: Rules,
    known: Mutex<Known>,
}

impl Redactor {
    /// A redactor by these rules.
    pub fn new(rules: Rules) -> Self {
        let mut known = Known::default();
        for secret in &rules.literals {
            known.number(secret.as_bytes(), true);
        }
        Self {
            rules,
            known: Mutex::new(known),
        }
    }

    /// Whether it does nothing.
    pub fn is_off(&self) -> bool {
        self.rules.is_none()
    }

    /// What the header of a cassette says of the rules.
    pub fn describe(&self) -> Vec<String> {
        self.rules.describe()
    }

    /// A request without its secrets.
    pub fn request(&self, request: &Request) -> Request {
        if self.is_off() {
            return request.clone();
        }
        let headers = self.headers(&request.headers);
        let body = request
            .body
            .as_ref()
            .map(|body| self.body(body, &request.headers, request.path()));
        Request {
            url: self.url(&request.url),
            headers,
            body,
            ..request.clone()
        }
    }

    /// The headers of a request or an answer without their secrets.
    pub fn headers(&self, headers: &Headers) -> Headers {
        if self.is_off() {
            return headers.clone();
        }
        Headers(
            headers
                .0
                .iter()
                .map(|(name, value)| (name.clone(), self.header(name, value)))
                .collect(),
        )
    }

    /// A body without its secrets. `path` is that of the request, which says whether a patch is one of a Secret.
    pub fn body(&self, body: &Bytes, headers: &Headers, path: &str) -> Bytes {
        if self.is_off() || body.is_empty() {
            return body.clone();
        }
        let hinted = self.rules.hinted(body);
        if !hinted && self.rules.only_default() && self.known.lock().is_empty() && !path.contains("secrets") {
            return body.clone();
        }
        let Ok(text) = std::str::from_utf8(body) else {
            return self.known.lock().bytes(body).map_or_else(|| body.clone(), Bytes::from);
        };
        let mut known = self.known.lock();
        let form = headers.media_type() == "application/x-www-form-urlencoded";
        let text = match form {
            true => Cow::Owned(self.rules.query(text, &mut known)),
            false => walk::text(text, &self.rules, hinted, (path, headers.media_type()), &mut known),
        };
        let text = self.rules.patterns(text, hinted, &mut known);
        match known.text(&text) {
            Some(text) => text.into(),
            None => match text {
                Cow::Borrowed(_) => body.clone(),
                Cow::Owned(text) => text.into(),
            },
        }
    }

    /// A text without its secrets, such as that of an error or a message.
    pub fn text(&self, text: &str) -> String {
        let body = self.body(&Bytes::copy_from_slice(text.as_bytes()), &Headers::default(), "");
        String::from_utf8_lossy(&body).into_owned()
    }

    /// A URL, or its path and query, without its secrets.
    pub fn url(&self, url: &str) -> String {
        if self.is_off() {
            return url.to_owned();
        }
        let mut known = self.known.lock();
        let (url, fragment) = url
            .split_once('#')
            .map_or((url, None), |(url, fragment)| (url, Some(fragment)));
        let mut out = match url.split_once('?') {
            Some((path, query)) => format!("{path}?{}", self.rules.query(query, &mut known)),
            None => url.to_owned(),
        };
        if let Some(fragment) = fragment {
            out = format!("{out}#{fragment}");
        }
        let hinted = self.rules.hinted(out.as_bytes());
        let out = self.rules.patterns(Cow::Owned(out), hinted, &mut known);
        known.text(&out).unwrap_or_else(|| out.into_owned())
    }

    /// A message of an upgraded connection without its secrets.
    pub fn message(&self, message: &Message) -> Message {
        let bytes = |bytes: &Bytes| self.body(bytes, &Headers::default(), "");
        let data = match &message.data {
            Data::Text(text) => Data::Text(self.text(text)),
            Data::Binary(data) => Data::Binary(bytes(data)),
            Data::Ping(data) => Data::Ping(bytes(data)),
            Data::Pong(data) => Data::Pong(bytes(data)),
            Data::Close(close) => Data::Close(close.as_ref().map(|(code, reason)| (*code, self.text(reason)))),
        };
        Message {
            data,
            ..message.clone()
        }
    }

    fn header(&self, name: &str, value: &str) -> String {
        let mut known = self.known.lock();
        let value = self.rules.header(name, value, &mut known);
        let value = match value {
            Cow::Borrowed(value) if value.contains('?') && value.contains("/") => {
                let (path, query) = value.split_once('?').unwrap_or((value, ""));
                Cow::Owned(format!("{path}?{}", self.rules.query(query, &mut known)))
            }
            value => value,
        };
        let hinted = self.rules.hinted(value.as_bytes());
        let value = self.rules.patterns(value, hinted, &mut known);
        known.text(&value).unwrap_or_else(|| value.into_owned())
    }

    fn interaction(&self, interaction: &mut Interaction) {
        let path = interaction.request.path().to_owned();
        interaction.request = self.request(&interaction.request);
        interaction.note = interaction.note.as_ref().map(|note| self.text(note));
        match &mut interaction.outcome {
            Outcome::Failure(failure) => failure.text = self.text(&failure.text),
            Outcome::Answer(answer) => self.answer(answer, &path),
        }
    }

    fn answer(&self, answer: &mut Answer, path: &str) {
        answer.headers = self.headers(&answer.headers);
        answer.cut = answer.cut.as_ref().map(|cut| self.text(cut));
        let headers = answer.headers.clone();
        match &mut answer.payload {
            Payload::Body(body) => *body = self.body(body, &headers, path),
            Payload::Messages(messages) => {
                for message in messages {
                    *message = self.message(message);
                }
            }
            Payload::Stream(frames) => {
                let mut tail = Tail::default();
                let last = frames.len().saturating_sub(1);
                for (n, frame) in frames.iter_mut().enumerate() {
                    frame.data = self.chunk(&mut tail, &frame.data, &headers, path);
                    if n == last {
                        let rest = self.rest(&mut tail, &headers, path);
                        frame.data = [&frame.data[..], &rest[..]].concat().into();
                    }
                }
                frames.retain(|frame| !frame.data.is_empty());
            }
        }
    }
}

/// Takes the secrets out of a cassette that exists, wherever they stand, and says by which rules.
pub fn scrub(cassette: &mut Cassette, rules: Rules) {
    let redactor = Redactor::new(rules);
    if redactor.is_off() {
        return;
    }
    redactor.known.lock().avoid(&crate::format::to_string(cassette));
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
