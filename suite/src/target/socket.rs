//! A connection that was upgraded to WebSocket or SPDY.

use std::time::Duration;

use base64::Engine;
use futures::{SinkExt, StreamExt};
use http::header::{CONNECTION, ORIGIN, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, Message, handshake::client::generate_key, protocol::Role};

use super::client::reason;
use super::spdy::Spdy;
use super::{MAX_BODY_BYTES, Stream, Target, TargetError};
use crate::catalog::Socket as Wanted;
use crate::check::Answer;
use crate::request::Request;

/// Time limit for sending a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// A received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Channel, if the sub-protocol has channels.
    pub channel: Option<u8>,
    /// Content.
    pub bytes: Vec<u8>,
    /// Whether the message type (text or binary) is that of the sub-protocol.
    pub typed: bool,
}

/// Encoding of the channel in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// No channels.
    Plain,
    /// The first byte is the channel.
    Binary,
    /// The first digit is the channel, and base64 follows.
    Base64,
}

impl Framing {
    fn of(protocol: &str) -> Self {
        match protocol {
            _ if protocol.ends_with("base64.channel.k8s.io") => Self::Base64,
            _ if protocol.ends_with("channel.k8s.io") => Self::Binary,
            _ => Self::Plain,
        }
    }

    fn write(self, channel: Option<u8>, text: &str) -> Message {
        let channel = channel.unwrap_or_default();
        match self {
            Self::Plain => Message::text(text),
            Self::Binary => Message::binary([&[channel], text.as_bytes()].concat()),
            Self::Base64 => Message::text(format!(
                "{channel}{}",
                base64::engine::general_purpose::STANDARD.encode(text)
            )),
        }
    }

    fn read(self, message: Message) -> Option<Received> {
        let (bytes, is_binary) = match message {
            Message::Text(text) => (text.as_bytes().to_vec(), false),
            Message::Binary(bytes) => (bytes.to_vec(), true),
            _ => return None,
        };
        let typed = is_binary == (self == Self::Binary);
        match (self, bytes.split_first()) {
            (Self::Binary, Some((channel, rest))) => Some(Received {
                channel: Some(*channel),
                bytes: rest.to_vec(),
                typed,
            }),
            (Self::Base64, Some((digit, rest))) => {
                let bytes = base64::engine::general_purpose::STANDARD
                    .decode(rest)
                    .unwrap_or_else(|_| rest.to_vec());
                Some(Received {
                    channel: Some(digit.wrapping_sub(b'0')),
                    bytes,
                    typed,
                })
            }
            _ => Some(Received {
                channel: None,
                bytes,
                typed,
            }),
        }
    }
}

/// The protocol of an upgraded connection.
#[derive(Debug)]
enum Connection {
    WebSocket(Box<WebSocketStream<reqwest::Upgraded>>, Framing),
    Spdy(Spdy<reqwest::Upgraded>),
}

/// An upgraded connection.
#[derive(Debug)]
pub struct Socket {
    /// Response that opened it, with an empty body.
    pub answer: Answer,
    connection: Connection,
    request: String,
}

/// Returns the headers of an upgrade request.
pub(super) fn upgrade_headers(wanted: &Wanted, key: &str) -> Vec<(HeaderName, String)> {
    let spdy = !wanted.spdy.is_empty();
    let mut headers = vec![
        (CONNECTION, "Upgrade".to_owned()),
        (UPGRADE, if spdy { "SPDY/3.1" } else { "websocket" }.to_owned()),
    ];
    if !spdy {
        headers.push((SEC_WEBSOCKET_VERSION, "13".to_owned()));
        headers.push((SEC_WEBSOCKET_KEY, key.to_owned()));
    }
    let named = wanted
        .protocol
        .iter()
        .map(|protocol| (protocol_header(wanted), protocol.clone()));
    headers.extend(named);
    headers
}

/// Returns the name of the header of the sub-protocol.
pub(crate) fn protocol_header(wanted: &Wanted) -> HeaderName {
    if wanted.spdy.is_empty() {
        SEC_WEBSOCKET_PROTOCOL
    } else {
        HeaderName::from_static("x-stream-protocol-version")
    }
}

impl Target {
    /// Returns the origin of the server.
    pub(super) fn origin(&self) -> Option<HeaderValue> {
        let url = url::Url::parse(self.via.as_ref().unwrap_or(&self.base)).ok()?;
        HeaderValue::from_str(&url.origin().ascii_serialization()).ok()
    }

