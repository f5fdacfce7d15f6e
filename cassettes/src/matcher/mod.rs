//! Whether a live request is a recorded one.
//!
//! Promises: method, path, query and body decide; the order of query parameters, of a selector's terms and of JSON keys does not; values that
//! a client makes up anew each time (UUIDs, times, its own ports, random names of the objects that it creates, secrets
//! that were redacted) match one another, and are reported as pairs, so that a session can hold them one to one. Nothing
//! else is guessed: a path differs in nothing but what was redacted, so that API groups, versions, resources and names
//! are those that were recorded, or were made up in an earlier request.
//! Limits: what is neither JSON nor equal does not match.
//! Source: DESIGN.md, decision 9.

mod form;

use crate::interaction::{Request, before_digest};
use bytes::Bytes;
use form::{Place, pairs};
use serde_json::Value;
use std::collections::BTreeMap;

/// The query parameters of a watch that clients choose anew each time.
const LOOSE: [&str; 2] = ["resourceVersion", "timeoutSeconds"];

/// The query parameters that are terms in any order.
const SELECTORS: [&str; 2] = ["fieldSelector", "labelSelector"];

/// The headers that choose between recorded answers to otherwise equal requests.
const CHOOSING: [&str; 6] = [
    "accept",
    "authorization",
    "content-type",
    "origin",
    "sec-websocket-protocol",
    "upgrade",
];

/// How well a request matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// It is the same.
    Same,
    /// It is a watch from another version, or of another length.
    Loose,
    /// It has other volatile values of the same form.
    Volatile,
}

/// What matching two requests gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// They match, with these volatile values, recorded and live.
    Fits(Fit, Vec<(String, String)>),
    /// They differ in this, so much.
    Differs(Vec<String>),
}

/// A request, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    query: BTreeMap<String, Vec<String>>,
    body: Content,
    /// The body as it came.
    raw: Bytes,
    headers: BTreeMap<&'static str, String>,
    streams: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Content {
    Json(Value),
    Text(String),
    Bytes,
}

/// A selector with its terms in order. A comma between parentheses parts values, not terms.
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

impl Ask {
    /// Takes a request apart.
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
            headers: CHOOSING.iter().filter_map(header).collect(),
            streams: request.asks_for_stream(),
        }
    }

    /// Whether a live request is this recorded one.
    pub(crate) fn matches(&self, live: &Self) -> Match {
        self.compared(live, Comparison::default())
    }

    /// Whether a request of one session is like one of another, in which any name can be another random one.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let comparison = Comparison {
            names_vary: true,
            ..Comparison::default()
        };
        matches!(self.compared(other, comparison), Match::Fits(..))
    }

    fn compared(&self, live: &Self, mut all: Comparison) -> Match {
        if self.method != live.method {
            all.differs(format!("method {}, recorded {}", live.method, self.method));
        }
        all.text("path", &self.path, &live.path, Place::Path);
        let mut loose = false;
        for name in self
            .query
            .keys()
            .chain(live.query.keys().filter(|name| !self.query.contains_key(*name)))
        {
            let free = self.streams && live.streams && LOOSE.contains(&name.as_str());
            match (self.query.get(name), live.query.get(name)) {
                (there, here) if there == here => {}
                _ if free => loose = true,
                (Some(there), Some(here)) if there.len() == here.len() => {
                    for (there, here) in there.iter().zip(here) {
                        all.text(&format!("query parameter {name}"), there, here, Place::Value(&[]));
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
        if self.method == "POST" {
            all.names(&self.body, &live.body);
        }
        match std::str::from_utf8(&self.raw)
            .ok()
            .and_then(|recorded| before_digest(recorded, &live.raw))
        {
            // What could not be searched for secrets is recorded by its hash.
            Some((there, here)) => all.value("body", there, &String::from_utf8_lossy(here)),
            None if self.is_same_kind(live) => all.content(&self.body, &live.body),
            // Secrets in bytes are redacted in their place.
            None => all.value("body", &latin(&self.raw), &latin(&live.raw)),
        }
        if !all.differences.is_empty() {
            return Match::Differs(all.differences);
        }
        let fit = match (all.pairs.is_empty(), loose) {
            (false, _) => Fit::Volatile,
            (true, true) => Fit::Loose,
            (true, false) => Fit::Same,
        };
        Match::Fits(fit, all.pairs)
    }

    /// In how many of the headers that choose between answers a live request differs. `same` says whether a live
    /// value stands for a recorded one.
    pub(crate) fn other_headers(&self, live: &Self, same: impl Fn(&str, &str) -> bool) -> usize {
        let differs = |name: &&&str| match (self.headers.get(*name), live.headers.get(*name)) {
            (Some(there), Some(here)) => there != here && !same(there, here),
            (None, None) => false,
            _ => true,
        };
        CHOOSING.iter().filter(|name| differs(name)).count()
    }

    /// Whether both bodies are JSON, or text.
    fn is_same_kind(&self, live: &Self) -> bool {
        let kinds = (&self.body, &live.body);
        matches!(
            kinds,
            (Content::Json(_), Content::Json(_)) | (Content::Text(_), Content::Text(_))
        )
    }

    /// Whether it changes nothing.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }

    /// Whether what happens at one path can be seen at the other: the one holds the other, in its namespace or across
    /// all of them, or watches it.
    pub(crate) fn touches(&self, other: &Self) -> bool {
        let (these, those) = (place(&self.path), place(&other.path));
        let shared = |one: &[&str], two: &[&str]| one.iter().zip(two).all(|(one, two)| one == two);
        shared(&these, &those) || shared(&without_namespace(&these), &without_namespace(&those))
    }
}

/// A path's segments without the marks of a watch or a proxy.
fn place(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|segment| !segment.is_empty() && *segment != "watch" && *segment != "proxy")
        .collect()
}

fn without_namespace<'a>(segments: &[&'a str]) -> Vec<&'a str> {
    match segments.iter().position(|segment| *segment == "namespaces") {
        Some(at) if segments.len() > at + 2 => segments
            .iter()
            .take(at)
            .chain(segments.iter().skip(at + 2))
            .copied()
            .collect(),
        _ => segments.to_vec(),
    }
}

