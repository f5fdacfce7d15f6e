//! Forwarding of requests to servers, and of responses to clients.

use std::{error::Error as _, net::IpAddr, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri, Version,
    header::{self, HeaderValue},
    upgrade::OnUpgrade,
};
use hyper_util::{
    client::legacy::{self, Client},
    rt::{TokioExecutor, TokioTimer},
};

use stuntdouble_server::relay_upgraded;

use super::{
    super::{route::ProxyRequest, streams::Duplex, websocket},
    Body, BodyError, backend, call,
    coding::{Coding, Transform, TransformedBody},
    dial::{Connector, Dial, DialError, TIMEOUT},
    headers,
    html::Page,
    link::Links,
    path,
    resolve::{Resolver, Server},
};
use crate::{
    api::{Reason, Status},
    cluster::network::{Backends, Located, full_body},
    profile::Profile,
    strategy::{Lookup, ObjectId},
};

/// Settings of the proxy.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Replaced addresses.
    pub(crate) dial: Dial,
    /// Whether connections to addresses of this machine and its link are allowed. Default: no.
    pub(crate) allow_local: bool,
    /// Servers inside this process.
    pub(crate) backends: Backends,
    /// Behaviour profile.
    pub(crate) profile: Profile,
    /// Timeout of a connection attempt.
    pub(crate) connect_timeout: Duration,
}

impl Settings {
    /// Returns settings with no replaced addresses, no servers inside this process, and the connection timeout
    /// [`TIMEOUT`].
    pub(crate) fn new(profile: Profile) -> Self {
        Self {
            dial: Dial::default(),
            allow_local: false,
            backends: Backends::default(),
            profile,
            connect_timeout: TIMEOUT,
        }
    }
}

/// The proxy.
pub(crate) struct Proxy {
    client: Client<Connector, Body>,
    connector: Connector,
    resolver: Resolver,
    backends: Backends,
    profile: Profile,
}

