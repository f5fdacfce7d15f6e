//! Conditions on the requests and responses that a mutant alters.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

/// Condition on the status code of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StatusFilter {
    Success,
    Failure,
    #[serde(untagged)]
    Code(u16),
}

impl StatusFilter {
    fn includes(self, code: u16) -> bool {
        match self {
            Self::Success => code < 400,
            Self::Failure => code >= 400,
            Self::Code(one) => code == one,
        }
    }
}

/// Condition on a request and its response.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct When {
    /// Method, or `*` for any.
    pub(crate) method: String,
    pub(crate) path: Option<String>,
    pub(crate) query: Option<String>,
    /// Texts that query parameters must contain.
    #[serde(rename = "query-has", default)]
    pub(crate) query_has: BTreeMap<String, String>,
    /// Texts that query parameters must not contain. The parameters must be present.
    #[serde(rename = "query-lacks", default)]
    pub(crate) query_lacks: BTreeMap<String, String>,
    /// Condition on the response.
    pub(crate) answered: Option<StatusFilter>,
    /// The Accept header.
    pub(crate) accept: Option<String>,
    /// The Content-Type header.
    #[serde(rename = "content-type")]
    pub(crate) content_type: Option<String>,
    /// Values of the body, by JSON pointer; null means absent.
    #[serde(default)]
    pub(crate) body: BTreeMap<String, Value>,
    /// Pointers that must exist in the body.
    #[serde(default)]
    pub(crate) with: Vec<String>,
    /// Whether another request with the same method and path must be in progress.
    #[serde(default)]
    pub(crate) concurrent: bool,
    /// Only every nth matching request is altered.
    pub(crate) every: Option<usize>,
    /// Only the nth matching request is altered.
    pub(crate) nth: Option<usize>,
    /// Only matching requests after the first n are altered.
    pub(crate) after: Option<usize>,
}

impl When {
    /// Returns the values of the stars in the path, if this request matches.
    pub(crate) fn matches(&self, method: &str, path: &str, query: &BTreeSet<String>) -> Option<Vec<String>> {
        if (self.method != "*" && self.method != method)
            || self.query.as_ref().is_some_and(|name| !query.contains(name))
        {
            return None;
        }
        let Some(pattern) = &self.path else {
            return Some(Vec::new());
        };
        let actual: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        let mut wanted: Vec<&str> = pattern.trim_end_matches('/').split('/').collect();
        // `**` at the end matches one or more segments.
        if wanted.last() == Some(&"**") {
            wanted.pop();
            wanted.resize(actual.len().max(wanted.len() + 1), "*");
        }
        if wanted.len() != actual.len() || !wanted.iter().zip(&actual).all(|(w, a)| *w == "*" || w == a) {
            return None;
        }
        let stars = wanted.iter().zip(actual).filter(|(w, _)| **w == "*");
        Some(stars.map(|(_, a)| a.to_owned()).collect())
    }

    /// Whether the query meets `query_has` and `query_lacks`.
    pub(crate) fn matches_query(&self, query: &[(String, String)]) -> bool {
        let contains = |name: &String, text: &String| {
            let value = query.iter().find(|(other, _)| other == name);
            value.map(|(_, value)| value.contains(text.as_str()))
        };
        self.query_has
            .iter()
            .all(|(name, text)| contains(name, text) == Some(true))
            && self
                .query_lacks
                .iter()
                .all(|(name, text)| contains(name, text) == Some(false))
    }

    /// Whether requests with this method to paths of this pattern can match.
    pub(crate) fn touches(&self, method: &str, pattern: &str) -> bool {
        let segments =
            |path: &str| -> Vec<String> { path.trim_end_matches('/').split('/').map(str::to_owned).collect() };
        let Some(own) = self.path.as_deref().map(segments) else {
            return self.method == "*" || self.method == method;
        };
        let pattern = segments(pattern);
        let open_ended = |path: &[String]| path.last().is_some_and(|last| last == "**");
        let same = |(a, b): (&String, &String)| a == b || a.starts_with('*') || b.starts_with('*');
        (self.method == "*" || self.method == method)
            && (own.len() == pattern.len() || open_ended(&own) || open_ended(&pattern))
            && own.iter().zip(&pattern).all(same)
    }

    /// Whether a request with these headers and this body matches.
    pub(crate) fn matches_content(&self, headers: &http::HeaderMap, body: &[u8]) -> bool {
        let header = |name| {
            headers
                .get(name)
                .and_then(|value: &http::HeaderValue| value.to_str().ok())
        };
        let has_header = |wanted: &Option<String>, name| wanted.is_none() || wanted.as_deref() == header(name);
        if !has_header(&self.accept, "accept") || !has_header(&self.content_type, "content-type") {
            return false;
        }
        if self.body.is_empty() && self.with.is_empty() {
            return true;
        }
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        has(&value, &self.body) && self.with.iter().all(|pointer| value.pointer(pointer).is_some())
    }

    /// Whether a response with this status code matches.
    pub(crate) fn answers(&self, status: http::StatusCode) -> bool {
        self.answered.is_none_or(|answered| answered.includes(status.as_u16()))
    }
}

/// Whether a value has these values, by JSON pointer; null means absent.
pub(crate) fn has(value: &Value, wanted: &BTreeMap<String, Value>) -> bool {
    wanted
        .iter()
        .all(|(pointer, one)| value.pointer(pointer).unwrap_or(&Value::Null) == one)
}
