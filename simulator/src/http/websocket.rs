//! Watches over WebSocket: one text message per frame.
//!
//! - Messages from the client are read and dropped. When the client disconnects or the watch ends, the connection is
//!   closed.
//! - Under `kubernetes-1.2` the `Origin` header is required, and there may be at most one subprotocol, which is
//!   accepted as requested.
//!
//! Source: RFC 6455; Kubernetes v1.2 (`pkg/apiserver/watch.go`) over `golang.org/x/net/websocket`, as recorded
//! (`websocket-watch.json`).

use std::time::Duration;

use bytes::Bytes;
use futures::{Sink, SinkExt, Stream, StreamExt};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header, request::Parts};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message, Utf8Bytes,
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role, WebSocketConfig},
    },
};
use tokio_util::task::TaskTracker;

use super::{body::Body, negotiation};
use crate::profile::Profile;

/// Maximum size in bytes of a message from the client, which is dropped.
const MAX_INCOMING_BYTES: usize = 64 << 10;

/// Time for which the client's messages are still read after the close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether the client requests a protocol upgrade.
pub(crate) fn upgrades(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .any(|v| v.trim().eq_ignore_ascii_case("upgrade"))
}

/// Whether the client requests an upgrade to WebSocket.
pub(crate) fn is_websocket_request(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
        && upgrades(headers)
        && negotiation::header(headers, header::UPGRADE)
            .is_some_and(|protocol| protocol.eq_ignore_ascii_case("websocket"))
}

/// Responds to the handshake, and sends `frames` as messages after it.
pub(crate) fn upgrade(
    parts: &mut Parts,
    frames: impl Stream<Item = Bytes> + Send + 'static,
    profile: Profile,
    tasks: &TaskTracker,
) -> Response<Body> {
    let (mut response, fine) = handshake(&parts.headers, profile);
    match parts.extensions.remove::<OnUpgrade>() {
        Some(upgrading) if fine => {
            tasks.spawn(send(upgrading, frames));
        }
        None if fine => *response.status_mut() = StatusCode::BAD_REQUEST,
        _ => {}
    }
    response
}

/// Returns the response to a handshake, and whether it accepts.
fn handshake(headers: &HeaderMap, profile: Profile) -> (Response<Body>, bool) {
    let refused = |code| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = code;
        (response, false)
    };
    if headers
        .get(header::SEC_WEBSOCKET_VERSION)
        .is_none_or(|version| version != "13")
    {
        let (mut response, fine) = refused(StatusCode::BAD_REQUEST);
        response
            .headers_mut()
            .insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        return (response, fine);
    }
    let Some(key) = headers.get(header::SEC_WEBSOCKET_KEY) else {
        return refused(StatusCode::BAD_REQUEST);
    };
    let origin = negotiation::header(headers, header::ORIGIN).unwrap_or_default();
    let strict = !profile.websocket_is_lenient();
    if strict && url::Url::parse(origin).is_err() {
        return refused(StatusCode::FORBIDDEN);
    }
    let mut protocols = negotiation::header(headers, header::SEC_WEBSOCKET_PROTOCOL)
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|p| !p.is_empty());
    let protocol = protocols.next();
    if strict && protocols.next().is_some() {
        return refused(StatusCode::BAD_REQUEST);
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let fields = response.headers_mut();
    fields.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    fields.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        fields.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if let Some(protocol) = protocol.and_then(|p| HeaderValue::from_str(p).ok()) {
        fields.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    (response, true)
}

async fn send(upgrading: OnUpgrade, frames: impl Stream<Item = Bytes>) {
    let Ok(upgraded) = upgrading.await else { return };
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_INCOMING_BYTES))
        .max_frame_size(Some(MAX_INCOMING_BYTES));
    let socket: WebSocketStream<TokioIo<Upgraded>> =
        WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let (mut sink, mut incoming) = socket.split();
    let mut frames = std::pin::pin!(frames);
    loop {
        tokio::select! {
            frame = frames.next() => {
                let Some(frame) = frame else { break };
                let line = frame.strip_suffix(b"\n").map_or(frame.len(), <[u8]>::len);
                let Ok(text) = Utf8Bytes::try_from(frame.slice(..line)) else { break };
                if sink.send(Message::Text(text)).await.is_err() {
                    return;
                }
            }
            message = incoming.next() => match message {
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {}
            },
        }
    }
    close(sink, incoming, None).await;
}

/// Sends a close frame and reads until the client confirms it, for at most 2 s. A connection closed with unread bytes
/// is reset, and the client could lose data that it has not read yet.
pub(super) async fn close(
    mut sink: impl Sink<Message> + Unpin,
    mut incoming: impl Stream<Item = Result<Message, Error>> + Unpin,
    frame: Option<CloseFrame>,
) {
    // The client may be gone already.
    let _ = sink.send(Message::Close(frame)).await;
    let _ = sink.close().await;
    let rest = async { while let Some(Ok(_)) = incoming.next().await {} };
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, rest).await;
}
