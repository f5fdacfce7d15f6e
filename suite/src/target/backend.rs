//! The backend behind the target's proxy: it echoes requests, and returns content that a proxy may rewrite.
//!
//! | path | response |
//! |---|---|
//! | /html | a page with links |
//! | /redirect | 302 to /target?x=1 |
//! | /redirect-away | 302 to another host |
//! | /status/NNN | that status |
//! | /socket | a WebSocket that echoes every message |
//! | /mirror | the body of the request, with its content type |
//! | /bytes | [`BYTES`] bytes of all values |
//! | /headers | the line `headers`, with additional headers, one of them twice |
//! | /chunks | the lines `chunk 0` to `chunk 9`, each in a separate chunk, without a length |
//! | /stream | the line `first`, and nothing more until the client leaves |
//! | /gzip | the line [`COMPRESSED`], as gzip |
//! | /count/ANY | the line `request N` at the Nth request for that path |
//! | anything else | method, path, query, some headers, body and its length in bytes, as JSON |

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::{SinkExt, StreamExt};
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

/// Maximum size of a request body, in bytes.
const MAX_REQUEST_BYTES: usize = 1 << 20;
/// Request headers that are echoed.
const ECHOED_HEADERS: [&str; 9] = [
    "accept",
    "accept-language",
    "content-type",
    "if-none-match",
    "keep-alive",
    "range",
    "referer",
    "x-custom",
    "x-empty",
];
/// Size of the body of /bytes.
const BYTES: usize = 300_000;
/// Number of chunks of /chunks.
const CHUNKS: usize = 10;
/// Maximum number of counted paths.
const MAX_COUNTED_PATHS: usize = 4096;
/// Decoded body of /gzip.
const COMPRESSED: &str = "compressed behind the proxy\n";
const PAGE: &str = concat!(
    r#"<html><head><link href="/style.css"></head><body><a href="/abs/page">abs</a> <a href="rel/page">rel</a> "#,
    r#"<a href="http://example.com/out">out</a> <img src="/logo.png"> <form action="/submit"></form> "#,
    r#"<script src="/app.js"></script> <iframe src="/frame"></iframe> text /abs/not-a-link</body></html>"#,
    "\n"
);

type Body = BoxBody<Bytes, Infallible>;

/// Address at which the target's proxy reaches the backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendAddress {
    /// Host, as used in objects of the target.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// Response headers that a proxy forwards.
const HEADERS: [(header::HeaderName, &str); 6] = [
    (header::HeaderName::from_static("x-custom"), "a, b; c=\"d\""),
    (header::HeaderName::from_static("x-repeated"), "one"),
    (header::HeaderName::from_static("x-repeated"), "two"),
    (header::SET_COOKIE, "a=1; Path=/"),
    (header::CACHE_CONTROL, "no-store"),
    (header::ETAG, "\"7\""),
];

