//! REST request, as passed to the handlers.
//!
//! Source: Elasticsearch 1.5's `RestRequest`, `RestUtils` and `XContentType`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use serde_json::Value;
use stuntdouble_server::percent_decode;

use crate::budget::Budget;
use crate::cluster::{Expand, check_wildcards};
use crate::durations::{millis, time};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::VersionType;
use crate::json::{self, is_set};

/// A REST request.
#[derive(Clone, Debug)]
pub(crate) struct RestRequest {
    pub(crate) method: Method,
    /// Raw path and query.
    pub(crate) uri: String,
    pub(crate) path: Vec<String>,
    pub(crate) params: BTreeMap<String, String>,
    /// Raw media type of the body.
    pub(crate) media_type: String,
    pub(crate) body: Bytes,
    /// Budget of the request.
    pub(crate) budget: Arc<Budget>,
}

/// Decodes a path segment.
///
/// # Errors
/// A `%` without two hexadecimal digits.
fn decode(part: &str) -> Result<String> {
    percent_decode(part, true)
        .map(std::borrow::Cow::into_owned)
        .ok_or_else(|| malformed_escape(part))
}

fn malformed_escape(text: &str) -> SearchError {
    let malformed = text.match_indices('%').find_map(|(at, _)| match text.get(at..at + 3) {
        Some(escape) if percent_decode(escape, false).is_some() => None,
        Some(escape) => Some(format!("invalid escape sequence `{escape}' at index {at} of: {text}")),
        None if at + 1 == text.len() => Some(format!("unterminated escape sequence at end of string: {text}")),
        None => Some(format!("partial escape sequence at end of string: {text}")),
    });
    SearchError::new(500, Exception::IllegalArgument, malformed.unwrap_or_default())
}

/// Parses the parameters of a query string. Malformed escapes are kept verbatim.
fn parameters(query: &str) -> BTreeMap<String, String> {
    let decode = |text: &str| percent_decode(text, true).map_or_else(|| text.to_owned(), std::borrow::Cow::into_owned);
    query
        .split(['&', ';'])
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
        .collect()
}

impl RestRequest {
    /// Creates a request from its parts. Methods that Elasticsearch does not support count as GET.
    ///
    /// # Errors
    /// A path with a malformed escape.
    pub(crate) fn new(method: Method, uri: &http::Uri, headers: &HeaderMap, body: Bytes) -> Result<RestRequest> {
        let path = uri.path().split('/').filter(|part| !part.is_empty());
        let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        Ok(RestRequest {
            method: match method {
                Method::POST | Method::PUT | Method::DELETE | Method::HEAD | Method::OPTIONS => method,
                _ => Method::GET,
            },
            uri: uri
                .path_and_query()
                .map_or_else(|| uri.path().to_owned(), ToString::to_string),
            path: path.map(decode).collect::<Result<_>>()?,
            params: parameters(uri.query().unwrap_or("")),
            media_type: media_type.unwrap_or("").to_owned(),
            body,
            budget: Arc::default(),
        })
    }

