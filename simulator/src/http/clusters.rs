//! Named copies of the cluster, addressed by a path prefix: `/clusters/NAME/api/v1/...`.
//!
//! Below the prefix, a copy responds as the first cluster does at the root; redirects keep the prefix. DELETE of
//! `/clusters/NAME` removes the copy.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::{HeaderValue, Response, Uri, header::LOCATION, uri::PathAndQuery};

use super::{body::Body, service::Service};
use crate::api::Status;

/// The prefix before the name.
const PREFIX: &str = "/clusters/";

/// The copies by name.
pub(crate) trait Clusters: Send + Sync {
    /// Returns the service of a copy, which is created at its first use.
    fn service<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Arc<Service>, Status>>;

    /// Removes a copy and ends its streams. Returns whether it existed.
    fn remove(&self, name: &str) -> bool;
}

/// Splits a path into the name of the copy and the path inside it.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix(PREFIX)?;
    let (name, _) = rest.split_once('/').unwrap_or((rest, ""));
    (!name.is_empty()).then(|| (name, &rest[name.len()..]))
}

/// Returns a URI with the path `inner`, which has no prefix.
pub(super) fn strip_prefix(uri: &Uri, inner: &str) -> Option<Uri> {
    let root = if inner.is_empty() { "/" } else { "" };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let target: PathAndQuery = format!("{root}{inner}{query}").parse().ok()?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target);
    Uri::from_parts(parts).ok()
}

/// Adds the prefix to the redirect of a response, if it redirects to a path.
pub(super) fn add_prefix(mut response: Response<Body>, name: &str) -> Response<Body> {
    let location = response
        .headers()
        .get(LOCATION)
        .and_then(|location| location.to_str().ok());
    let prefixed = location
        .filter(|location| location.starts_with('/') && !location.starts_with("//"))
        .and_then(|location| HeaderValue::try_from(format!("{PREFIX}{name}{location}")).ok());
    if let Some(location) = prefixed {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/clusters/a/api/v1", Some(("a", "/api/v1")))]
    #[case("/clusters/a/", Some(("a", "/")))]
    #[case("/clusters/a", Some(("a", "")))]
    #[case("/clusters/", None)]
    #[case("/api/v1/clusters/a", None)]
    fn the_prefix_has_the_name_of_the_cluster(#[case] path: &str, #[case] expected: Option<(&str, &str)>) {
        assert_eq!(split(path), expected);
    }

    #[test]
    fn the_prefix_is_removed_from_requests_and_added_to_redirects() {
        let uri = Uri::from_static("/clusters/a?x=1");
        assert_eq!(strip_prefix(&uri, "").unwrap(), "/?x=1");
        let uri = Uri::from_static("http://host/clusters/a/api%2F?watch=true");
        assert_eq!(strip_prefix(&uri, "/api%2F").unwrap(), "http://host/api%2F?watch=true");
        for (to, shown) in [
            ("/a/", "/clusters/c/a/"),
            ("//host/a", "//host/a"),
            ("http://host/a", "http://host/a"),
        ] {
            let response = Response::builder().header(LOCATION, to).body(Body::empty()).unwrap();
            assert_eq!(add_prefix(response, "c").headers()[LOCATION], shown);
        }
    }
}