/// A running backend. Dropping it stops it.
#[derive(Debug)]
pub struct Backend {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Backend {
    /// Starts a backend. With port 0 the system chooses one.
    ///
    /// # Errors
    /// If it cannot listen on the address.
    pub async fn listen(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let counts = Arc::new(Counts::default());
        let serving = tokio::spawn(async move {
            loop {
                // Accept errors concern one connection only.
                let Ok((stream, _)) = listener.accept().await else {
                    continue;
                };
                let counts = Arc::clone(&counts);
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(
                        TokioIo::new(stream),
                        service_fn(move |request| answer(request, Arc::clone(&counts))),
                    )
                    .with_upgrades();
                tokio::spawn(connection);
            }
        });
        Ok(Self { address, serving })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Number of requests by path.
#[derive(Debug, Default)]
struct Counts(Mutex<HashMap<String, usize>>);

impl Counts {
    /// Counts a request and returns its number. All counts are reset at [`MAX_COUNTED_PATHS`] paths.
    fn next(&self, path: &str) -> usize {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MAX_COUNTED_PATHS {
            counts.clear();
        }
        let count = counts.entry(path.to_owned()).or_default();
        *count += 1;
        *count
    }
}

async fn answer(mut request: Request<Incoming>, counts: Arc<Counts>) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    if path.starts_with("/count/") {
        return Ok(plain(
            StatusCode::OK,
            &[(header::CONTENT_TYPE, "text/plain")],
            format!("request {}\n", counts.next(&path)),
        ));
    }
    Ok(match path.as_str() {
        "/html" => plain(
            StatusCode::OK,
            &[(header::CONTENT_TYPE, "text/html; charset=utf-8")],
            PAGE,
        ),
        "/redirect" => plain(StatusCode::FOUND, &[(header::LOCATION, "/target?x=1")], ""),
        "/redirect-away" => plain(StatusCode::FOUND, &[(header::LOCATION, "http://example.com/away")], ""),
        "/socket" => socket(&mut request),
        "/mirror" => mirror(request).await,
        "/bytes" => plain(
            StatusCode::OK,
            &[(header::CONTENT_TYPE, "application/octet-stream")],
            all_values(BYTES),
        ),
        "/headers" => plain(StatusCode::OK, &HEADERS, "headers\n"),
        "/chunks" => chunks(),
        "/stream" => endless(),
        "/gzip" => plain(
            StatusCode::OK,
            &[(header::CONTENT_TYPE, "text/plain"), (header::CONTENT_ENCODING, "gzip")],
            compressed(),
        ),
        _ => match path.strip_prefix("/status/").and_then(|code| code.parse().ok()) {
            Some(code @ (StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)) => plain(code, &[], ""),
            Some(code) => plain(
                code,
                &[(header::CONTENT_TYPE, "text/plain")],
                format!("status {code}\n"),
            ),
            None => echo(request).await,
        },
    })
}

fn plain(status: StatusCode, headers: &[(header::HeaderName, &'static str)], body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).boxed());
    *response.status_mut() = status;
    for (name, value) in headers {
        response
            .headers_mut()
            .append(name, header::HeaderValue::from_static(value));
    }
    response
}

/// Returns this many bytes, cycling through all 256 values.
pub(crate) fn all_values(count: usize) -> Vec<u8> {
    (0..count).map(|number| (number % 256) as u8).collect()
}

/// Returns a response without a known length.
fn chunks() -> Response<Body> {
    let chunk = |number| Ok(Frame::data(Bytes::from(format!("chunk {number}\n"))));
    let mut response = plain(StatusCode::OK, &[(header::CONTENT_TYPE, "text/plain")], "");
    *response.body_mut() = BodyExt::boxed(StreamBody::new(futures::stream::iter((0..CHUNKS).map(chunk))));
    response
}

/// Returns a response that does not end.
fn endless() -> Response<Body> {
    let first = futures::stream::iter([Ok(Frame::data(Bytes::from("first\n")))]);
    let mut response = plain(StatusCode::OK, &[(header::CONTENT_TYPE, "text/plain")], "");
    *response.body_mut() = BodyExt::boxed(StreamBody::new(first.chain(futures::stream::pending())));
    response
}

fn compressed() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(COMPRESSED.as_bytes());
    encoder.finish().unwrap_or_default()
}

async fn echo(request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_REQUEST_BYTES).collect().await else {
        return plain(StatusCode::BAD_REQUEST, &[], "the body is incomplete or too large");
    };
    let text = |headers: &HeaderMap, name: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let values: Vec<&str> = values.collect();
        (!values.is_empty()).then(|| Value::from(values.join(", ")))
    };
    let headers: serde_json::Map<String, Value> = ECHOED_HEADERS
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), text(&head.headers, name)?)))
        .collect();
    let body = body.to_bytes();
    let echo = json!({
        "method": head.method.as_str(), "path": head.uri.path(), "query": head.uri.query().unwrap_or_default(),
        "headers": headers, "body": String::from_utf8_lossy(&body), "length": body.len(),
    });
    plain(
        StatusCode::OK,
        &[(header::CONTENT_TYPE, "application/json")],
        echo.to_string(),
    )
}

async fn mirror(request: Request<Incoming>) -> Response<Body> {
    let content_type = request.headers().get(header::CONTENT_TYPE).cloned();
    let Ok(body) = Limited::new(request.into_body(), MAX_REQUEST_BYTES).collect().await else {
        return plain(StatusCode::BAD_REQUEST, &[], "the body is incomplete or too large");
    };
    let mut response = Response::new(Full::new(body.to_bytes()).boxed());
    if let Some(content_type) = content_type {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    response
}

/// Upgrades to a WebSocket that echoes every message.
fn socket(request: &mut Request<Incoming>) -> Response<Body> {
    let key = request
        .headers()
        .get(header::SEC_WEBSOCKET_KEY)
        .map(|key| derive_accept_key(key.as_bytes()));
    let Some(accept) = key.and_then(|key| header::HeaderValue::from_str(&key).ok()) else {
        return plain(StatusCode::BAD_REQUEST, &[], "Sec-WebSocket-Key is missing");
    };
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
        while let Some(Ok(message)) = socket.next().await {
            if (message.is_text() || message.is_binary()) && socket.send(message).await.is_err() {
                return;
            }
        }
    });
    let mut response = plain(
        StatusCode::SWITCHING_PROTOCOLS,
        &[(header::CONNECTION, "Upgrade"), (header::UPGRADE, "websocket")],
        "",
    );
    response.headers_mut().insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    response
}
