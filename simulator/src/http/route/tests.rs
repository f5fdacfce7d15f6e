use std::sync::LazyLock;

use http::Method;
use rstest::rstest;

use super::*;
use crate::{registry::RequestInfo, scheme::Scheme};

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(Scheme::builtin()));

const ALL: [Method; 7] = [
    Method::GET,
    Method::PUT,
    Method::POST,
    Method::PATCH,
    Method::DELETE,
    Method::HEAD,
    Method::OPTIONS,
];

/// Formats the endpoint of a path, and its methods.
fn shown(path: &str) -> (String, String) {
    let endpoint = match TABLE.find(path) {
        Route::NonResource(path) => return (format!("{path:?}"), "any".into()),
        Route::Missing => return ("nothing".into(), String::new()),
        Route::Endpoint(endpoint, methods) => {
            let methods: Vec<&str> = ALL.iter().filter(|m| methods.has(m)).map(Method::as_str).collect();
            (endpoint, methods.join(" "))
        }
    };
    let text = |a: &RequestInfo| {
        let parts = [
            a.namespace.as_deref(),
            Some(a.resource.plural.as_str()),
            a.name.as_deref(),
            a.subresource.as_deref(),
        ];
        let parts: Vec<&str> = parts.into_iter().map(|p| p.unwrap_or("-")).collect();
        parts.join(" ")
    };
    let name = match &endpoint.0 {
        Endpoint::Resource(a) => text(a),
        Endpoint::Watch(a) => format!("watch {}", text(a)),
        Endpoint::Connect(a) => format!("connect {}", text(a)),
        Endpoint::Proxy(p) => format!(
            "proxy {} {} {} {:?} at {}",
            p.namespace, p.resource.plural, p.name, p.path, p.root
        ),
        other => format!("{other:?}"),
    };
    (name, endpoint.1)
}

#[rstest]
#[case("/api", "Versions", "GET")]
#[case("/api/v1/", "Resources(0)", "GET")]
#[case("/apis", "Groups", "GET")]
#[case("/apis/batch", "Group(1)", "GET")]
#[case("/apis/extensions/v1beta1", "Resources(3)", "GET")]
#[case("/version", "Version", "GET")]
#[case("/api/v1/pods", "- pods - -", "GET")]
#[case("/api/v1/namespaces/a/pods", "a pods - -", "GET POST DELETE")]
#[case("/api/v1/namespaces/a/pods/b", "a pods b -", "GET PUT PATCH DELETE")]
#[case("/api/v1/namespaces/a/pods/b/", "a pods b -", "GET PUT PATCH DELETE")]
#[case("/api/v1/namespaces/a/pods/b/status", "a pods b status", "PUT")]
#[case("/api/v1/namespaces/a/pods/b/binding", "a pods b binding", "POST")]
#[case("/api/v1/namespaces/a/pods/b/attach", "connect a pods b attach", "GET POST")]
#[case("/api/v1/namespaces/a/pods/b/log", "connect a pods b log", "GET")]
#[case("/api/v1/namespaces/a/bindings", "a bindings - -", "POST")]
#[case("/api/v1/namespaces/a/services", "a services - -", "GET POST")]
#[case("/api/v1/namespaces", "- namespaces - -", "GET POST DELETE")]
#[case("/api/v1/namespaces/pods", "- namespaces pods -", "GET PUT PATCH DELETE")]
#[case("/api/v1/namespaces/a/status", "- namespaces a status", "PUT")]
#[case("/api/v1/namespaces/a/finalize", "- namespaces a finalize", "PUT")]
#[case("/api/v1/nodes/n", "- nodes n -", "GET PUT PATCH DELETE")]
#[case("/api/v1/componentstatuses", "- componentstatuses - -", "GET")]
#[case(
    "/apis/extensions/v1beta1/namespaces/a/deployments/d/scale",
    "a deployments d scale",
    "GET PUT PATCH"
)]
#[case(
    "/apis/extensions/v1beta1/namespaces/a/deployments/d/rollback",
    "a deployments d rollback",
    "POST"
)]
#[case(
    "/apis/extensions/v1beta1/namespaces/a/replicationcontrollers/d/scale",
    "a replicationcontrollers d scale",
    "GET PUT PATCH"
)]
#[case("/api/v1/watch/pods", "watch - pods - -", "GET")]
#[case("/api/v1/watch/namespaces", "watch - namespaces - -", "GET")]
#[case("/api/v1/watch/namespaces/a", "watch - namespaces a -", "GET")]
#[case("/api/v1/watch/namespaces/a/pods", "watch a pods - -", "GET")]
#[case("/apis/batch/v1/watch/namespaces/a/jobs/j", "watch a jobs j -", "GET")]
#[case(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "AccessReview(\"v1\")",
    "POST"
)]
#[case("/", "Index", "any")]
#[case("/readyz", "Ready", "any")]
#[case("/livez", "Ready", "any")]
#[case("/nope/at/all", "Unknown", "any")]
#[case("/healthz/", "Unknown", "any")]
#[case("/ui", "Directory(\"/ui/\")", "any")]
fn a_path_has_an_endpoint_and_methods(#[case] path: &str, #[case] name: &str, #[case] methods: &str) {
    assert_eq!(shown(path), (name.to_owned(), methods.to_owned()), "{path}");
}

