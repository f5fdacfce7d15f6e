//! HTTP client for one server.

use super::connector::Connector;
use super::{Body, Credentials, TransportError};
use crate::interaction::{Failure, FailureKind};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Request, Response, Uri, Version, header};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client as Pool};
use hyper_util::rt::TokioExecutor;
use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

/// Timeout of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Time after which an unused connection is not used again. Many servers close one after 60 s, and a request that is
/// sent at that moment would be lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A client for one server. Clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    pool: Pool<HttpsConnector<Connector>, Body>,
    /// Connections of HTTP/1.1, for upgrades.
    upgradable: Pool<HttpsConnector<Connector>, Body>,
    scheme: Scheme,
    authority: Authority,
    /// Path of the server's URL, which is prepended to the path of each request.
    prefix: String,
    authorization: Option<HeaderValue>,
}

impl Client {
    /// Creates a client for the server at this URL. `keep` is whether connections are reused.
    ///
    /// # Errors
    /// If the URL is not an HTTP or HTTPS URL, or the credentials are invalid.
    pub fn new(upstream: &str, credentials: &Credentials, keep: bool) -> Result<Self, TransportError> {
        let wrong = || TransportError::Upstream(upstream.to_owned());
        let uri: Uri = upstream.parse().map_err(|_| wrong())?;
        let scheme = uri
            .scheme()
            .filter(|scheme| ["http", "https"].contains(&scheme.as_str()))
            .ok_or_else(wrong)?;
        let authority = uri.authority().ok_or_else(wrong)?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = Connector(connector);
        let tls = credentials.tls()?;
        let upgradable = HttpsConnectorBuilder::new()
            .with_tls_config(tls.clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector.clone());
        let mut newer = tls;
        newer.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut builder = Pool::builder(TokioExecutor::new());
        builder.pool_idle_timeout(IDLE_TIMEOUT);
        if !keep {
            builder.pool_max_idle_per_host(0);
        }
        Ok(Self {
            pool: builder.build(HttpsConnector::from((connector, newer))),
            upgradable: builder.build(upgradable),
            scheme: scheme.clone(),
            authority: authority.clone(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            authorization: credentials.authorization()?,
        })
    }

    /// Scheme and authority of the server.
    pub fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.authority)
    }

    /// Sends a request, whose URI is path and query. Adds the credentials unless it has an `Authorization`.
    ///
    /// # Errors
    /// If there is no response.
    pub async fn send(&self, mut request: Request<Body>) -> Result<Response<Incoming>, Failure> {
        let target = match self.prefix.as_str() {
            "" => request.uri().path_and_query().cloned(),
            prefix => format!("{prefix}{}", request.uri()).parse().ok(),
        };
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(target.unwrap_or_else(|| PathAndQuery::from_static("/")));
        *request.uri_mut() = Uri::from_parts(parts).map_err(|error| Failure {
            kind: FailureKind::Protocol,
            text: error.to_string(),
        })?;
        request.headers_mut().remove(header::HOST);
        self.translate_origin(request.headers_mut());
        if let Some(own) = self
            .authorization
            .as_ref()
            .filter(|_| !request.headers().contains_key(header::AUTHORIZATION))
        {
            request.headers_mut().insert(header::AUTHORIZATION, own.clone());
        }
        // The version is negotiated for each connection, independently of the incoming request.
        *request.version_mut() = Version::HTTP_11;
        let pool = match super::upgrade(request.headers()) {
            Some(_) => &self.upgradable,
            None => &self.pool,
        };
        pool.request(request).await.map_err(|error| failed(&error))
    }

    /// Replaces the `Origin` of a web page with the server's own. The listener has already checked it.
    fn translate_origin(&self, headers: &mut HeaderMap) {
        headers.remove("sec-fetch-site");
        let is_page = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("://"));
        if let (true, Ok(own)) = (
            headers.get(header::ORIGIN).is_some_and(is_page),
            HeaderValue::from_str(&self.origin()),
        ) {
            headers.insert(header::ORIGIN, own);
        }
    }
}

fn failed(error: &legacy::Error) -> Failure {
    let found = failure(error);
    let by_client =
        |source: &(dyn Error + 'static)| source.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_user);
    let kind = match found.kind {
        _ if error.source().is_some_and(by_client) => FailureKind::Abandoned,
        FailureKind::Closed if error.is_connect() => FailureKind::Refused,
        kind => kind,
    };
    Failure { kind, text: found.text }
}

/// Converts an error to a failure with the messages of all its causes.
pub fn failure(error: &(dyn Error + 'static)) -> Failure {
    let mut kind = FailureKind::Closed;
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            let tls = is_tls(error);
            kind = match io.kind() {
                _ if tls => FailureKind::Tls,
                ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                    FailureKind::Refused
                }
                ErrorKind::TimedOut => FailureKind::Timeout,
                _ => kind,
            };
        } else if error.is::<rustls::Error>() {
            kind = FailureKind::Tls;
        } else if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            kind = FailureKind::Protocol;
        }
        if text.contains("dns error") || text.contains("failed to lookup") {
            kind = FailureKind::Unresolved;
        }
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        next = error.source();
    }
    Failure {
        kind,
        text: texts.join(": "),
    }
}

/// Whether an error is one of TLS, possibly wrapped in nested I/O errors.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>() || inner.is_some_and(|inner| is_tls(inner))
}
