//! A search cluster outside this process, which replaces the search add-on's own server.
//!
//! - Requests go to the URL that responded last. If the connection fails, they go to the next URL, trying each once.
//! - A request that was sent without getting a response is retried at the next URL only if it is a GET or HEAD: a
//!   write is never repeated.
//! - Limits: [`MAX_BODY_BYTES`] per request body, [`CONNECT_TIMEOUT`] to connect, [`RESPONSE_TIMEOUT`] until the head
//!   of the response.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    header::{self, HeaderValue},
    http::request::Parts,
};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use stuntdouble_server::certificates;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
use url::Url;

use crate::cluster::network::{Backend, Body, full_body};

/// Maximum size in bytes of a request body.
const MAX_BODY_BYTES: usize = 100 << 20;
/// Timeout of connecting to a URL.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of the head of a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// A search cluster outside this process, which replaces the simulated one behind the log search service.
///
/// ```
/// use stuntdouble_simulator::{SearchUpstream, Simulator};
///
/// let upstream = SearchUpstream::new(["http://127.0.0.1:9200", "http://127.0.0.1:9201"]).user("reader", "secret");
/// let builder = Simulator::builder().search_upstream(upstream);
/// ```
#[derive(Clone)]
pub struct SearchUpstream {
    urls: Vec<String>,
    authority: Option<String>,
    user: Option<(String, String)>,
}

impl fmt::Debug for SearchUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchUpstream")
            .field("urls", &self.urls)
            .finish_non_exhaustive()
    }
}