/// Gathers volatile values and differences.
#[derive(Default)]
struct Comparison {
    pairs: Vec<(String, String)>,
    /// What is made up in the name of the object that is created.
    introduced: Vec<(String, String)>,
    /// Whether any name can be another random one.
    names_vary: bool,
    differences: Vec<String>,
}

impl Comparison {
    fn differs(&mut self, what: String) {
        self.differences.push(what);
    }

    /// Takes what is made up in the names of an object that is created.
    fn names(&mut self, recorded: &Content, live: &Content) {
        let (Content::Json(recorded), Content::Json(live)) = (recorded, live) else {
            return;
        };
        for field in ["/metadata/name", "/metadata/generateName", "/metadata/namespace"] {
            let text = |of: &'_ Value| of.pointer(field).and_then(Value::as_str).map(str::to_owned);
            if let (Some(there), Some(here)) = (text(recorded), text(live)) {
                self.introduced
                    .extend(pairs(&there, &here, Place::NewName).unwrap_or_default());
            }
        }
    }

    fn value(&mut self, what: &str, recorded: &str, live: &str) {
        let introduced = std::mem::take(&mut self.introduced);
        self.text(what, recorded, live, Place::Value(&introduced));
        self.introduced = introduced;
    }

    fn text(&mut self, what: &str, recorded: &str, live: &str, place: Place<'_>) {
        if recorded == live {
            return;
        }
        let place = if self.names_vary { Place::NewName } else { place };
        match pairs(recorded, live, place) {
            Some(pairs) => self.pairs.extend(pairs),
            None => self.differs(format!("{what} {}, recorded {}", clip(live), clip(recorded))),
        }
    }

    fn content(&mut self, recorded: &Content, live: &Content) {
        match (recorded, live) {
            (Content::Json(there), Content::Json(here)) => self.values("body", there, here),
            (Content::Text(there), Content::Text(here)) => self.value("body", there, here),
            _ => {}
        }
    }

    fn values(&mut self, path: &str, recorded: &Value, live: &Value) {
        match (recorded, live) {
            (Value::Object(there), Value::Object(here)) => {
                for (key, value) in there {
                    match here.get(key) {
                        Some(other) => self.values(&format!("{path}.{key}"), value, other),
                        None => self.differs(format!("{path}.{key} is missing")),
                    }
                }
                for key in here.keys().filter(|key| !there.contains_key(*key)) {
                    self.differs(format!("{path}.{key} was not recorded"));
                }
            }
            (Value::Array(there), Value::Array(here)) if there.len() == here.len() => {
                for (n, (value, other)) in there.iter().zip(here).enumerate() {
                    self.values(&format!("{path}[{n}]"), value, other);
                }
            }
            (Value::String(there), Value::String(here)) => self.value(path, there, here),
            _ if recorded == live => {}
            _ => {
                let (there, here) = (recorded.to_string(), live.to_string());
                self.differs(format!("{path} {}, recorded {}", clip(&here), clip(&there)));
            }
        }
    }
}

