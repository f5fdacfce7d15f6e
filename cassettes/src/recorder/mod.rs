//! A reverse proxy that records the exchanges it forwards.
//!
//! Guarantees:
//! - Bodies, frames and messages are forwarded as they arrive, and recorded by one thread in that order, within
//!   milliseconds. A kill loses at most the queued ones (32 MiB), responses in flight, and the ends of long ones.
//! - [`Recorder::stop`] loses nothing.
//! - Secrets are replaced before anything is written to the disk.
//! - Memory per response is bounded, whatever its length. A client that does not read delays only its own server.
//!
//! Limits:
//! - Only the first [`MAX_REQUEST_BODY_BYTES`] of a request body are recorded. All of it is forwarded.
//! - Content codings other than gzip and deflate, and compression of WebSockets, are not offered to the server.
//! - When the file cannot be written, recording stops and [`Recorder::failure`] returns the error. The proxy continues.
//!
//! Source: RFC 9110, section 7 (intermediaries); DESIGN.md, decision 8.

mod buffers;
mod event;
mod exchange;
mod frames;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod log;
mod pending;
mod recent_bodies;
mod request_body;
mod response_body;
mod socket;

use crate::format::{CassetteWriter, FormatError};
use crate::interaction::{Clock, Header, Request as RecordedRequest};
use crate::redactor::{Redaction, Redactor};
use crate::transport::{
    Body, Client, ConnectionClosed, Credentials, Handler, Origins, Server, Tasks, TransportError, full, restore,
    strip_hop_by_hop, upgrade,
};
use bytes::Bytes;
use exchange::Exchange;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HOST, SEC_WEBSOCKET_EXTENSIONS};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use log::Log;
use request_body::RequestBody;
use response_body::ResponseBody;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Maximum length of the recorded part of a request body.
pub(crate) const MAX_REQUEST_BODY_BYTES: usize = 64 << 20;

/// Number of the signal `SIGXFSZ`.
#[cfg(unix)]
const FILE_SIZE_SIGNAL: i32 = 25;

/// Timeout of the request for the version of the upstream.
const VERSION_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of a [`Recorder`].
///
/// ```
/// use stuntdouble_cassettes::{RecorderOptions, Redaction};
///
/// let mut options = RecorderOptions::new("http://127.0.0.1:8080");
/// options.comment = Some("an empty cluster".to_owned());
/// options.redaction = Redaction::default().header("X-Session");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecorderOptions {
    /// URL of the server.
    pub upstream: String,
    /// Address of the listener. Port 0 is replaced by a free one. Default: 127.0.0.1:0.
    pub listen: SocketAddr,
    /// Hosts and origins whose requests are accepted. Default: those of the listener only.
    pub origins: Origins,
    /// Certificate chain and key of the listener, both in PEM. Default: no TLS.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Credentials for requests without an `Authorization` of their own. Default: none.
    pub credentials: Credentials,
    /// Whether an existing file is replaced. Default: false.
    pub overwrite: bool,
    /// Redaction rules. Default: credentials and the data of Secrets.
    pub redaction: Redaction,
    /// Behaviour profile of the server, for the header of the cassette.
    pub profile: Option<String>,
    /// Description of the session, for the header of the cassette.
    pub comment: Option<String>,
    /// Source of the recorded times. Default: the system clock.
    pub clock: Clock,
}

impl RecorderOptions {
    /// Options with defaults for this server.
    pub fn new(upstream: impl Into<String>) -> Self {
        Self {
            upstream: upstream.into(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            origins: Origins::default(),
            identity: None,
            credentials: Credentials::default(),
            overwrite: false,
            redaction: Redaction::default(),
            profile: None,
            comment: None,
            clock: Clock::system(),
        }
    }
}

/// Errors of [`Recorder::start`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecorderError {
    /// The proxy could not be set up.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The cassette could not be written.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// A reverse proxy that records the exchanges it forwards. Dropping it stops it.
///
/// ```
/// use stuntdouble_cassettes::{Cassette, Recorder, RecorderOptions};
/// # use stuntdouble_cassettes::{Replayer, ReplayerOptions};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("session.yaml");
/// # let upstream = Cassette::open(concat!(env!("CARGO_MANIFEST_DIR"),
/// "/sessions/kubernetes-1.2/namespaces.yaml").as_ref())?;
/// # let server = Replayer::start(upstream, ReplayerOptions::default()).await?;
/// let recorder = Recorder::start(RecorderOptions::new(server.url()), &path).await?;
/// // The client sends its requests to recorder.url().
/// recorder.stop().await;
/// let cassette = Cassette::open(&path)?;
/// assert_eq!(cassette.interactions.len(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Recorder {
    server: Server,
    secure: bool,
    proxy: Arc<Proxy>,
}

impl Recorder {
    /// Starts a recording in a new file.
    ///
    /// # Errors
    /// If the address cannot be bound, the upstream is not a URL of a server, or the file exists or cannot be written.
    pub async fn start(options: RecorderOptions, path: &Path) -> Result<Self, RecorderError> {
        survive_size_limits();
        let client = Client::new(&options.upstream, &options.credentials, true)?;
        let mut rules = options.redaction;
        if !rules.is_none() {
            let basic = options.credentials.basic.iter().map(|(_, password)| password);
            for secret in options.credentials.token.iter().chain(basic) {
                rules = rules.literal(secret);
            }
        }
        let redactor = Redactor::new(rules);
        let mut header = Header::new(options.clock.now());
        header.upstream = Some(redactor.url(&client.origin()));
        header.upstream_version = version(&client).await;
        header.profile = options.profile;
        header.comment = options.comment.map(|comment| redactor.text(&comment));
        header.redactions = redactor.describe();
        let writer = CassetteWriter::create(path, &header, options.overwrite)?;
        let log = Arc::new(Log::start(writer, redactor)?);
        let proxy = Arc::new(Proxy {
            client,
            log,
            clock: options.clock,
            last: AtomicU64::new(0),
        });
        let identity = options.identity.as_ref();
        Ok(Self {
            server: Server::start_secure(options.listen, options.origins, identity, proxy.clone()).await?,
            secure: identity.is_some(),
            proxy,
        })
    }

