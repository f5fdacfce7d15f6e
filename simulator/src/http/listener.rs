//! The listeners of the API: one without credentials, one over TLS that requires them.
//!
//! Connections, limits and shutdown are those of [`stuntdouble_server`].

use std::{convert::Infallible, sync::Arc};

use http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, Uri, body::Incoming, service::service_fn};
use stuntdouble_server::{ConnectionOrigins, Origins, Peer, RequestLog};
use tokio::net::TcpListener;

use super::{
    body::Body,
    clusters::{self, Clusters},
    credentials::{Credentials, User},
    metrics::Open,
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
    /// The credentials that are accepted.
    pub(crate) credentials: Credentials,
    /// The clock against which client certificates are verified.
    pub(crate) clock: Clock,
}

/// Serves the connections of a listener until the service's shutdown. With an authenticator, over TLS and with credentials only.
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
        service_fn(move |request| connection.clone().respond(request))
    });
}

/// One connection, counted as open until it is dropped.
struct Connection {
    service: Arc<Service>,
    origins: ConnectionOrigins,
    authenticator: Option<Arc<Authenticator>>,
    /// The user of the client certificate, where there is a valid one.
    certified: Option<User>,
    peer: Peer,
    _open: Open,
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

    /// Responds to a request. Its parts stay in this future: those that it awaits borrow them instead of moving them.
    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        let log = RequestLog::begin(&request, self.peer.address);
        let response = match self.origins.check(&request) {
            Ok(accepted) => {
                let (mut parts, body) = request.into_parts();
                let mut response = match self.unauthorized(&parts.headers) {
                    Some(unauthorized) => unauthorized,
                    None => match self.named_cluster(&parts.uri) {
                        Some((clusters, name, inner)) => {
                            Box::pin(self.in_cluster(clusters, &name, &inner, parts, body)).await
                        }
                        None => self.service.answer(&mut parts, body, &self.peer).await,
                    },
                };
                accepted.share(&mut response);
                response
            }
            Err(response) => response.map(Body::whole),
        };
        log.end(&response);
        Ok(response)
    }

    /// The name of the cluster that a URI names, and the path in it.
    fn named_cluster(&self, uri: &Uri) -> Option<(&Arc<dyn Clusters>, String, String)> {
        let clusters = self.service.clusters.get()?;
        let (name, inner) = clusters::split(uri.path())?;
        Some((clusters, name.to_owned(), inner.to_owned()))
    }

    /// The response of another cluster.
    async fn in_cluster(
        &self,
        clusters: &Arc<dyn Clusters>,
        name: &str,
        inner: &str,
        mut parts: Parts,
        body: Incoming,
    ) -> Response<Body> {
        let headers = parts.headers.clone();
        let answer = |status: Status| respond::error(status.into(), &headers, Query::default());
        if parts.method == Method::DELETE && matches!(inner, "" | "/") {
            return answer(match clusters.remove(name) {
                true => Status::success(),
                false => Status::no_such_path(),
            });
        }
        let service = match clusters.service(name).await {
            Ok(service) => service,
            Err(status) => return answer(status),
        };
        match clusters::inside(&parts.uri, inner) {
            Some(uri) => {
                parts.uri = uri;
                clusters::outside(service.answer(&mut parts, body, &self.peer).await, name)
            }
            None => answer(Status::no_such_path()),
        }
    }

    /// The refusal of a request without valid credentials, where they are required.
    fn unauthorized(&self, headers: &HeaderMap) -> Option<Response<Body>> {
        let credentials = &self.authenticator.as_ref()?.credentials;
        match credentials.user(headers, self.certified.as_ref()) {
            Some(_) => None,
            None => Some(credentials.unauthorized().map(Body::whole)),
        }
    }
}
