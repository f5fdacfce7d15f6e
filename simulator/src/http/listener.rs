//! The listeners of the API: one without credentials, one over TLS that requires them.
//!
//! Connections, limits and shutdown are those of [`stuntdouble_server`].

use std::{convert::Infallible, sync::Arc};

use hyper::{HeaderMap, Method, Request, Response, body::Incoming, service::service_fn};
use stuntdouble_server::{ConnectionOrigins, Origins, Peer, RequestLog};
use tokio::net::TcpListener;

use super::{
    body::Body,
    clusters::{self, Clusters},
    credentials::{Credentials, User},
    metrics::OpenGauge,
    query::Query,
    respond,
    service::Service,
    tls::Tls,
};
use crate::{api::Status, clock::Clock};

/// Authenticates the requests of a TLS listener.
pub(crate) struct Authenticator {
    /// The server's side of TLS.
    pub(crate) tls: Tls,
    /// Accepted credentials.
    pub(crate) credentials: Credentials,
    /// Clock for the verification of client certificates.
    pub(crate) clock: Clock,
}

/// Serves the connections of a listener until the service's shutdown. With an authenticator, it requires TLS and
/// credentials.
pub(crate) fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    origins: Origins,
    authenticator: Option<Authenticator>,
) {
    let acceptor = authenticator
        .as_ref()
        .map(|authenticator| authenticator.tls.acceptor().clone());
    let (limits, shutdown) = (service.limits.clone(), service.shutdown.clone());
    let authenticator = authenticator.map(Arc::new);
    let origins = Arc::new(match authenticator {
        Some(_) => origins.with_credentials(),
        None => origins,
    });
    stuntdouble_server::serve(listener, acceptor, limits, shutdown, move |peer| {
        let connection = Arc::new(Connection::new(
            service.clone(),
            origins.clone(),
            authenticator.clone(),
            peer,
        ));
        service_fn(move |request| {
            let connection = connection.clone();
            async move { Ok::<_, Infallible>(connection.respond(request).await) }
        })
    });
}

/// A connection, counted as open until it is dropped.
struct Connection {
    service: Arc<Service>,
    origins: ConnectionOrigins,
    authenticator: Option<Arc<Authenticator>>,
    /// The user of the client certificate, if it is valid.
    certified: Option<User>,
    peer: Peer,
    _open: OpenGauge,
}

impl Connection {
    fn new(
        service: Arc<Service>,
        origins: Arc<Origins>,
        authenticator: Option<Arc<Authenticator>>,
        peer: Peer,
    ) -> Self {
        let certified = authenticator
            .as_ref()
            .and_then(|authenticator| authenticator.tls.user(&peer.certificates, authenticator.clock.now()));
        Self {
            _open: service.metrics.connection(),
            service,
            origins: ConnectionOrigins::new(origins, peer.local),
            authenticator,
            certified,
            peer,
        }
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let log = RequestLog::begin(&request, self.peer.address);
        let response = match self.origins.check(&request) {
            Ok(accepted) => {
                let mut response = self.authenticated(request).await;
                accepted.share(&mut response);
                response
            }
            Err(response) => response.map(Body::full),
        };
        log.end(&response);
        response
    }

    async fn authenticated(&self, request: Request<Incoming>) -> Response<Body> {
        if let Some(response) = self.unauthorized(request.headers()) {
            return response;
        }
        let name = clusters::split(request.uri().path()).map(|(name, inner)| (name.to_owned(), inner.to_owned()));
        match (self.service.clusters.get(), name) {
            (Some(clusters), Some((name, inner))) => Box::pin(self.in_cluster(clusters, &name, &inner, request)).await,
            _ => self.service.answer(request, &self.peer).await,
        }
    }

    /// Returns the response of a named copy of the cluster.
    async fn in_cluster(
        &self,
        clusters: &Arc<dyn Clusters>,
        name: &str,
        inner: &str,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let headers = request.headers().clone();
        let answer = |status: Status| respond::error(status.into(), &headers, Query::default());
        if request.method() == Method::DELETE && matches!(inner, "" | "/") {
            return answer(match clusters.remove(name) {
                true => Status::success(),
                false => Status::no_such_path(),
            });
        }
        let service = match clusters.service(name).await {
            Ok(service) => service,
            Err(status) => return answer(status),
        };
        match clusters::strip_prefix(request, inner) {
            Some(request) => clusters::add_prefix(service.answer(request, &self.peer).await, name),
            None => answer(Status::no_such_path()),
        }
    }

    /// Returns the response to a request that lacks the required credentials, or `None` if it may proceed.
    fn unauthorized(&self, headers: &HeaderMap) -> Option<Response<Body>> {
        let credentials = &self.authenticator.as_ref()?.credentials;
        match credentials.user(headers, self.certified.as_ref()) {
            Some(_) => None,
            None => Some(credentials.unauthorized().map(Body::full)),
        }
    }
}
