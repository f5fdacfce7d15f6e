//! Requests, parsed for matching.

use super::comparison::Comparison;
use super::volatile::{Location, is_time, may_vary, may_vary_in_path};
use crate::interaction::{Request, before_digest, ends_with_digest};
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Query parameters of a watch that may differ.
const WATCH_PARAMETERS: [&str; 2] = ["resourceVersion", "timeoutSeconds"];

/// Query parameters whose comma-separated terms have no order.
const SELECTORS: [&str; 2] = ["fieldSelector", "labelSelector"];

/// Headers that select one of several recorded responses to otherwise equal requests.
const SELECTING_HEADERS: [&str; 6] = [
    "accept",
    "authorization",
    "content-type",
    "origin",
    "sec-websocket-protocol",
    "upgrade",
];

/// Fields with the names of a created object.
pub(super) const NAME_FIELDS: [&str; 3] = ["/metadata/name", "/metadata/generateName", "/metadata/namespace"];

/// Quality of a match, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchQuality {
    /// Equal, apart from times.
    Same,
    /// A watch from another version or with another timeout.
    OtherWatch,
    /// Equal, apart from volatile values of the same form.
    Volatile,
}

/// A match of a live request with a recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestMatch {
    /// Quality of the match.
    pub(crate) quality: MatchQuality,
    /// Volatile values that differ, recorded and live.
    pub(crate) values: Vec<(String, String)>,
}

/// A request, parsed for matching.
#[derive(Clone, Debug)]
pub(crate) struct ParsedRequest {
    /// The method.
    pub(crate) method: String,
    /// The path.
    pub(crate) path: String,
    query: BTreeMap<String, Vec<String>>,
    body: Content,
    /// The body as sent.
    raw: Bytes,
    headers: BTreeMap<&'static str, String>,
    streams: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Json(Value),
    Text(String),
    Bytes,
}

/// Sorts the terms of a selector. A comma between parentheses separates values, not terms.
fn selector(text: &str) -> String {
    let mut depth = 0_usize;
    let mut terms: Vec<&str> = text
        .split(|letter| {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            letter == ',' && depth == 0
        })
        .collect();
    terms.sort_unstable();
    terms.join(",")
}

impl ParsedRequest {
    /// Parses a request.
    pub(crate) fn new(request: &Request) -> Self {
        let mut query: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(request.query().as_bytes()) {
            let value = if SELECTORS.contains(&name.as_ref()) {
                selector(&value)
            } else {
                value.into_owned()
            };
            query.entry(name.into_owned()).or_default().push(value);
        }
        let bytes = request.body.as_deref().unwrap_or_default();
        let body = match std::str::from_utf8(bytes) {
            Ok(text) => serde_json::from_str(text).map_or_else(|_| Content::Text(text.to_owned()), Content::Json),
            Err(_) => Content::Bytes,
        };
        let header = |name: &&'static str| Some((*name, request.headers.get(name)?.to_owned()));
        Self {
            method: request.method.clone(),
            path: request.path().to_owned(),
            query,
            body,
            raw: request.body.clone().unwrap_or_default(),
            headers: SELECTING_HEADERS.iter().filter_map(header).collect(),
            streams: request.asks_for_stream(),
        }
    }

    /// Matches a live request with this recorded one. Returns none if it does not match.
    pub(crate) fn matches(&self, live: &Self) -> Option<RequestMatch> {
        self.compared(live, Comparison::until_different()).ok()
    }

    /// The differences of a live request from this recorded one. Empty if it matches.
    pub(crate) fn differences(&self, live: &Self) -> Vec<String> {
        self.compared(live, Comparison::default()).err().unwrap_or_default()
    }

