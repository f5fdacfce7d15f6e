//! The service: from a request to its response.
//!
//! - Errors are checked in the order of v1.2: path, method, Content-Type if the path restricts it, Accept, then those
//!   of the verb.
//! - Every request gets a response; an error is a `Status`.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use arc_swap::ArcSwap;
use futures::{FutureExt, future::BoxFuture};
use http::{HeaderValue, Method, Request, Response, header, request::Parts};
use hyper::body::Incoming;
use stuntdouble_server::{Limits, Peer, Shutdown};

use super::{
    body::Body,
    clock_control,
    clusters::Clusters,
    elected::{self, Elected},
    metrics::Metrics,
    negotiation::{ANYTHING, Format, STREAMS, check_accept},
    path::{NormalizedPath, normalize},
    proxy::{Objects, Proxy},
    query::Query,
    respond::{self, ErrorResponse},
    route::{Endpoint, ProxyRequest, Route},
    served_api::ServedApi,
};
use crate::{
    api::Status,
    clock::Clock,
    cluster::{container::Containers, network::Backends},
    profile::Profile,
    registry::Registry,
};

/// Responds to requests from a registry.
pub(crate) struct Service {
    pub(super) registry: Arc<Registry>,
    pub(super) profile: Profile,
    pub(super) proxy: Arc<Proxy>,
    pub(super) containers: Arc<dyn Containers>,
    pub(super) clock: Clock,
    address: String,
    api: ArcSwap<ServedApi>,
    pub(super) limits: Limits,
    pub(super) metrics: Metrics,
    pub(super) shutdown: Shutdown,
    /// Named copies of the cluster, addressed by a path prefix.
    pub(super) clusters: OnceLock<Arc<dyn Clusters>>,
    /// The process that runs the pods, if several processes share the cluster.
    elected: Option<Arc<dyn Elected>>,
}

/// A response, or the future of one.
pub(crate) enum Answer {
    /// A response.
    Now(Response<Body>),
    /// The response to a request that reads its body or waits.
    Later(BoxFuture<'static, Response<Body>>),
}

/// A response, or what a request waits for.
enum Routed {
    Response(Response<Body>),
    Waits(Waiting),
}

/// What a request waits for.
enum Waiting {
    /// The clock.
    Clock,
    /// An endpoint.
    Endpoint(Endpoint),
}

/// Settings and components of a service, except its registry.
pub(crate) struct Setup {
    /// Advertised address, `HOST:PORT`.
    pub(crate) address: String,
    /// Proxy to services, pods and nodes.
    pub(crate) proxy: Proxy,
    /// Containers of the pods.
    pub(crate) containers: Arc<dyn Containers>,
    /// The process that runs the pods, if several processes share the cluster.
    pub(crate) elected: Option<Arc<dyn Elected>>,
    /// Clock.
    pub(crate) clock: Clock,
    /// Resource limits for peers.
    pub(crate) limits: Limits,
    /// Shutdown of the server.
    pub(crate) shutdown: Shutdown,
}

/// Components of the service of a copied cluster that it does not share.
pub(crate) struct Copy {
    /// Objects of the copy.
    pub(crate) registry: Arc<Registry>,
    /// Servers inside the copy.
    pub(crate) backends: Backends,
    /// Containers of its pods.
    pub(crate) containers: Arc<dyn Containers>,
    /// Clock of the copy.
    pub(crate) clock: Clock,
    /// Shutdown of the copy.
    pub(crate) shutdown: Shutdown,
}

impl Service {
    /// Creates a service over `registry`.
    pub(crate) fn new(registry: Arc<Registry>, setup: Setup) -> Self {
        let Setup {
            address,
            proxy,
            containers,
            elected,
            clock,
            limits,
            shutdown,
        } = setup;
        let api = Arc::new(ServedApi::new(registry.scheme(), &address));
        let profile = registry.profile();
        Self {
            registry,
            profile,
            proxy: Arc::new(proxy),
            containers,
            clock,
            address,
            api: ArcSwap::from(api),
            limits,
            metrics: Metrics::new(),
            shutdown,
            clusters: OnceLock::new(),
            elected,
        }
    }

    /// Adds the named copies of the cluster. Only the first call has an effect.
    pub(crate) fn add_clusters(&self, clusters: Arc<dyn Clusters>) {
        let _ = self.clusters.set(clusters);
    }

    /// Creates the service of a copy of this cluster. It shares what is the same in both.
    pub(crate) fn fork(&self, copy: Copy) -> Self {
        Self {
            registry: copy.registry,
            profile: self.profile,
            proxy: Arc::new(self.proxy.with_backends(copy.backends)),
            containers: copy.containers,
            clock: copy.clock,
            address: self.address.clone(),
            api: ArcSwap::from(self.api.load_full()),
            limits: self.limits.clone(),
            metrics: Metrics::new(),
            shutdown: copy.shutdown,
            clusters: OnceLock::new(),
            elected: None,
        }
    }

    /// Returns the routes and documents of the registry's current scheme.
    fn api(&self) -> Arc<ServedApi> {
        let api = self.api.load_full();
        if self.registry.serves(api.table.scheme()) {
            return api;
        }
        let api = Arc::new(ServedApi::new(self.registry.scheme(), &self.address));
        self.api.store(api.clone());
        api
    }

