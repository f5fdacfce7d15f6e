//! Requests for resources in another process of the cluster: logs, exec and servers of pods.
//!
//! A process that does not run the pods forwards such a request unchanged to the process that does. A request is
//! forwarded only once.

use futures::future::BoxFuture;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, Version, header, request::Parts};
use http_body_util::BodyExt;
use hyper::{body::Incoming, client::conn::http1, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use stuntdouble_server::relay_upgraded;
use tokio::net::TcpStream;

use super::{body::Body, proxy::BodyError};
use crate::api::{Reason, Status};

/// Header of a forwarded request.
const FORWARDED: HeaderName = HeaderName::from_static("x-stuntdouble-passed-on");

/// The process that runs the pods.
pub(crate) trait Elected: Send + Sync {
    /// Returns its address, `HOST:PORT`, or `None` if it is this process or there is none.
    fn other_leader(&self) -> BoxFuture<'_, Option<String>>;
}

/// Whether a request was forwarded by another process.
pub(super) fn is_forwarded(parts: &Parts) -> bool {
    parts.headers.contains_key(FORWARDED)
}

/// Forwards a request to the process at `address`.
pub(super) async fn forward(address: &str, parts: &Parts, body: Incoming) -> Result<Response<Body>, Status> {
    let failed = |why: &dyn std::fmt::Display| {
        let text = format!("{address}, which runs the pods of this cluster, does not respond: {why}");
        Status::new(Reason::ServiceUnavailable, text)
    };
    let mut parts = parts.clone();
    let near: Option<OnUpgrade> = parts.extensions.remove();
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    parts.uri = target.parse().map_err(|error| failed(&error))?;
    parts.version = Version::HTTP_11;
    let host = HeaderValue::try_from(address).map_err(|error| failed(&error))?;
    let origin = HeaderValue::try_from(format!("http://{address}")).map_err(|error| failed(&error))?;
    if parts.headers.contains_key(header::ORIGIN) {
        parts.headers.insert(header::ORIGIN, origin);
    }
    parts.headers.insert(header::HOST, host);
    parts.headers.insert(FORWARDED, HeaderValue::from_static("true"));
    let stream = TcpStream::connect(address).await.map_err(|error| failed(&error))?;
    let connected = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(|error| failed(&error))?;
    tokio::spawn(connection.with_upgrades());
    let request = Request::from_parts(parts, body);
    let mut response = sender.send_request(request).await.map_err(|error| failed(&error))?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS
        && let Some(near) = near
    {
        let far = hyper::upgrade::on(&mut response);
        tokio::spawn(relay_upgraded(near, far));
    }
    Ok(response.map(|body| Body::from(body.map_err(BodyError::from).boxed_unsync())))
}
