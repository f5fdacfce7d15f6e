//! A request as the handlers see it.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::cluster::Expand;
use crate::error::{Result, SearchError};

/// A request: its path in decoded parts, its parameters, its body.
#[derive(Clone, Debug)]
pub(crate) struct RestRequest {
    pub(crate) method: Method,
    /// Path and query as they were sent.
    pub(crate) uri: String,
    pub(crate) path: Vec<String>,
    pub(crate) params: BTreeMap<String, String>,
    pub(crate) body: Bytes,
}

impl RestRequest {
    pub(crate) fn new(method: Method, uri: &http::Uri, body: Bytes) -> RestRequest {
        let path = uri
            .path()
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
            .collect();
        let params = url::form_urlencoded::parse(uri.query().unwrap_or("").as_bytes())
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        RestRequest {
            method,
            uri: uri
                .path_and_query()
                .map_or_else(|| uri.path().to_owned(), ToString::to_string),
            path,
            params,
            body,
        }
    }

    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.params.get(name).map(String::as_str)
    }

    /// True if a parameter is there and not `false`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.param(name)
            .is_some_and(|text| !matches!(text, "false" | "0" | "off" | "no"))
    }

    pub(crate) fn flag_or(&self, name: &str, default: bool) -> bool {
        if self.params.contains_key(name) {
            self.flag(name)
        } else {
            default
        }
    }

    pub(crate) fn count(&self, name: &str) -> Result<Option<u64>> {
        self.param(name)
            .map(|text| {
                text.parse().map_err(|_| {
                    SearchError::illegal(format!("Failed to parse long parameter [{name}] with value [{text}]"))
                })
            })
            .transpose()
    }

    /// The body, or what stands for it in the parameter `source`.
    pub(crate) fn body_or_source(&self) -> &[u8] {
        if self.body.is_empty() {
            self.param("source").map_or(&[], str::as_bytes)
        } else {
            &self.body
        }
    }

    /// The body as JSON, if there is one.
    pub(crate) fn json(&self) -> Result<Option<Value>> {
        let body = self.body_or_source();
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        serde_json::from_slice(body)
            .map(Some)
            .map_err(|error| SearchError::parse(format!("Failed to derive xcontent or to parse the body: {error}")))
    }

    /// What to do about names of indices that nothing has.
    pub(crate) fn expand(&self) -> Expand {
        let wildcards = self.param("expand_wildcards").unwrap_or("open");
        Expand {
            ignore_unavailable: self.flag("ignore_unavailable"),
            allow_no_indices: self.flag_or("allow_no_indices", true),
            closed: wildcards.contains("closed"),
            forbid_closed: true,
        }
    }
}
