//! What paths name.

use std::sync::Arc;

use super::methods::Methods;
use crate::{registry::RequestInfo, scheme::Resource};

/// A path outside the API groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NonResourcePath {
    /// `/` and `/index.html`: the list of paths.
    Index,
    /// Any other path: the list of paths, with a 404.
    Unknown,
    /// `/healthz` and `/healthz/ping`.
    Health,
    /// `/readyz` and `/livez`, which newer clients use.
    Ready,
    /// `/metrics`.
    Metrics,
    /// `/resetMetrics`.
    ResetMetrics,
    /// `/logs/`.
    Logs,
    /// `/swagger-ui/`.
    SwaggerUi,
    /// `/ui/`: a redirect to the dashboard.
    Ui,
    /// A directory without the slash at its end: a redirect.
    Directory(&'static str),
}

/// A path below `/api`, `/apis` and the documents about them.
#[derive(Clone, Debug)]
pub(crate) enum Endpoint {
    /// `/version`.
    Version,
    /// `/swaggerapi`, `/swaggerapi/...`, `/openapi/...`, `/swagger.json`: descriptions of the API.
    Description(String),
    /// `/api`.
    Versions,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`: the group at this index.
    Group(usize),
    /// `/api/v1`, `/apis/GROUP/VERSION`: the group version at this index.
    Resources(usize),
    /// `/apis/authorization.k8s.io/VERSION/selfsubjectaccessreviews`, which newer clients use: the version.
    AccessReview(String),
    /// A collection, an object or a sub-resource.
    Resource(RequestInfo),
    /// A path under `/watch/`.
    Watch(RequestInfo),
    /// A sub-resource that connects to a container: attach, exec, log, portforward.
    Connect(RequestInfo),
    /// The server of an object, through the proxy.
    Proxy(ProxyRequest),
}

/// A request for the server of an object, through the proxy.
#[derive(Clone, Debug)]
pub(crate) struct ProxyRequest {
    /// The resource.
    pub(crate) resource: Arc<Resource>,
    /// The namespace; empty for an object without one.
    pub(crate) namespace: String,
    /// The name, with an optional scheme and port: `https:NAME:PORT`.
    pub(crate) name: String,
    /// The decoded path after the proxy's root, with its slash; `None` without a slash.
    pub(crate) path: Option<String>,
    /// The decoded path of the proxy's root, without a slash at its end.
    pub(crate) root: String,
    /// Whether this is the older form, `/api/v1/proxy/...`
    pub(crate) old: bool,
}

/// The outcome of routing a path.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// Outside the API groups, with any method.
    NonResource(NonResourcePath),
    /// An endpoint and its methods.
    Endpoint(Endpoint, Methods),
    /// Below `/api` or `/apis`, but not an endpoint.
    Missing,
}

/// A path outside the API groups.
pub(super) fn non_resource_path(path: &str) -> NonResourcePath {
    match path {
        "/" | "/index.html" => NonResourcePath::Index,
        "/healthz" | "/healthz/ping" => NonResourcePath::Health,
        "/readyz" | "/livez" => NonResourcePath::Ready,
        "/metrics" => NonResourcePath::Metrics,
        "/resetMetrics" => NonResourcePath::ResetMetrics,
        "/logs" => NonResourcePath::Directory("/logs/"),
        "/ui" => NonResourcePath::Directory("/ui/"),
        "/swagger-ui" => NonResourcePath::Directory("/swagger-ui/"),
        _ if path.starts_with("/logs/") => NonResourcePath::Logs,
        _ if path.starts_with("/ui/") => NonResourcePath::Ui,
        _ if path.starts_with("/swagger-ui/") => NonResourcePath::SwaggerUi,
        _ => NonResourcePath::Unknown,
    }
}
