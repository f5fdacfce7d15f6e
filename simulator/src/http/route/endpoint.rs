//! Endpoints: the meanings of paths.

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
    /// A directory without its trailing slash: a redirect.
    Directory(&'static str),
}

/// A path below `/api` or `/apis`, or of their documents.
#[derive(Clone, Debug)]
pub(crate) enum Endpoint {
    /// `/version`.
    Version,
    /// `/swaggerapi`, `/swaggerapi/...`, `/openapi/...`, `/swagger.json`: API descriptions.
    Description(String),
    /// `/api`.
    Versions,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`: the group at this index.
    Group(usize),
    /// `/api/v1`, `/apis/GROUP/VERSION`: the group version at this index.
    Resources(usize),
    /// `/apis/authorization.k8s.io/VERSION/selfsubjectaccessreviews`, for newer clients: the version.
    AccessReview(String),
    /// A collection, an object or a subresource.
    Resource(RequestInfo),
    /// A path under `/watch/`.
    Watch(RequestInfo),
    /// A subresource that connects to a container: attach, exec, log, portforward.
    Connect(RequestInfo),
    /// The server of an object, reached through the proxy.
    Proxy(ProxyRequest),
}

/// A request to the server of an object through the proxy.
#[derive(Clone, Debug)]
pub(crate) struct ProxyRequest {
    /// Resource of the object.
    pub(crate) resource: Arc<Resource>,
    /// Namespace; empty for an object without one.
    pub(crate) namespace: String,
    /// Name, with an optional scheme and port: `https:NAME:PORT`.
    pub(crate) name: String,
    /// Decoded path after the proxy's root, with its leading slash; `None` without a slash.
    pub(crate) path: Option<String>,
    /// Decoded path of the proxy's root, without a trailing slash.
    pub(crate) root: String,
    /// Whether this is the old form, `/api/v1/proxy/...`
    pub(crate) old: bool,
}

/// The result of routing a path.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// A path outside the API groups, for all methods.
    NonResource(NonResourcePath),
    /// An endpoint and its methods.
    Endpoint(Endpoint, Methods),
    /// A path below `/api` or `/apis` without an endpoint.
    Missing,
}

/// Returns the meaning of a path outside the API groups.
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
