//! Requests and header fields.

use bytes::Bytes;
use url::Url;

/// Header fields in order, including repeated ones. Names are compared case-insensitively.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// The value of the first field with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The value of the last field with this name.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.all(name).last()
    }

    /// The values of all fields with this name.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.0
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The media type of `Content-Type` without parameters. Empty if there is none.
    pub fn media_type(&self) -> &str {
        self.get("content-type")
            .and_then(|value| value.split(';').next())
            .map_or("", str::trim)
    }
}

impl From<&http::HeaderMap> for Headers {
    fn from(map: &http::HeaderMap) -> Self {
        Self(
            map.iter()
                .map(|(name, value)| (name.as_str().to_owned(), text_of(value.as_bytes())))
                .collect(),
        )
    }
}

fn text_of(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query as sent. The whole URL if its authority is not the upstream of the cassette.
    pub url: String,
    /// The header fields.
    pub headers: Headers,
    /// The body. None if no body was sent; an empty body is not none.
    pub body: Option<Bytes>,
    /// Number of bytes at the end of the body that were not kept.
    pub omitted: u64,
}

impl Request {
    /// A GET without header fields.
    #[cfg(test)]
    pub(crate) fn get(url: &str) -> Self {
        Self {
            method: "GET".into(),
            url: url.into(),
            headers: Headers::default(),
            body: None,
            omitted: 0,
        }
    }

    /// Path and query, without authority and fragment.
    pub fn target(&self) -> &str {
        let url = self.url.split('#').next().unwrap_or_default();
        match url.find("://") {
            Some(scheme) if !url.starts_with('/') => {
                let rest = url.get(scheme + 3..).unwrap_or_default();
                rest.find(['/', '?']).and_then(|at| rest.get(at..)).unwrap_or("/")
            }
            _ => url,
        }
    }

    /// The path as sent.
    pub fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    /// The query as sent. Empty if there is none.
    pub fn query(&self) -> &str {
        self.target().split_once('?').map_or("", |(_, query)| query)
    }

    /// Scheme and authority, if the URL has them.
    pub fn origin(&self) -> Option<String> {
        let url = Url::parse(&self.url).ok()?;
        Some(url.origin().ascii_serialization())
    }

    /// The body as text. Empty if there is none.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.body.as_deref().unwrap_or_default())
    }

    /// Whether the request is for a stream that lasts until a side ends it: a watch, a followed log or an upgrade.
    /// As in Kubernetes, any value of a flag except `false` and `0` is true, and the first of several values counts.
    pub fn asks_for_stream(&self) -> bool {
        let parameters = || {
            let pairs = self.query().split('&');
            pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        };
        let flag = |name: &str| {
            let value = parameters().find(|(key, _)| *key == name).map(|(_, value)| value);
            value.is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
        };
        self.path().split('/').any(|segment| segment == "watch")
            || flag("watch")
            || flag("follow")
            || self.headers.get("upgrade").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("/a/b?c=d", "/a/b", "c=d")]
    #[case("http://cluster.test/a?b#c", "/a", "b")]
    #[case("http://cluster.test", "/", "")]
    #[case("/proxy/http://x/y?z", "/proxy/http://x/y", "z")]
    fn a_url_has_a_path_and_a_query(#[case] url: &str, #[case] path: &str, #[case] query: &str) {
        assert_eq!((Request::get(url).path(), Request::get(url).query()), (path, query));
    }

    #[rstest]
    #[case("/api/v1/watch/pods", true)]
    #[case("/api/v1/pods?watch=true", true)]
    #[case("/api/v1/pods?watch=false", false)]
    #[case("/api/v1/pods?watch=False", false)]
    #[case("/api/v1/pods?timeoutSeconds=1&watch=0", false)]
    #[case("/api/v1/pods?watch=maybe", true)]
    #[case("/api/v1/pods?watch", true)]
    #[case("/api/v1/pods?watch=false&watch=true", false)]
    #[case("/api/v1/pods?fieldSelector=watch%3Dtrue", false)]
    #[case("/api/v1/namespaces/a/pods/b/log?follow=1", true)]
    #[case("/api/v1/pods", false)]
    fn a_watch_asks_for_a_stream(#[case] url: &str, #[case] stream: bool) {
        assert_eq!(Request::get(url).asks_for_stream(), stream);
    }
}
