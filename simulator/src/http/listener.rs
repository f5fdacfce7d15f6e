//! The listeners of the API: one without credentials, one over TLS that requires them.
//!
//! Connections, limits and shutdown are those of [`stuntdouble_server`].

use std::{convert::Infallible, sync::Arc};

use hyper::{HeaderMap, Request, Response, body::Incoming, service::service_fn};
use stuntdouble_server::Peer;
use tokio::net::TcpListener;

use super::{
    body::Body,
    credentials::{Credentials, User},
    metrics::Open,
    service::Service,
    tls::Tls,
};
use crate::clock::Clock;

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
pub(crate) fn serve(listener: TcpListener, service: Arc<Service>, authenticator: Option<Authenticator>) {
    let acceptor = authenticator
        .as_ref()
        .map(|authenticator| authenticator.tls.acceptor().clone());
    let (limits, shutdown) = (service.limits.clone(), service.shutdown.clone());
    let authenticator = authenticator.map(Arc::new);
    stuntdouble_server::serve(listener, acceptor, limits, shutdown, move |peer| {
        let connection = Arc::new(Connection::new(service.clone(), authenticator.clone(), peer));
        service_fn(move |request| {
            let connection = connection.clone();
            async move { Ok::<_, Infallible>(connection.respond(request).await) }
        })
    });
}

/// One connection, counted as open until it is dropped.
struct Connection {
    service: Arc<Service>,
    authenticator: Option<Arc<Authenticator>>,
    /// The user of the client certificate, where there is a valid one.
    certified: Option<User>,
    peer: Peer,
    _open: Open,
}

impl Connection {
    fn new(service: Arc<Service>, authenticator: Option<Arc<Authenticator>>, peer: Peer) -> Self {
        let certified = authenticator
            .as_ref()
            .and_then(|authenticator| authenticator.tls.user(&peer.certificates, authenticator.clock.now()));
        Self {
            _open: service.metrics.connection(),
            service,
            authenticator,
            certified,
            peer,
        }
    }

    async fn respond(&self, mut request: Request<Incoming>) -> Response<Body> {
        if let Some(response) = self.unauthorized(request.headers()) {
            return response;
        }
        request.extensions_mut().insert(self.peer.clone());
        self.service.answer(request, &self.peer.close).await
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