    /// Address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// URL of the listener.
    pub fn url(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}", self.address())
    }

    /// Path of the cassette.
    pub fn path(&self) -> PathBuf {
        self.proxy.log.path().to_owned()
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.proxy.last.load(Ordering::Relaxed)
    }

    /// The error that stopped the recording, if any.
    pub fn failure(&self) -> Option<String> {
        self.proxy.log.failure()
    }

    /// Stops, and waits until every connection is closed and every event is recorded. Returns the error that stopped
    /// the recording, if any.
    pub async fn stop(self) -> Option<String> {
        self.server.stop().await;
        self.proxy.log.finish().await;
        self.proxy.log.failure()
    }
}

/// Handles `SIGXFSZ`, so that exceeding the file size limit is a write error instead of the end of the program.
fn survive_size_limits() {
    #[cfg(unix)]
    {
        // Without the handler only the error message is worse.
        let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(FILE_SIZE_SIGNAL));
    }
}

/// `gitVersion` of the server. None if it does not respond within [`VERSION_TIMEOUT`].
async fn version(client: &Client) -> Option<String> {
    let request = Request::get("/version").body(full(Bytes::new())).ok()?;
    let fetch = async {
        let response = client.send(request).await.ok()?;
        let body = Limited::new(response.into_body(), 64 << 10)
            .collect()
            .await
            .ok()?
            .to_bytes();
        let value: serde_json::Value = serde_json::from_slice(&body).ok()?;
        Some(value.get("gitVersion")?.as_str()?.to_owned())
    };
    timeout(VERSION_TIMEOUT, fetch).await.ok().flatten()
}

#[derive(Debug)]
struct Proxy {
    client: Client,
    log: Arc<Log>,
    clock: Clock,
    last: AtomicU64,
}

impl Handler for Proxy {
    async fn handle(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        tasks: Tasks,
    ) -> Result<Response<Body>, ConnectionClosed> {
        let (begun, started) = (Instant::now(), self.clock.now());
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let recorded = RecordedRequest {
            method: request.method().as_str().to_owned(),
            url: request
                .uri()
                .path_and_query()
                .map_or("/", |target| target.as_str())
                .to_owned(),
            headers: request.headers().into(),
            body: None,
            omitted: 0,
        };
        let protocol = upgrade(request.headers()).cloned();
        let near = protocol.is_some().then(|| hyper::upgrade::on(&mut request));
        let length = request.headers().get(CONTENT_LENGTH).cloned();
        let (mut parts, body) = request.into_parts();
        parts.headers.remove(HOST);
        strip_hop_by_hop(&mut parts.headers);
        restore(&mut parts.headers, protocol);
        offer_decodable(&mut parts.headers);
        let sent = RequestBody::default();
        let bare = body.is_end_stream();
        let body = match bare {
            true => {
                sent.set_empty(length.is_some());
                full(Bytes::new())
            }
            false => sent.record(body),
        };
        let mut exchange = Exchange::new(self.log.clone(), id, recorded, sent, started, begun);
        let request = self.client.send(Request::from_parts(parts, body));
        let response = match bare {
            // The request is sent first, and recorded while the server processes it.
            true => futures::join!(request, exchange.request_sent()).0,
            false => request.await,
        };
        let mut response = match response {
            Ok(response) => response,
            Err(failure) => {
                exchange.failed(failure);
                return Err(ConnectionClosed);
            }
        };
        exchange.head(&response);
        exchange.request_sent().await;
        let protocol = upgrade(response.headers()).cloned();
        strip_hop_by_hop(response.headers_mut());
        if let (StatusCode::SWITCHING_PROTOCOLS, Some(near)) = (response.status(), near) {
            restore(response.headers_mut(), protocol);
            let far = hyper::upgrade::on(&mut response);
            exchange.upgraded();
            tasks.spawn(socket::relay(near, far, exchange));
            return Ok(response.map(|_| full(Bytes::new())));
        }
        Ok(response.map(|body| ResponseBody::new(body, exchange).boxed_unsync()))
    }
}

/// Removes content codings and extensions that cannot be decoded from a request.
fn offer_decodable(headers: &mut HeaderMap) {
    headers.remove(SEC_WEBSOCKET_EXTENSIONS);
    let known = |offer: &&str| {
        let name = offer.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        ["gzip", "x-gzip", "deflate", "identity"].contains(&name.as_str())
    };
    if headers.contains_key(ACCEPT_ENCODING) {
        let offers = headers
            .get_all(ACCEPT_ENCODING)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let kept: Vec<&str> = offers
            .flat_map(|value| value.split(','))
            .filter(known)
            .map(str::trim)
            .collect();
        let kept = if kept.is_empty() {
            "identity".to_owned()
        } else {
            kept.join(", ")
        };
        if let Ok(value) = HeaderValue::from_str(&kept) {
            headers.insert(ACCEPT_ENCODING, value);
        }
    }
}
