//! A reverse proxy that records what passes.
//!
//! Promises: bodies, frames and messages are passed on as they come, and recorded on a thread of their own in that order,
//! within milliseconds: a kill loses at most the last of them (no more than 32 MiB wait), the responses in flight, and the
//! ends of long ones; [`Recorder::stop`] loses nothing; secrets are taken out before the disk; the memory for a response
//! is bounded however long it is; a client that does not read holds up nobody but its server.
//! Limits: requests of more than [`LONGEST_REQUEST`] are passed on whole and recorded up to there; codings other than
//! gzip and deflate, and the compression of WebSockets, are not offered to the server; what is recorded when the disk
//! fails is lost, and [`Recorder::failure`] says so, while the proxy goes on.
//! Source: RFC 9110, section 7 (intermediaries); DESIGN.md, decision 8.

mod buffers;
mod event;
mod exchange;
mod frames;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod log;
mod pending;
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

/// How much of a request's body is recorded.
pub(crate) const LONGEST_REQUEST: usize = 64 << 20;

/// The number of `SIGXFSZ`.
#[cfg(unix)]
const FILE_SIZE_SIGNAL: i32 = 25;

/// How long the upstream may take to say its version.
const VERSION: Duration = Duration::from_secs(2);

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
    /// The server's URL.
    pub upstream: String,
    /// Where to listen; a port of 0 is chosen by the system.
    pub listen: SocketAddr,
    /// Hosts and origins whose requests are accepted. Default: its own only.
    pub origins: Origins,
    /// Certificate chain and key of the listener, both in PEM. Default: none, and no TLS.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// What to show the server, for requests that bring nothing of their own.
    pub credentials: Credentials,
    /// Whether a file that exists is replaced. Default: false.
    pub overwrite: bool,
    /// What is secret. Default: credentials and the data of Secrets.
    pub redaction: Redaction,
    /// The profile that the server follows, for the header.
    pub profile: Option<String>,
    /// What the session is about, for the header.
    pub comment: Option<String>,
    /// Says what time it is.
    pub clock: Clock,
}

impl RecorderOptions {
    /// Records this server on a port of the system's choice.
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

/// The reasons why a recording cannot begin.
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

/// A reverse proxy that records what passes. Dropping it stops it.
///
/// ```
/// use stuntdouble_cassettes::{Cassette, Recorder, RecorderOptions};
/// # use stuntdouble_cassettes::{Replayer, ReplayerOptions};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("session.yaml");
/// # let upstream = Cassette::open(concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/kubernetes-1.2/namespaces.yaml").as_ref())?;
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
    /// Begins a recording in a new file.
    ///
    /// # Errors
    /// If the address cannot be listened on, the upstream is none, or the file exists or cannot be written.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its URL.
    pub fn url(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}", self.address())
    }

    /// The cassette.
    pub fn path(&self) -> PathBuf {
        self.proxy.log.path().to_owned()
    }

    /// How many requests came so far.
    pub fn requests(&self) -> u64 {
        self.proxy.last.load(Ordering::Relaxed)
    }

    /// Why nothing more is recorded, if that is so.
    pub fn failure(&self) -> Option<String> {
        self.proxy.log.failure()
    }

    /// Stops, and waits until every connection has been closed and everything has been recorded. Returns why not
    /// everything was, if that is so.
    pub async fn stop(self) -> Option<String> {
        self.server.stop().await;
        self.proxy.log.finish().await;
        self.proxy.log.failure()
    }
}

/// Makes a file that may not grow further an error of that file, which otherwise ends the program.
fn survive_size_limits() {
    #[cfg(unix)]
    {
        // Without it, only the error is worse.
        let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(FILE_SIZE_SIGNAL));
    }
}

/// What the server calls its version, where it says so at once.
async fn version(client: &Client) -> Option<String> {
    let request = Request::get("/version").body(full(Bytes::new())).ok()?;
    let asked = async {
        let response = client.send(request).await.ok()?;
        let body = Limited::new(response.into_body(), 64 << 10)
            .collect()
            .await
            .ok()?
            .to_bytes();
        let value: serde_json::Value = serde_json::from_slice(&body).ok()?;
        Some(value.get("gitVersion")?.as_str()?.to_owned())
    };
    timeout(VERSION, asked).await.ok().flatten()
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
        let asked = RecordedRequest {
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
        readable(&mut parts.headers);
        let sent = RequestBody::default();
        let bare = body.is_end_stream();
        let body = match bare {
            true => {
                sent.is_empty_with(length.is_some());
                full(Bytes::new())
            }
            false => sent.tap(body),
        };
        let mut exchange = Exchange::new(self.log.clone(), id, asked, sent, started, begun);
        let request = self.client.send(Request::from_parts(parts, body));
        let response = match bare {
            // The request is sent first, and recorded while the server works.
            true => futures::join!(request, exchange.asked()).0,
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
        exchange.asked().await;
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

/// Offers the server only content codings that can be decoded.
fn readable(headers: &mut HeaderMap) {
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
