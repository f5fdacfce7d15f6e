//! Clusters beside the first, addressed by a prefix: `/clusters/NAME/api/v1/...`.
//!
//! Everything below the prefix is answered as the first cluster answers it at the root, except that redirects keep the prefix. A DELETE of `/clusters/NAME`
//! removes the cluster.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::{HeaderValue, Response, Uri, header::LOCATION, uri::PathAndQuery};

use super::{body::Body, service::Service};
use crate::api::Status;

/// The prefix, before the name.
const PREFIX: &str = "/clusters/";

/// The clusters by name.
pub(crate) trait Clusters: Send + Sync {
    /// The service of a cluster, which is made when it is first asked for.
    fn service<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Arc<Service>, Status>>;

    /// Removes a cluster, and ends its streams; whether there was one.
    fn remove(&self, name: &str) -> bool;
}

/// The name of the cluster that a path begins with, and the path in it.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix(PREFIX)?;
    let (name, _) = rest.split_once('/').unwrap_or((rest, ""));
    (!name.is_empty()).then(|| (name, &rest[name.len()..]))
}

/// A URI without the prefix of its cluster; `inner` is the path in the cluster.
pub(super) fn inside(uri: &Uri, inner: &str) -> Option<Uri> {
    let root = if inner.is_empty() { "/" } else { "" };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let target: PathAndQuery = format!("{root}{inner}{query}").parse().ok()?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target);
    Uri::from_parts(parts).ok()
}

/// The response with the prefix in its redirect, if it is one to a path.
pub(super) fn outside(mut response: Response<Body>, name: &str) -> Response<Body> {
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
    fn a_path_names_its_cluster(#[case] path: &str, #[case] expected: Option<(&str, &str)>) {
        assert_eq!(split(path), expected);
    }

    #[test]
    fn the_prefix_is_taken_off_and_put_on() {
        let uri = Uri::from_static("/clusters/a?x=1");
        assert_eq!(inside(&uri, "").unwrap(), "/?x=1");
        let uri = Uri::from_static("http://host/clusters/a/api%2F?watch=true");
        assert_eq!(inside(&uri, "/api%2F").unwrap(), "http://host/api%2F?watch=true");
        for (to, shown) in [
            ("/a/", "/clusters/c/a/"),
            ("//host/a", "//host/a"),
            ("http://host/a", "http://host/a"),
        ] {
            let response = Response::builder().header(LOCATION, to).body(Body::empty()).unwrap();
            assert_eq!(outside(response, "c").headers()[LOCATION], shown);
        }
    }
}
