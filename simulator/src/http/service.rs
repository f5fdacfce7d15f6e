//! From a request to its response.
//!
//! - Errors come in the order of v1.2: path, method, Content-Type where the path restricts it, Accept, then those of the verb.
//! - Every request gets a response; an error is a `Status`.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use arc_swap::ArcSwap;
use futures::FutureExt;
use http::{HeaderValue, Request, Response, header, request::Parts};
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
    /// Other clusters, which are addressed by a prefix.
    pub(super) clusters: OnceLock<Arc<dyn Clusters>>,
    /// The process that runs the pods, if several share the cluster.
    elected: Option<Arc<dyn Elected>>,
}

/// Settings and parts of a service, besides its registry.
pub(crate) struct Setup {
    /// Advertised address, `HOST:PORT`.
    pub(crate) address: String,
    /// Proxy to services, pods and nodes.
    pub(crate) proxy: Proxy,
    /// Containers of the pods.
    pub(crate) containers: Arc<dyn Containers>,
    /// The process that runs the pods, if several share the cluster.
    pub(crate) elected: Option<Arc<dyn Elected>>,
    /// Clock.
    pub(crate) clock: Clock,
    /// Limits on what a peer can use.
    pub(crate) limits: Limits,
    /// Shutdown of the server.
    pub(crate) shutdown: Shutdown,
}

/// What the service of a copy of a cluster has of its own.
pub(crate) struct Copy {
    /// The copy's objects.
    pub(crate) registry: Arc<Registry>,
    /// Servers inside the copy.
    pub(crate) backends: Backends,
    /// Containers of its pods.
    pub(crate) containers: Arc<dyn Containers>,
    /// Its clock.
    pub(crate) clock: Clock,
    /// Its shutdown.
    pub(crate) shutdown: Shutdown,
}

impl Service {
    /// A service over `registry`.
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

    /// Answers for other clusters too. Only the first call counts.
    pub(crate) fn add_clusters(&self, clusters: Arc<dyn Clusters>) {
        let _ = self.clusters.set(clusters);
    }

    /// The service of a copy of this cluster, which shares what does not differ.
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

    /// Routes and documents for the registry's scheme, which can change.
    fn api(&self) -> Arc<ServedApi> {
        let api = self.api.load_full();
        if self.registry.serves(api.table.scheme()) {
            return api;
        }
        let api = Arc::new(ServedApi::new(self.registry.scheme(), &self.address));
        self.api.store(api.clone());
        api
    }

    /// The response to a request of `peer`.
    pub(crate) async fn answer(&self, parts: &mut Parts, body: Incoming, peer: &Peer) -> Response<Body> {
        let response = AssertUnwindSafe(self.respond(parts, body, peer))
            .catch_unwind()
            .await
            .unwrap_or_else(|_| failed());
        self.metrics.count(&parts.method, response.status().as_u16());
        response
    }

    async fn respond(&self, parts: &mut Parts, body: Incoming, peer: &Peer) -> Response<Body> {
        if parts.uri.path() == clock_control::PATH {
            let response = Box::pin(clock_control::control(&self.clock, &self.limits, parts, body)).await;
            return response.unwrap_or_else(|status| respond::error(status.into(), &parts.headers, Query::of(parts)));
        }
        let api = self.api();
        let route = match normalize(parts.uri.path()) {
            NormalizedPath::Clean(path) => api.table.find(&path),
            NormalizedPath::Moved(to) => return respond::redirect(&parts.method, 301, &to, parts.uri.query()),
            NormalizedPath::Malformed => return malformed(parts),
        };
        let error = match route {
            Route::NonResource(path) => return self.non_resource(&api, path, parts),
            Route::Missing => Status::no_such_path().into(),
            Route::Endpoint(Endpoint::AccessReview(_), _) if !self.profile.supports_newer_clients() => {
                Status::no_such_path().into()
            }
            Route::Endpoint(_, methods) if !methods.has(&parts.method) => Status::method_not_allowed().into(),
            Route::Endpoint(endpoint, _) => match self.endpoint(&api, endpoint, parts, body, peer).await {
                Ok(response) => return response,
                Err(error) => error,
            },
        };
        respond::error(error, &parts.headers, Query::of(parts))
    }

    /// What takes much memory while it waits is boxed: the future of a request is moved several times, and kept by its connection.
    async fn endpoint(
        &self,
        api: &ServedApi,
        endpoint: Endpoint,
        parts: &mut Parts,
        body: Incoming,
        peer: &Peer,
    ) -> Result<Response<Body>, ErrorResponse> {
        if let Some(response) = self.document(api, &endpoint, parts) {
            return response;
        }
        self.registry.sync().await?;
        if matches!(endpoint, Endpoint::Connect(_) | Endpoint::Proxy(_))
            && !elected::is_passed_on(parts)
            && let Some(elected) = &self.elected
            && let Some(address) = elected.elsewhere().await
        {
            return Ok(Box::pin(elected::pass_on(&address, parts, body)).await?);
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

/// The response to a request whose handler panicked. The panic is printed on standard error.
fn failed() -> Response<Body> {
    let status =
        Status::internal("the handler of this request panicked; the message is on the server's standard error");
    respond::object(status.code, status.to_value().to_string().into(), Format::Compact)
}

/// The response to a request whose target is not a path: a 400, and the connection is closed.
fn malformed(parts: &Parts) -> Response<Body> {
    let status = Status::bad_request(format!("invalid path {:?} of the request", parts.uri.path()));
    let mut response = respond::error(status.into(), &parts.headers, Query::of(parts));
    response
        .headers_mut()
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