    /// Opens an upgraded connection. If the server refuses, its response is returned.
    ///
    /// # Errors
    /// If no response came in time.
    pub async fn upgrade(&self, request: &Request, wanted: &Wanted) -> Result<Result<Socket, Answer>, TargetError> {
        let named = format!("{} {}", request.method, request.target());
        let mut builder = self.prepare(request);
        for (name, value) in upgrade_headers(wanted, &generate_key()) {
            builder = builder.header(name, value);
        }
        if let (true, Some(origin)) = (wanted.origin, self.origin()) {
            builder = builder.header(ORIGIN, origin);
        }
        let response = Self::head(builder, &named, self.timeout).await?;
        if response.status() != http::StatusCode::SWITCHING_PROTOCOLS {
            return Stream::of(response, named).whole().await.map(Err);
        }
        let headers = response.headers().clone();
        let broken_off = |error: reqwest::Error| TargetError::BrokenOff {
            request: named.clone(),
            reason: reason(&error),
        };
        let upgraded = response.upgrade().await.map_err(broken_off)?;
        let connection = if wanted.spdy.is_empty() {
            let bounds = tungstenite::protocol::WebSocketConfig::default().max_message_size(Some(MAX_BODY_BYTES));
            let stream = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(bounds)).await;
            let framing = Framing::of(wanted.protocol.as_deref().unwrap_or_default());
            Connection::WebSocket(Box::new(stream), framing)
        } else {
            let opened = Spdy::open(upgraded, &wanted.spdy, wanted.port).await;
            Connection::Spdy(opened.map_err(|error| TargetError::BrokenOff {
                request: named.clone(),
                reason: error.to_string(),
            })?)
        };
        Ok(Ok(Socket {
            answer: Answer {
                status: 101,
                headers,
                ..Answer::default()
            },
            connection,
            request: named,
        }))
    }

    /// Opens a WebSocket with JSON messages. If the server refuses, the stream has the body of its response.
    ///
    /// # Errors
    /// If no response came in time.
    pub async fn open_socket(&self, request: &Request, wanted: &Wanted) -> Result<Stream, TargetError> {
        let named = format!("{} {}", request.method, request.target());
        Ok(match self.upgrade(request, wanted).await? {
            Ok(socket) => Stream::over(socket, named),
            Err(answer) => Stream::whole_answer(answer, named),
        })
    }
}

impl Socket {
    /// Sends a text on a channel. Over SPDY, `None` ends the stream of the channel.
    ///
    /// # Errors
    /// If it cannot be sent in time.
    pub async fn send(&mut self, channel: Option<u8>, text: Option<&str>) -> Result<(), TargetError> {
        let sending = async {
            match &mut self.connection {
                Connection::WebSocket(stream, framing) => {
                    let message = framing.write(channel, text.unwrap_or_default());
                    stream.send(message).await.map_err(|error| error.to_string())
                }
                Connection::Spdy(spdy) => {
                    let sent = spdy.send(channel.unwrap_or_default(), text.map(str::as_bytes)).await;
                    sent.map_err(|error| error.to_string())
                }
            }
        };
        match tokio::time::timeout(SEND_TIMEOUT, sending).await {
            Ok(sent) => sent.map_err(|error| self.broken(&error)),
            Err(_) => Err(TargetError::TooLate(self.request.clone())),
        }
    }

    /// Receives the next message; `None` at the end. Waits without a time limit.
    pub async fn receive(&mut self) -> Option<Received> {
        let (stream, framing) = match &mut self.connection {
            Connection::WebSocket(stream, framing) => (stream, framing),
            Connection::Spdy(spdy) => {
                let (channel, bytes) = spdy.receive().await?;
                return Some(Received {
                    channel: Some(channel),
                    bytes: bytes.to_vec(),
                    typed: true,
                });
            }
        };
        loop {
            match stream.next().await {
                // Any error is the end.
                None | Some(Err(_)) | Some(Ok(Message::Close(_))) => return None,
                Some(Ok(message)) => {
                    if let Some(received) = framing.read(message) {
                        return Some(received);
                    }
                }
            }
        }
    }

    /// Receives the next message as a JSON value; `None` at the end. Waits without a time limit.
    ///
    /// # Errors
    /// If the message is binary, or not one JSON value.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, TargetError> {
        let Some(received) = self.receive().await else {
            return Ok(None);
        };
        if !received.typed {
            return Err(self.broken(&"a message is binary"));
        }
        serde_json::from_slice(&received.bytes)
            .map(Some)
            .map_err(|error| self.broken(&error))
    }

    /// Closes the connection.
    pub async fn close(mut self) {
        // Errors are ignored: the server may already have closed it.
        if let Connection::WebSocket(stream, _) = &mut self.connection {
            drop(tokio::time::timeout(SEND_TIMEOUT, stream.as_mut().close(None)).await);
        }
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> TargetError {
        TargetError::Stream {
            request: self.request.clone(),
            reason: error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("channel.k8s.io", Some(2))]
    #[case("v4.channel.k8s.io", Some(2))]
    #[case("base64.channel.k8s.io", Some(2))]
    #[case("v4.base64.channel.k8s.io", Some(2))]
    #[case("", None)]
    fn a_message_arrives_on_its_channel(#[case] protocol: &str, #[case] channel: Option<u8>) {
        let framing = Framing::of(protocol);
        assert_eq!(
            framing.read(framing.write(channel, "hello")),
            Some(Received {
                channel,
                bytes: b"hello".to_vec(),
                typed: true,
            })
        );
    }

    #[rstest]
    #[case("channel.k8s.io", Message::text("1hello"))]
    #[case("base64.channel.k8s.io", Message::binary(b"1aGVsbG8=".to_vec()))]
    #[case("", Message::binary(b"{}".to_vec()))]
    fn a_message_of_the_wrong_type_is_found(#[case] protocol: &str, #[case] message: Message) {
        assert!(!Framing::of(protocol).read(message).unwrap().typed);
    }
}