/// Bytes as characters of one byte each.
fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn clip(text: &str) -> String {
    if text.chars().count() <= 80 {
        return format!("{text:?}");
    }
    format!("{:?}...", text.chars().take(77).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interaction::Headers;
    use rstest::rstest;

    fn ask(method: &str, url: &str, body: &str) -> Ask {
        let body = (!body.is_empty()).then(|| body.to_owned().into());
        Ask::new(&Request {
            method: method.into(),
            url: url.into(),
            headers: Headers::default(),
            body,
            omitted: 0,
        })
    }

    #[rstest]
    #[case("/a?b=1&c=2", "", "/a?c=2&b=1", "", Some(Fit::Same))]
    #[case("/a", r#"{"x":1,"y":"z"}"#, "/a", r#"{ "y":"z", "x":1 }"#, Some(Fit::Same))]
    #[case("/a", r#"{"x":1}"#, "/a", r#"{"x":2}"#, None)]
    #[case(
        "/a?watch=true&resourceVersion=5",
        "",
        "/a?watch=true&resourceVersion=7",
        "",
        Some(Fit::Loose)
    )]
    #[case("/a?watch=true", "", "/a?watch=true&resourceVersion=7", "", Some(Fit::Loose))]
    #[case("/a?resourceVersion=5", "", "/a?resourceVersion=7", "", None)]
    #[case("/ns/suite-x8f2a/pods", "", "/ns/suite-91bbc/pods", "", None)]
    #[case("/apis/extensions/v1beta1/jobs", "", "/apis/extensions/v1beta2/jobs", "", None)]
    #[case("/api/v1/nodes/node1", "", "/api/v1/nodes/node2", "", None)]
    #[case(
        "/ns",
        r#"{"metadata":{"name":"suite-x8f2a","labels":{"of":"x8f2a"}}}"#,
        "/ns",
        r#"{"metadata":{"name":"suite-91bbc","labels":{"of":"91bbc"}}}"#,
        Some(Fit::Volatile)
    )]
    #[case(
        "/ns",
        r#"{"metadata":{"name":"a","labels":{"of":"x8f2a"}}}"#,
        "/ns",
        r#"{"metadata":{"name":"a","labels":{"of":"91bbc"}}}"#,
        None
    )]
    #[case("/ns/a/pods", "", "/ns/b/pods", "", None)]
    #[case(
        "/a?fieldSelector=x%3D1,y%3D2",
        "",
        "/a?fieldSelector=y%3D2,x%3D1",
        "",
        Some(Fit::Same)
    )]
    #[case(
        "/a?labelSelector=x+in+(b,a),y",
        "",
        "/a?labelSelector=y,x+in+(b,a)",
        "",
        Some(Fit::Same)
    )]
    #[case("/a?labelSelector=x+in+(b,a),y", "", "/a?labelSelector=y,x+in+(b),a", "", None)]
    #[case("/a?token=redacted-1", "", "/a?token=s3cr3t%2Fx", "", Some(Fit::Volatile))]
    #[case(
        "/a",
        r#"{"data":{"p":"cmVkYWN0ZWQtMQ=="}}"#,
        "/a",
        r#"{"data":{"p":"aHVudGVyMg=="}}"#,
        Some(Fit::Volatile)
    )]
    #[case(
        "/a",
        "kind: Secret\ndata:\n  p: cmVkYWN0ZWQtMQ==\n  q: cmVkYWN0ZWQtMg==\n",
        "/a",
        "kind: Secret\ndata:\n  p: aHVudGVyMg==\n  q: eA==\n",
        Some(Fit::Volatile)
    )]
    #[case(
        "/a",
        "kind: Secret\ndata:\n  p: cmVkYWN0ZWQtMQ==\n",
        "/a",
        "kind: Secret\ndata:\n  q: aHVudGVyMg==\n",
        None
    )]
    fn requests_match(
        #[case] url: &str,
        #[case] body: &str,
        #[case] live_url: &str,
        #[case] live_body: &str,
        #[case] expected: Option<Fit>,
    ) {
        let found = match ask("POST", url, body).matches(&ask("POST", live_url, live_body)) {
            Match::Fits(fit, _) => Some(fit),
            Match::Differs(_) => None,
        };
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case("/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods", true)]
    #[case("/api/v1/namespaces/a/pods/b", "/api/v1/pods", true)]
    #[case("/api/v1/namespaces/a/pods/b", "/api/v1/watch/namespaces/a/pods", true)]
    #[case("/api/v1/namespaces/a", "/api/v1/namespaces/a/pods", true)]
    #[case("/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods/c", false)]
    #[case("/api/v1/namespaces/a/pods", "/api/v1/namespaces/b/services", false)]
    fn a_change_touches_what_holds_it(#[case] one: &str, #[case] two: &str, #[case] touches: bool) {
        assert_eq!(ask("PUT", one, "").touches(&ask("GET", two, "")), touches);
    }
}