impl Proxy {
    /// Creates a proxy with these settings.
    ///
    /// # Errors
    /// The cryptography provider has no usable protocol version.
    pub(crate) fn new(settings: Settings) -> Result<Self, BodyError> {
        let connector = Connector::new(settings.dial, settings.allow_local, settings.connect_timeout)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(90))
            .build(connector.clone());
        Ok(Self {
            client,
            connector,
            resolver: Resolver::default(),
            backends: settings.backends,
            profile: settings.profile,
        })
    }

    /// Returns a proxy with other servers inside the process, which shares the connections to servers outside.
    pub(crate) fn with_backends(&self, backends: Backends) -> Self {
        Self {
            client: self.client.clone(),
            connector: self.connector.clone(),
            resolver: Resolver::default(),
            backends,
            profile: self.profile,
        }
    }

    /// Forwards a request of `client` to the object at `address`.
    ///
    /// # Errors
    /// The object has no server. An unreachable server is not an error but a response.
    pub(crate) async fn answer<B>(
        &self,
        lookup: &dyn Lookup,
        address: &ProxyRequest,
        request: Request<B>,
        client: Option<IpAddr>,
    ) -> Result<Response<Body>, Status>
    where
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BodyError>,
    {
        let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        let object = ObjectId {
            namespace: &address.namespace,
            id: &address.name,
        };
        let server = self.resolver.resolve(lookup, &address.resource, object).await?;
        let (path, query) = call::path_and_query(address, request.uri().query().unwrap_or_default(), self.profile);
        let target = Target {
            server,
            path,
            query,
            prefix: address.root.clone(),
        };
        target.check_port()?;
        if websocket::upgrades(request.headers()) {
            return self.upgrade(request, &target).await;
        }
        if target.path.is_empty() {
            return Ok(redirect(request.uri()));
        }
        Ok(self.forward(request, &target, client).await)
    }

    /// Connects to `address` (`HOST:PORT`), or to the address that replaces it. Fails with the reason.
    pub(crate) async fn connect(&self, address: &str) -> Result<Box<dyn Duplex>, String> {
        match self.backends.locate(address) {
            Located::Here(backend) => return Ok(Box::new(backend::serve(backend))),
            Located::Refused => return Err(connection_refused(address)),
            Located::Elsewhere => {}
        }
        let stream = self.connector.tcp(address).await.map_err(|error| error.to_string())?;
        Ok(Box::new(stream))
    }

    async fn forward(&self, mut request: Request<Body>, target: &Target, client: Option<IpAddr>) -> Response<Body> {
        let head = *request.method() == Method::HEAD;
        headers::strip(request.headers_mut());
        headers::forwarded(request.headers_mut(), client, &target.forwarded_uri());
        // A client without Accept-Encoding gets an unencoded body, even if the server's response is encoded.
        let unpack = !head
            && !request.headers().contains_key(header::ACCEPT_ENCODING)
            && !request.headers().contains_key(header::RANGE);
        if unpack {
            request
                .headers_mut()
                .insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let response = match self.send(request, target).await {
            Ok(response) => response,
            Err(message) => {
                let mut response = Response::new(full_body(format!(
                    "Error: '{message}'\nTrying to reach: '{}'",
                    target.url()
                )));
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response.headers_mut().insert(
                    header::CONTENT_TYPE,
                    HeaderValue::from_static("text/plain; charset=utf-8"),
                );
                return response;
            }
        };
        let (mut parts, body) = response.into_parts();
        headers::strip(&mut parts.headers);
        let links = Links {
            prefix: target.prefix.clone(),
            host: target.server.host.clone(),
        };
        let coding = Coding::named(
            parts
                .headers
                .get(header::CONTENT_ENCODING)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default(),
        );
        let location = parts
            .headers
            .get(header::LOCATION)
            .and_then(|value| value.to_str().ok())
            .filter(|location| !location.is_empty());
        let led_elsewhere = location.is_some();
        if let Some(rewritten) = location
            .and_then(|location| links.rewrite(location))
            .and_then(|link| HeaderValue::try_from(link).ok())
        {
            parts.headers.insert(header::LOCATION, rewritten);
        }
        let empty = head
            || parts.status == StatusCode::NO_CONTENT
            || parts.status == StatusCode::NOT_MODIFIED
            || hyper::body::Body::is_end_stream(&body);
        let page = !led_elsewhere && !empty && is_html(&parts.headers) && coding.is_some();
        let page = if page { Page::new(links).ok() } else { None };
        let change = match (coding, page) {
            (Some(Coding::Gzip), page) if unpack && !empty => {
                parts.headers.remove(header::CONTENT_ENCODING);
                Some(Transform::plain(Coding::Gzip, page))
            }
            (Some(coding), Some(page)) => Some(Transform::links(coding, page)),
            _ => None,
        };
        match change {
            Some(change) => {
                parts.headers.remove(header::CONTENT_LENGTH);
                Response::from_parts(parts, TransformedBody::new(body, change).boxed_unsync())
            }
            None => Response::from_parts(parts, body),
        }
    }

    async fn upgrade(&self, mut request: Request<Body>, target: &Target) -> Result<Response<Body>, Status> {
        let near: Option<OnUpgrade> = request.extensions_mut().remove();
        let (mut parts, _) = request.into_parts();
        let in_process = matches!(self.backends.locate(&target.address()), Located::Here(_));
        if let (true, Some(near)) = (in_process, &near) {
            parts.extensions.insert(near.clone());
        }
        let request = Request::from_parts(parts, Empty::new().map_err(|never| match never {}).boxed_unsync());
        let mut response = self
            .send(request, target)
            .await
            .map_err(|message| Status::new(Reason::Unknown, message))?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS && !in_process {
            let far = hyper::upgrade::on(&mut response);
            if let Some(near) = near {
                tokio::spawn(relay_upgraded(near, far));
            }
        }
        Ok(response)
    }

    /// Sends a request. Fails with the recorded server's text.
    async fn send(&self, mut request: Request<Body>, target: &Target) -> Result<Response<Body>, String> {
        if target.server.host.is_empty() {
            return Err("http: no Host in request URL".to_owned());
        }
        let authority = HeaderValue::try_from(&target.server.host).map_err(|error| error.to_string())?;
        request.headers_mut().insert(header::HOST, authority);
        if !self.profile.proxy_passes_credentials() {
            headers::remove_credentials(request.headers_mut());
        }
        request.headers_mut().remove(header::EXPECT);
        *request.version_mut() = Version::HTTP_11;
        match self.backends.locate(&target.address()) {
            Located::Here(backend) => {
                *request.uri_mut() = Uri::try_from(target.path_and_query()).map_err(|error| error.to_string())?;
                return Ok(backend.answer(request).await);
            }
            Located::Refused => return Err(connection_refused(&target.address())),
            Located::Elsewhere => {}
        }
        if target.server.host.starts_with(':') {
            return Err(format!("dial tcp {}: connect: connection refused", target.server.host));
        }
        *request.uri_mut() = Uri::try_from(target.url()).map_err(|error| error.to_string())?;
        let response = self.client.request(request).await.map_err(|error| reason(&error))?;
        Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
    }
}

