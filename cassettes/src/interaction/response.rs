//! Responses, frames of streams and messages of upgraded connections.

use super::Headers;
use bytes::Bytes;
use std::time::Duration;

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A response.
    Response(Response),
    /// There was no response.
    Failure(Failure),
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The header fields.
    pub headers: Headers,
    /// The body, frames or messages.
    pub payload: Payload,
    /// Trailer fields.
    pub trailers: Headers,
    /// Why the response is incomplete, if it is.
    pub cut: Option<String>,
}

/// The content of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A body, recorded as a whole.
    Body(Bytes),
    /// A streamed body, with the time of each frame.
    Stream(Vec<Frame>),
    /// Messages in both directions of an upgraded connection.
    Messages(Vec<Message>),
}

impl Payload {
    /// The bytes of the body or of all frames. Empty for an upgraded connection.
    pub fn bytes(&self) -> Bytes {
        match self {
            Self::Body(bytes) => bytes.clone(),
            Self::Stream(frames) => frames
                .iter()
                .flat_map(|frame| frame.data.iter().copied())
                .collect::<Vec<_>>()
                .into(),
            Self::Messages(_) => Bytes::new(),
        }
    }
}

/// A part of a streamed body: a line of a watch with its line break, or a chunk of any other stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Time since the request.
    pub at: Duration,
    /// The bytes of the frame.
    pub data: Bytes,
}

/// A message on an upgraded connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Time since the request.
    pub at: Duration,
    /// The side that sent it.
    pub from: Sender,
    /// The content.
    pub data: Data,
}

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The side that sent the request.
    Client,
    /// The side that responded.
    Server,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// A WebSocket text message.
    Text(String),
    /// A WebSocket binary message. For other protocols, bytes as they were read.
    Binary(Bytes),
    /// A WebSocket ping.
    Ping(Bytes),
    /// A WebSocket pong.
    Pong(Bytes),
    /// A WebSocket close, with code and reason if present. For other protocols, the end of one direction.
    Close(Option<(u16, String)>),
}

/// The reason why there was no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The error message.
    pub text: String,
}

/// Kinds of failure that a client can distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The connection was refused, or the server is unreachable.
    Refused,
    /// The connection was closed before the response.
    Closed,
    /// The host name could not be resolved.
    Unresolved,
    /// The TLS handshake failed, for example because of the server's certificate.
    Tls,
    /// The response timed out.
    Timeout,
    /// The response was not HTTP.
    Protocol,
    /// The client closed the connection before the response, or its request was malformed.
    Abandoned,
}

impl FailureKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Refused,
        Self::Closed,
        Self::Unresolved,
        Self::Tls,
        Self::Timeout,
        Self::Protocol,
        Self::Abandoned,
    ];

    /// The name in a cassette.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Closed => "closed",
            Self::Unresolved => "unresolved",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Abandoned => "abandoned",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
