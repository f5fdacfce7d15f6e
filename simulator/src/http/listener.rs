//! The listeners of the API: one without credentials, one over TLS that requires them.
//!
//! Connections, limits and shutdown are those of [`stuntdouble_server`].

use std::{convert::Infallible, future::Future, sync::Arc};

use futures::{
    FutureExt,
    future::{Either, ready},
};
use http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, Uri, body::Incoming, service::service_fn};
use stuntdouble_server::{ConnectionOrigins, Origins, Peer, RequestLog};
use tokio::net::TcpListener;

use super::{
    body::Body,
    clusters::{self, Clusters},
    credentials::{Credentials, User},
    metrics::OpenGauge,
    query::Query,
    respond,
    service::{Answer, Service},
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
        service_fn(move |request| connection.clone().respond(request))
    });
}

/// A connection, counted as open until it is dropped.
struct Connection {
    service: Arc<Service>,
    origins: ConnectionOrigins,
    authenticator: Option<Arc<Authenticator>>,
    /// The user of the client certificate, if it is valid.
    certified: Option<User>,
    peer: Arc<Peer>,
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
            peer: Arc::new(peer),
        }
    }

    /// Responds to a request.
    fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send {
        let log = RequestLog::begin(&request, self.peer.address);
        let (accepted, answer) = match self.origins.check(&request) {
            Ok(accepted) => (Some(accepted), self.answer(request)),
            Err(response) => (None, Answer::Now(response.map(Body::full))),
        };
        let finish = move |mut response: Response<Body>| {
            if let Some(accepted) = &accepted {
                accepted.share(&mut response);
            }
            log.end(&response);
            Ok(response)
        };
        match answer {
            Answer::Now(response) => Either::Left(ready(finish(response))),
            Answer::Later(response) => Either::Right(response.map(finish)),
        }
    }

    fn answer(self: &Arc<Self>, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        if let Some(unauthorized) = self.unauthorized(&parts.headers) {
            return Answer::Now(unauthorized);
        }
        match self.named_cluster(&parts.uri) {
            None => self.service.answer(parts, body, &self.peer),
            Some((clusters, name, inner)) => {
                let response = self.clone().in_cluster(clusters.clone(), name, inner, parts, body);
                Answer::Later(Box::pin(response))
            }
        }
    }

    /// Returns the copy of the cluster named by a URI, and the path inside it.
    fn named_cluster(&self, uri: &Uri) -> Option<(&Arc<dyn Clusters>, String, String)> {
        let clusters = self.service.clusters.get()?;
        let (name, inner) = clusters::split(uri.path())?;
        Some((clusters, name.to_owned(), inner.to_owned()))
    }

    /// Returns the response of a named copy of the cluster.
    async fn in_cluster(
        self: Arc<Self>,
        clusters: Arc<dyn Clusters>,
        name: String,
        inner: String,
        mut parts: Parts,
        body: Incoming,
    ) -> Response<Body> {
        let headers = parts.headers.clone();
        let answer = |status: Status| respond::error(status.into(), &headers, Query::default());
        if parts.method == Method::DELETE && matches!(&*inner, "" | "/") {
            return answer(match clusters.remove(&name) {
                true => Status::success(),
                false => Status::no_such_path(),
            });
        }
        let service = match clusters.service(&name).await {
            Ok(service) => service,
            Err(status) => return answer(status),
        };
        let Some(uri) = clusters::strip_prefix(&parts.uri, &inner) else {
            return answer(Status::no_such_path());
        };
        parts.uri = uri;
        let response = match service.answer(parts, body, &self.peer) {
            Answer::Now(response) => response,
            Answer::Later(response) => response.await,
        };
        clusters::add_prefix(response, &name)
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