/// Returns the text of a connection to a closed port.
fn connection_refused(address: &str) -> String {
    format!("dial tcp {address}: connect: connection refused")
}

/// The target of a request.
struct Target {
    server: Server,
    /// Decoded path.
    path: String,
    query: String,
    /// Path of the proxy, which is prepended to links.
    prefix: String,
}

impl Target {
    fn path_and_query(&self) -> String {
        let path = if self.path.is_empty() {
            "/".to_owned()
        } else {
            path::escape(&self.path)
        };
        if self.query.is_empty() {
            path
        } else {
            format!("{path}?{}", self.query)
        }
    }

    fn url(&self) -> String {
        format!("{}://{}{}", self.server.scheme, self.server.host, self.path_and_query())
    }

    fn forwarded_uri(&self) -> String {
        let slash = if self.path.ends_with('/') { "/" } else { "" };
        format!("{}{slash}", path::join(&self.prefix, &self.path))
    }

    /// Returns host and port. The default port is that of the scheme.
    fn address(&self) -> String {
        let Server { scheme, host } = &self.server;
        if self.port().is_some() {
            host.clone()
        } else {
            format!("{host}:{}", if scheme == "https" { 443 } else { 80 })
        }
    }

    fn port(&self) -> Option<&str> {
        let host = &self.server.host;
        let after_address = host.rfind(']').map_or(host.as_str(), |end| &host[end..]);
        after_address.rsplit_once(':').map(|(_, port)| port)
    }

    /// Checks that the port is a number: only ports of services have names.
    fn check_port(&self) -> Result<(), Status> {
        match self.port() {
            Some(port) if !port.bytes().all(|byte| byte.is_ascii_digit()) => {
                let message = format!(
                    "parse {:?}: invalid port {:?} after host",
                    self.url(),
                    format!(":{port}")
                );
                Err(Status::new(Reason::Unknown, message))
            }
            _ => Ok(()),
        }
    }
}

fn redirect(uri: &Uri) -> Response<Body> {
    let path = path::unescape(uri.path())
        .filter(|path| path.chars().all(|c| c.is_ascii_graphic()))
        .unwrap_or_else(|| uri.path().to_owned());
    let query = uri
        .query()
        .filter(|query| !query.is_empty())
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    let mut response = Response::new(full_body(String::new()));
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(location) = HeaderValue::try_from(format!("{path}/{query}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn is_html(headers: &HeaderMap) -> bool {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    media_type
        .split(';')
        .next()
        .is_some_and(|media_type| media_type.trim() == "text/html")
}

/// Returns the recorded server's text for a request without a response.
fn reason(error: &legacy::Error) -> String {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(dial) = inner.downcast_ref::<DialError>() {
            return dial.to_string();
        }
        if let Some(protocol) = inner.downcast_ref::<hyper::Error>() {
            if protocol.is_incomplete_message() {
                return "EOF".to_owned();
            }
            if protocol.is_parse() {
                return "net/http: HTTP/1.x transport connection broken: malformed HTTP response".to_owned();
            }
        }
        cause = inner.source();
    }
    error.to_string()
}
