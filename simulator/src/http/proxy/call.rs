//! The path and query of a proxied request.
//!
//! Two forms reach the same servers: the old one, `/api/v1/proxy/.../NAME/PATH`, and the new one,
//! `/api/v1/.../NAME/proxy/PATH`.
//! Source: the API documentation, and the recorded proxy sessions.

use super::{super::route::ProxyRequest, path};
use crate::{profile::Profile, strategy};

/// Returns the decoded path and the query of the request to the server. The path is empty if the request's path ends
/// with the name, without a slash.
///
/// The old form sorts and re-encodes the query. At the root of a service proxy of the new form, the query parameter
/// `path` is the path (with its own query) if the profile allows it; the other parameters follow.
pub(super) fn path_and_query(address: &ProxyRequest, query: &str, profile: Profile) -> (String, String) {
    let at_root = matches!(address.path.as_deref(), None | Some("/")) && !address.old;
    if at_root && profile.proxy_path_parameter() && strategy::of(&address.resource).has_proxy_path_parameter() {
        let is_path = |pair: &&str| pair.split('=').next() == Some("path");
        let requested = path::parameters(query)
            .find(|(key, _)| key == "path")
            .map(|(_, value)| value);
        if let Some(requested) = requested.filter(|requested| !requested.is_empty()) {
            let (path, own) = requested.split_once('?').unwrap_or((&requested, ""));
            let own: Vec<&str> = own
                .split('&')
                .chain(query.split('&').filter(|pair| !is_path(pair)))
                .filter(|pair| !pair.is_empty())
                .collect();
            let joined = path::join("/", &path::unescape(path).unwrap_or_else(|| path.to_owned()));
            let slash = if path.ends_with('/') && joined != "/" { "/" } else { "" };
            return (format!("{joined}{slash}"), own.join("&"));
        }
    }
    let query = if address.old {
        path::normalize_query(query)
    } else {
        query.to_owned()
    };
    (address.path.clone().unwrap_or_default(), query)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::scheme::Scheme;

    #[rstest]
    #[case("services", false, None, "path=/echo", Profile::Kubernetes12, "", "path=/echo")]
    #[case("services", false, None, "path=/echo", Profile::Documented, "/echo", "")]
    #[case(
        "services",
        false,
        None,
        "path=_search%3Fq%3Da%26size%3D1&pretty=true",
        Profile::Documented,
        "/_search",
        "q=a&size=1&pretty=true"
    )]
    #[case("services", false, Some("/"), "x=1&path=a/b/", Profile::Documented, "/a/b/", "x=1")]
    #[case("services", false, None, "path=/", Profile::Documented, "/", "")]
    #[case(
        "services",
        false,
        Some("/sub"),
        "path=/echo",
        Profile::Documented,
        "/sub",
        "path=/echo"
    )]
    #[case("services", true, None, "path=/echo", Profile::Documented, "", "path=%2Fecho")]
    #[case("pods", false, None, "path=/echo", Profile::Documented, "", "path=/echo")]
    #[case("pods", false, Some("/e"), "w=a%20b&q", Profile::Documented, "/e", "w=a%20b&q")]
    #[case("pods", true, Some("/e"), "w=a%20b&q", Profile::Documented, "/e", "q=&w=a+b")]
    fn path_and_query_of_the_proxied_request(
        #[case] resource: &'static str,
        #[case] old: bool,
        #[case] path: Option<&str>,
        #[case] query: &str,
        #[case] profile: Profile,
        #[case] requested: &str,
        #[case] with: &str,
    ) {
        let address = ProxyRequest {
            resource: Scheme::builtin().resource("", "v1", resource).unwrap().clone(),
            namespace: "a".to_owned(),
            name: "w".to_owned(),
            path: path.map(str::to_owned),
            root: "/r".to_owned(),
            old,
        };
        assert_eq!(
            path_and_query(&address, query, profile),
            (requested.to_owned(), with.to_owned())
        );
    }
}