#[rstest]
#[case("/api/v2")]
#[case("/api/v1/nope")]
#[case("/api/v1/bindings")]
#[case("/api/v1/pods/a")]
#[case("/api/v1/namespaces/a/nodes")]
#[case("/api/v1/namespaces/a/pods/b/nope")]
#[case("/api/v1/namespaces/a/pods/b/status/more")]
#[case("/api/v1/namespaces/a/pods/b/status/more/and/more/and/more")]
#[case("/api/v1/watch")]
#[case("/api/v1/watch/componentstatuses")]
#[case("/api/v1/watch/pods/a")]
#[case("/api/v1/proxy/namespaces/a/configmaps/b")]
#[case("/api/v1/proxy/namespaces/a/services")]
#[case("/apis/nope")]
#[case("/apis/batch/v9")]
#[case("/apis/extensions/v1beta1/namespaces/a/replicationcontrollers/d")]
#[case("/version/more")]
fn other_paths_below_a_web_service_are_missing(#[case] path: &str) {
    assert_eq!(shown(path).0, "nothing", "{path}");
}

#[rstest]
#[case(
    "/api/v1/proxy/namespaces/a/services/s",
    "proxy a services s None at /api/v1/proxy/namespaces/a/services/s"
)]
#[case(
    "/api/v1/proxy/namespaces/a/services/s/",
    "proxy a services s Some(\"/\") at /api/v1/proxy/namespaces/a/services/s"
)]
#[case(
    "/api/v1/proxy/namespaces/a/pods/https:p:1/x/y/",
    "proxy a pods https:p:1 Some(\"/x/y/\") at /api/v1/proxy/namespaces/a/pods/https:p:1"
)]
#[case(
    "/api/v1/proxy/nodes/n/1/2/3/4/5/6",
    "proxy  nodes n Some(\"/1/2/3/4/5/6\") at /api/v1/proxy/nodes/n"
)]
#[case(
    "/api/v1/nodes/n/proxy/stats",
    "proxy  nodes n Some(\"/stats\") at /api/v1/nodes/n/proxy"
)]
#[case(
    "/api/v1/namespaces/a/services/s/proxy",
    "proxy a services s None at /api/v1/namespaces/a/services/s/proxy"
)]
#[case(
    "/api/v1/namespaces/a/pods/p/proxy/a b",
    "proxy a pods p Some(\"/a b\") at /api/v1/namespaces/a/pods/p/proxy"
)]
fn a_proxy_path_is_split_into_root_and_rest(#[case] path: &str, #[case] name: &str) {
    assert_eq!(
        shown(path),
        (name.to_owned(), "GET PUT POST DELETE HEAD OPTIONS".to_owned())
    );
}