    /// Responds to a request of `peer`. Only a request that reads its body or waits gets a future.
    pub(crate) fn answer(self: &Arc<Self>, parts: Parts, body: Incoming, peer: &Arc<Peer>) -> Answer {
        let routed = std::panic::catch_unwind(AssertUnwindSafe(|| self.route(&parts)));
        match routed.unwrap_or_else(|_| Routed::Response(failed())) {
            Routed::Response(response) => Answer::Now(self.counted(&parts.method, response)),
            Routed::Waits(waiting) => Answer::Later(Box::pin(self.clone().wait(waiting, parts, body, peer.clone()))),
        }
    }

    fn counted(&self, method: &Method, response: Response<Body>) -> Response<Body> {
        self.metrics.count(method, response.status().as_u16());
        response
    }

    /// Responds to a request at once, or returns what it waits for.
    fn route(&self, parts: &Parts) -> Routed {
        if parts.uri.path() == clock_control::PATH {
            return Routed::Waits(Waiting::Clock);
        }
        let api = self.api();
        let route = match normalize(parts.uri.path()) {
            NormalizedPath::Clean(path) => api.table.find(&path),
            NormalizedPath::Moved(to) => {
                return Routed::Response(respond::redirect(&parts.method, 301, &to, parts.uri.query()));
            }
            NormalizedPath::Malformed => return Routed::Response(malformed(parts)),
        };
        let response = match route {
            Route::NonResource(path) => Ok(self.non_resource(&api, path, parts)),
            Route::Missing => Err(Status::no_such_path().into()),
            Route::Endpoint(Endpoint::AccessReview(_), _) if !self.profile.supports_newer_clients() => {
                Err(Status::no_such_path().into())
            }
            Route::Endpoint(_, methods) if !methods.has(&parts.method) => Err(Status::method_not_allowed().into()),
            Route::Endpoint(endpoint, _) => {
                let document = self.document(&api, &endpoint, parts);
                match document.or_else(|| self.one_object(&endpoint, parts)) {
                    Some(response) => response,
                    None => return Routed::Waits(Waiting::Endpoint(endpoint)),
                }
            }
        };
        Routed::Response(response.unwrap_or_else(|error| respond::error(error, &parts.headers, Query::of(parts))))
    }

    /// Responds with one object, or returns `None` if reads wait or the request is another one.
    fn one_object(&self, endpoint: &Endpoint, parts: &Parts) -> Option<Result<Response<Body>, ErrorResponse>> {
        let Endpoint::Resource(request) = endpoint else {
            return None;
        };
        let is_get = parts.method == Method::GET && request.name.is_some();
        (is_get && !self.registry.reads_wait()).then(|| self.get(request, parts))
    }

    async fn wait(
        self: Arc<Self>,
        waiting: Waiting,
        mut parts: Parts,
        body: Incoming,
        peer: Arc<Peer>,
    ) -> Response<Body> {
        let response = AssertUnwindSafe(async {
            let response = match waiting {
                Waiting::Clock => clock_control::control(&self.clock, &self.limits, &parts, body)
                    .await
                    .map_err(ErrorResponse::from),
                Waiting::Endpoint(endpoint) => self.endpoint(endpoint, &mut parts, body, &peer).await,
            };
            response.unwrap_or_else(|error| respond::error(error, &parts.headers, Query::of(&parts)))
        });
        let response = response.catch_unwind().await.unwrap_or_else(|_| failed());
        self.counted(&parts.method, response)
    }

    /// Large branches are boxed, because most requests do not need their memory.
    async fn endpoint(
        &self,
        endpoint: Endpoint,
        parts: &mut Parts,
        body: Incoming,
        peer: &Peer,
    ) -> Result<Response<Body>, ErrorResponse> {
        self.registry.sync().await?;
        if matches!(endpoint, Endpoint::Connect(_) | Endpoint::Proxy(_))
            && !elected::is_forwarded(parts)
            && let Some(elected) = &self.elected
            && let Some(address) = elected.other_leader().await
        {
            return Ok(Box::pin(elected::forward(&address, parts, body)).await?);
        }
        match endpoint {
            Endpoint::AccessReview(version) => Box::pin(self.access_review(&version, parts, body)).await,
            Endpoint::Resource(request) => self.resource(&request, parts, body, &peer.close).await,
            Endpoint::Watch(request) => {
                check_accept(&parts.headers, STREAMS)?;
                Box::pin(self.watch(&request, parts, &peer.close)).await
            }
            Endpoint::Connect(request) => Box::pin(self.connect(&request, parts)).await,
            Endpoint::Proxy(address) => {
                check_accept(&parts.headers, ANYTHING)?;
                Box::pin(self.proxy(&address, parts, body, peer)).await
            }
            _ => Err(Status::no_such_path().into()),
        }
    }

    async fn proxy(
        &self,
        address: &ProxyRequest,
        parts: &Parts,
        body: Incoming,
        peer: &Peer,
    ) -> Result<Response<Body>, ErrorResponse> {
        let request = Request::from_parts(parts.clone(), body);
        Ok(self
            .proxy
            .answer(&Objects(&self.registry), address, request, Some(peer.address.ip()))
            .await?
            .map(Body::from))
    }
}

/// Returns the response to a request whose handler panicked. The panic is printed on standard error.
fn failed() -> Response<Body> {
    let status =
        Status::internal("the handler of this request panicked; the message is on the server's standard error");
    respond::object(status.code, status.to_value().to_string().into(), Format::Compact)
}

/// Returns the response to a request whose target is not a path: a 400 that closes the connection.
fn malformed(parts: &Parts) -> Response<Body> {
    let status = Status::bad_request(format!("invalid path {:?} of the request", parts.uri.path()));
    let mut response = respond::error(status.into(), &parts.headers, Query::of(parts));
    response
        .headers_mut()
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