impl SearchUpstream {
    /// Sets the URLs of the nodes: `http://HOST:PORT` or `https://HOST:PORT`. `HOST:PORT` is short for
    /// `http://HOST:PORT`.
    pub fn new(urls: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            urls: urls.into_iter().map(Into::into).collect(),
            authority: None,
            user: None,
        }
    }

    /// Sets the CA certificate (PEM) of the nodes' certificates. Required for `https`.
    pub fn authority(mut self, pem: impl Into<String>) -> Self {
        self.authority = Some(pem.into());
        self
    }

    /// Sets the name and password sent with every request.
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some((name.into(), password.into()));
        self
    }

    /// Returns the TLS settings of the client.
    fn tls(&self) -> Result<ClientConfig, String> {
        let mut roots = RootCertStore::empty();
        if let Some(pem) = &self.authority {
            let trusted = certificates("search upstream CA", pem.as_bytes()).map_err(|error| error.to_string())?;
            for certificate in trusted {
                roots.add(certificate).map_err(|error| error.to_string())?;
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        Ok(builder.with_root_certificates(roots).with_no_client_auth())
    }

    /// Returns the value of the `Authorization` header.
    fn authorization(&self) -> Option<HeaderValue> {
        let (name, password) = self.user.as_ref()?;
        let mut value =
            HeaderValue::try_from(format!("Basic {}", STANDARD.encode(format!("{name}:{password}")))).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// A node of the search cluster.
#[derive(Debug)]
struct Node {
    /// Scheme, host, port and path prefix, without a trailing slash.
    base: String,
    /// Host and port.
    host: HeaderValue,
}

impl Node {
    fn parse(text: &str, has_authority: bool) -> Result<Self, String> {
        let wrong = |why: &str| format!("invalid URL {text:?} of a search node: {why}");
        let full = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let url = Url::parse(&full).map_err(|error| wrong(&error.to_string()))?;
        match url.scheme() {
            "http" => {}
            "https" if has_authority => {}
            "https" => {
                return Err(wrong("https requires a CA certificate (--search-upstream-ca)"));
            }
            _ => return Err(wrong("it is neither http nor https")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("pass credentials separately (--search-upstream-user)"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("it has a query or a fragment"));
        }
        let authority = url.authority();
        if authority.is_empty() {
            return Err(wrong("it has no host"));
        }
        Ok(Self {
            base: format!("{}://{authority}{}", url.scheme(), url.path().trim_end_matches('/')),
            host: HeaderValue::try_from(authority).map_err(|error| wrong(&error.to_string()))?,
        })
    }
}

/// The error of a request that got no response.
struct Failure {
    reason: String,
    /// Whether the request did not reach the node.
    unsent: bool,
}

struct Inner {
    nodes: Vec<Node>,
    authorization: Option<HeaderValue>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Index of the node that responded last.
    current: AtomicUsize,
}

/// A proxy to a search cluster.
pub(super) struct Upstream(Arc<Inner>);

impl Upstream {
    /// Creates the proxy with these settings.
    ///
    /// # Errors
    /// Describes a missing or invalid URL, or an invalid CA certificate.
    pub(super) fn new(settings: &SearchUpstream) -> Result<Self, String> {
        let has_authority = settings.authority.is_some();
        let nodes: Result<Vec<Node>, String> = settings
            .urls
            .iter()
            .map(|url| Node::parse(url, has_authority))
            .collect();
        let nodes = nodes?;
        if nodes.is_empty() {
            return Err("the search cluster needs at least one URL".to_owned());
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(settings.tls()?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        Ok(Self(Arc::new(Inner {
            nodes,
            authorization: settings.authorization(),
            client: Client::builder(TokioExecutor::new()).build(connector),
            current: AtomicUsize::new(0),
        })))
    }
}

impl Inner {
    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = match read(body).await {
            Ok(body) => body,
            Err((status, reason)) => return error_response(status, &reason),
        };
        let first = self.current.load(Ordering::Relaxed);
        let mut failures = Vec::new();
        for step in 0..self.nodes.len() {
            let at = (first + step) % self.nodes.len();
            let Some(node) = self.nodes.get(at) else { break };
            match self.send(node, &parts, body.clone()).await {
                Ok(response) => {
                    self.current.store(at, Ordering::Relaxed);
                    return response;
                }
                Err(Failure { reason, unsent }) => {
                    failures.push(format!("{}: {reason}", node.base));
                    if !unsent && !matches!(parts.method, Method::GET | Method::HEAD) {
                        break;
                    }
                }
            }
        }
        let reasons = failures.join("; ");
        error_response(
            StatusCode::SERVICE_UNAVAILABLE,
            &format!("the search cluster does not respond: {reasons}"),
        )
    }

    async fn send(&self, node: &Node, parts: &Parts, body: Bytes) -> Result<Response<Body>, Failure> {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let uri = Uri::try_from(format!("{}{path}", node.base)).map_err(|error| Failure {
            reason: error.to_string(),
            unsent: true,
        })?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers(node, &parts.headers);
        match tokio::time::timeout(RESPONSE_TIMEOUT, self.client.request(request)).await {
            Ok(Ok(response)) => Ok(response.map(|body| body.map_err(Into::into).boxed_unsync())),
            Ok(Err(error)) => Err(Failure {
                unsent: error.is_connect(),
                reason: with_causes(&error),
            }),
            Err(_) => Err(Failure {
                reason: format!("no response within {} s", RESPONSE_TIMEOUT.as_secs()),
                unsent: false,
            }),
        }
    }

    fn headers(&self, node: &Node, of_request: &HeaderMap) -> HeaderMap {
        let mut headers = of_request.clone();
        // The body has been read into memory: the client sets its length.
        for name in [header::TRANSFER_ENCODING, header::CONTENT_LENGTH, header::EXPECT] {
            headers.remove(name);
        }
        headers.insert(header::HOST, node.host.clone());
        if let Some(authorization) = &self.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        headers
    }
}

/// Reads a body into memory, so that it can be sent more than once.
async fn read(mut body: Body) -> Result<Bytes, (StatusCode, String)> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| (StatusCode::BAD_REQUEST, format!("the request's body ended: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len().saturating_add(data.len()) > MAX_BODY_BYTES {
            let reason = format!("the request's body is larger than {MAX_BODY_BYTES} bytes");
            return Err((StatusCode::PAYLOAD_TOO_LARGE, reason));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

/// Formats an error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn error_response(status: StatusCode, reason: &str) -> Response<Body> {
    let mut response = Response::new(full_body(reason.to_owned()));
    *response.status_mut() = status;
    response
}

impl Backend for Upstream {
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let inner = self.0.clone();
        Box::pin(async move { inner.answer(request).await })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("127.0.0.1:9200", Ok("http://127.0.0.1:9200"))]
    #[case("http://[::1]:9200/", Ok("http://[::1]:9200"))]
    #[case("https://logs.test/search/", Ok("https://logs.test/search"))]
    #[case("ftp://logs.test", Err("neither http nor https"))]
    #[case("http://me:secret@logs.test", Err("--search-upstream-user"))]
    #[case("http://logs.test?q=1", Err("a query"))]
    #[case("http://", Err("invalid URL"))]
    fn a_node_is_an_http_url(#[case] text: &str, #[case] expected: Result<&str, &str>) {
        match (Node::parse(text, true), expected) {
            (Ok(node), Ok(base)) => assert_eq!(node.base, base),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn https_needs_an_authority() {
        let error = Upstream::new(&SearchUpstream::new(["https://logs.test"])).err();
        assert!(error.is_some_and(|error| error.contains("--search-upstream-ca")));
    }
}
