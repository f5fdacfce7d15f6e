//! Requests as values, built without a network and shown as curl lines.
//!
//! Guarantees:
//! - Building a request has no side effects.
//! - The curl line sends the same request when it is pasted into a shell. It contains no secrets.
//!
//! Limits:
//! - Bodies are held in memory.
//!
//! Source: RFC 3986 for paths and queries, RFC 7386 for merge patches.

mod curl;
mod encode;
mod merge;
mod template;

use bytes::Bytes;
use http::Method;

use crate::catalog::Credential;

pub use encode::{Media, decode, encode};
pub use merge::{merge, operations};
pub use template::{Bindings, UnboundName};

/// A request, relative to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, encoded, with a leading slash.
    pub path: String,
    /// The query, not encoded.
    pub query: Vec<(String, String)>,
    /// The raw query, sent instead of `query`.
    pub raw_query: Option<String>,
    /// The Accept header.
    pub accept: Option<String>,
    /// The Content-Type header.
    pub content_type: Option<String>,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// Credentials for this request. Default: those of the target.
    pub credential: Option<Credential>,
    /// The body.
    pub body: Option<Bytes>,
}

impl Request {
    /// Creates a request without query, headers and body.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            raw_query: None,
            accept: None,
            content_type: None,
            headers: Vec::new(),
            credential: None,
            body: None,
        }
    }

    /// Creates a GET request.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// Sets the body and its media type.
    pub fn with_body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.content_type = Some(content_type.to_owned());
        self.body = Some(body.into());
        self
    }

    /// Returns the encoded path and query.
    pub fn target(&self) -> String {
        if let Some(query) = &self.raw_query {
            return format!("{}?{query}", self.path);
        }
        if self.query.is_empty() {
            return self.path.clone();
        }
        let query: String = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.query)
            .finish();
        format!("{}?{query}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_is_encoded_and_the_path_left_as_it_is() {
        let mut request = Request::get("/api/v1/pods");
        request.query.push(("labelSelector".into(), "tier in (a,b)".into()));
        assert_eq!(request.target(), "/api/v1/pods?labelSelector=tier+in+%28a%2Cb%29");
    }
}