    /// Sets the budget.
    pub(super) fn with_budget(self, budget: Arc<Budget>) -> RestRequest {
        RestRequest { budget, ..self }
    }

    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.params.get(name).map(String::as_str)
    }

    /// Returns whether a parameter is present and not `false`, `0`, `off` or `no`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.param(name).is_some_and(is_set)
    }

    pub(crate) fn flag_or(&self, name: &str, default: bool) -> bool {
        if self.params.contains_key(name) {
            self.flag(name)
        } else {
            default
        }
    }

    /// Parses an integer parameter.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i32>> {
        self.number(name, "int", SearchError::number)
    }

    /// Parses a numeric parameter. `java_type` is the name of its type in the error, `cause` the error for its text.
    fn number<N: std::str::FromStr>(
        &self,
        name: &str,
        java_type: &str,
        cause: fn(&str) -> SearchError,
    ) -> Result<Option<N>> {
        let parse = |text: &str| {
            text.parse().map_err(|_| {
                let reason = format!("Failed to parse {java_type} parameter [{name}] with value [{text}]");
                SearchError::illegal(reason).caused_by(cause(text))
            })
        };
        self.param(name).map(parse).transpose()
    }

    /// Parses a floating-point parameter.
    pub(crate) fn float(&self, name: &str) -> Result<Option<f32>> {
        self.number(name, "float", SearchError::float)
    }

    /// Parses `version` and `version_type`.
    ///
    /// # Errors
    /// An unknown type, or a version that is not an integer.
    pub(crate) fn version(&self) -> Result<(Option<i64>, VersionType)> {
        let given = self.number("version", "int", SearchError::number)?;
        let version_type = self.param("version_type").map(VersionType::parse).transpose()?;
        Ok((given, version_type.unwrap_or_default()))
    }

    /// Checks a duration parameter.
    pub(crate) fn check_duration(&self, name: &str) -> Result<()> {
        self.param(name).map_or(Ok(()), |text| time(text).map(drop))
    }

    /// Returns whether the nodes acknowledge a change of the cluster's state: they do, given any time.
    ///
    /// # Errors
    /// An invalid timeout.
    pub(crate) fn acknowledged(&self) -> Result<bool> {
        self.param("timeout").map_or(Ok(true), |text| Ok(millis(text)? > 0))
    }

    /// Checks the timeouts of a change of the cluster's state.
    pub(crate) fn check_timeouts(&self) -> Result<()> {
        self.check_duration("timeout")?;
        self.check_duration("master_timeout")
    }

    /// The body, or the parameter `source` if it is empty.
    pub(crate) fn body_or_source(&self) -> &[u8] {
        if self.body.is_empty() {
            self.param("source").map_or(&[], str::as_bytes)
        } else {
            &self.body
        }
    }

    /// Parses the body as JSON, if there is one.
    pub(crate) fn json(&self) -> Result<Option<Value>> {
        let body = self.body_or_source();
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        json::derivable(body)?;
        json::value(body).map(Some)
    }

    /// Parses the options for index names: missing indices and patterns.
    ///
    /// # Errors
    /// An unknown value of `expand_wildcards`.
    pub(crate) fn expand(&self) -> Result<Expand> {
        self.expand_or(Expand::SHARDS)
    }

    /// As [`RestRequest::expand`], with the options that the request does not have.
    pub(crate) fn expand_or(&self, default: Expand) -> Result<Expand> {
        let given = self.param("expand_wildcards");
        check_wildcards(given.unwrap_or_default())?;
        let expands = |state: &str| given.map(|given| given.contains(state) || given.contains("all"));
        Ok(Expand {
            ignore_unavailable: self.flag_or("ignore_unavailable", default.ignore_unavailable),
            allow_no_indices: self.flag_or("allow_no_indices", default.allow_no_indices),
            open: expands("open").unwrap_or(default.open),
            closed: expands("closed").unwrap_or(default.closed),
            forbid_closed: default.forbid_closed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn request(method: &str, uri: &'static str) -> Result<RestRequest> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        RestRequest::new(method, &http::Uri::from_static(uri), &HeaderMap::new(), Bytes::new())
    }

    #[rstest]
    #[case("/%zz", "invalid escape sequence `%zz' at index 0 of: %zz")]
    #[case("/a%20b%", "unterminated escape sequence at end of string: a%20b%")]
    #[case("/a%2", "partial escape sequence at end of string: a%2")]
    fn a_malformed_escape_in_a_path_is_an_error(#[case] uri: &'static str, #[case] reason: &str) {
        let error = request("GET", uri).unwrap_err();
        assert_eq!((error.status, error.reason.as_str()), (500, reason));
    }

    #[test]
    fn a_plus_is_a_space_and_an_unknown_method_is_get() {
        let request = request("PATCH", "/a+b?q=c+d&flag").unwrap();
        assert_eq!((request.method.as_str(), request.path), ("GET", vec!["a b".to_owned()]));
        assert_eq!(request.params["q"], "c d");
        assert_eq!(request.params["flag"], "");
    }
}