    /// Whether requests of two sessions match if any two random names do.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.compared(other, Comparison::of_any_names()).is_ok()
    }

    fn compared(&self, live: &Self, mut all: Comparison) -> Result<RequestMatch, Vec<String>> {
        if self.method != live.method {
            all.differs(format!("method {}, recorded {}", live.method, self.method));
        }
        all.text("path", &self.path, &live.path, Location::Path);
        let other_watch = self.compare_queries(live, &mut all);
        if !all.is_decided() {
            self.compare_bodies(live, &mut all);
        }
        let values = all.finish()?;
        let quality = match (values.is_empty(), other_watch) {
            (false, _) => MatchQuality::Volatile,
            (true, true) => MatchQuality::OtherWatch,
            (true, false) => MatchQuality::Same,
        };
        Ok(RequestMatch { quality, values })
    }

    /// Compares the queries. Returns whether they are those of watches with other versions or timeouts.
    fn compare_queries(&self, live: &Self, all: &mut Comparison) -> bool {
        let mut other_watch = false;
        let more = live.query.keys().filter(|name| !self.query.contains_key(*name));
        for name in self.query.keys().chain(more) {
            let free = self.streams && live.streams && WATCH_PARAMETERS.contains(&name.as_str());
            match (self.query.get(name), live.query.get(name)) {
                (there, here) if there == here => {}
                _ if free => other_watch = true,
                (Some(there), Some(here)) if there.len() == here.len() => {
                    for (there, here) in there.iter().zip(here) {
                        all.text(&format!("query parameter {name}"), there, here, Location::Value(&[]));
                    }
                }
                (there, here) => {
                    let shown = |values: Option<&Vec<String>>| values.map_or("(none)".into(), |all| all.join(", "));
                    all.differs(format!(
                        "query parameter {name} {}, recorded {}",
                        shown(here),
                        shown(there)
                    ));
                }
            }
        }
        other_watch
    }

    fn compare_bodies(&self, live: &Self, all: &mut Comparison) {
        if self.method == "POST"
            && let (Content::Json(there), Content::Json(here)) = (&self.body, &live.body)
        {
            all.names(there, here);
        }
        match std::str::from_utf8(&self.raw)
            .ok()
            .and_then(|recorded| before_digest(recorded, &live.raw))
        {
            // Bytes that could not be searched for secrets are recorded as their hash.
            Some((there, here)) => all.value("body", there, &String::from_utf8_lossy(here)),
            None => match (&self.body, &live.body) {
                (Content::Json(there), Content::Json(here)) => all.values("body", there, here),
                (Content::Text(there), Content::Text(here)) => all.value("body", there, here),
                // Secrets in binary bodies are redacted in place.
                _ => all.value("body", &latin(&self.raw), &latin(&live.raw)),
            },
        }
    }

    /// Number of [`SELECTING_HEADERS`] that differ in a live request. `same` compares a recorded and a live value.
    pub(crate) fn other_headers(&self, live: &Self, same: impl Fn(&str, &str) -> bool) -> usize {
        let differs = |name: &&&str| match (self.headers.get(*name), live.headers.get(*name)) {
            (Some(there), Some(here)) => there != here && !same(there, here),
            (None, None) => false,
            _ => true,
        };
        SELECTING_HEADERS.iter().filter(|name| differs(name)).count()
    }

    /// Whether all [`SELECTING_HEADERS`] are equal.
    pub(crate) fn has_headers_of(&self, other: &Self) -> bool {
        self.headers == other.headers
    }

    /// Whether the method is a safe one, which changes nothing.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }

    /// Whether a live request with another query or body can match this recorded one.
    pub(crate) fn may_vary(&self) -> bool {
        let named = |body: &Value| NAME_FIELDS.iter().any(|field| body.pointer(field).is_some());
        self.query.values().flatten().any(|value| may_vary(value))
            || match &self.body {
                Content::Json(body) => (self.method == "POST" && named(body)) || varies(body),
                Content::Text(text) => may_vary(text) || self.has_digest(),
                Content::Bytes => may_vary(&latin(&self.raw)),
            }
    }

    /// Whether a live request with another path can match this recorded one.
    pub(crate) fn may_vary_in_path(&self) -> bool {
        may_vary_in_path(&self.path)
    }

    /// Whether the body ends with the hash of bytes that could not be searched for secrets.
    pub(crate) fn has_digest(&self) -> bool {
        matches!(&self.body, Content::Text(text) if ends_with_digest(text))
    }

    /// Hash of the compared parts. Requests that differ only in times and order have the same.
    pub(crate) fn hash_code(&self) -> u64 {
        self.hash_without(&[])
    }

    /// Hash of a watch without [`WATCH_PARAMETERS`]. None if this is not a watch.
    pub(crate) fn watch_hash_code(&self) -> Option<u64> {
        self.streams.then(|| self.hash_without(&WATCH_PARAMETERS))
    }

    fn hash_without(&self, parameters: &[&str]) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.method, &self.path).hash(&mut hasher);
        for (name, values) in self
            .query
            .iter()
            .filter(|(name, _)| !parameters.contains(&name.as_str()))
        {
            name.hash(&mut hasher);
            values.iter().for_each(|value| hash_text(value, &mut hasher));
        }
        match &self.body {
            Content::Json(body) => hash_value(body, &mut hasher),
            Content::Text(text) => hash_text(text, &mut hasher),
            Content::Bytes => self.raw.hash(&mut hasher),
        }
        hasher.finish()
    }
}

/// Hashes a text. All times have the same hash.
fn hash_text(text: &str, hasher: &mut DefaultHasher) {
    if is_time(text) { "" } else { text }.hash(hasher);
}

/// Hashes a JSON value. The order of keys is ignored.
fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            fields.len().hash(hasher);
            for (name, value) in fields {
                name.hash(hasher);
                hash_value(value, hasher);
            }
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        Value::String(text) => hash_text(text, hasher),
        other => other.hash(hasher),
    }
}

/// Whether any string in a JSON value may vary.
fn varies(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().any(varies),
        Value::Array(items) => items.iter().any(varies),
        Value::String(text) => may_vary(text),
        _ => false,
    }
}

/// Decodes bytes as Latin-1.
fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}
