//! Responses, and what streams and upgraded connections carry.

use super::Headers;
use bytes::Bytes;
use std::time::Duration;

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A response.
    Response(Response),
    /// No response.
    Failure(Failure),
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The header fields.
    pub headers: Headers,
    /// What followed the head.
    pub payload: Payload,
    /// The fields that followed the body.
    pub trailers: Headers,
    /// What cut the response short of its end, if something did.
    pub cut: Option<String>,
}

/// What followed the head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A body that came at once.
    Body(Bytes),
    /// A body that came bit by bit.
    Stream(Vec<Frame>),
    /// What went both ways over an upgraded connection.
    Messages(Vec<Message>),
}

impl Payload {
    /// The bytes of the body, of all frames together; none for an upgraded connection.
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

/// A piece of a streamed body: a line of a watch with its line break, a chunk of anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When it came, counted from the request.
    pub at: Duration,
    /// Its bytes.
    pub data: Bytes,
}

/// What one side sent over an upgraded connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it came, counted from the request.
    pub at: Duration,
    /// Who sent it.
    pub from: Sender,
    /// What it is.
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
    /// A WebSocket binary message; bytes as they were read, for another protocol.
    Binary(Bytes),
    /// A WebSocket ping.
    Ping(Bytes),
    /// A WebSocket pong.
    Pong(Bytes),
    /// A WebSocket close, with its code and reason if it gave them; the end of what one side sends, for another
    /// protocol.
    Close(Option<(u16, String)>),
}

/// Why there was no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// How the failure was worded.
    pub text: String,
}

/// The kinds of failure that a client can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The connection was refused, or there was no way to the server.
    Refused,
    /// The connection ended before the response.
    Closed,
    /// The name could not be resolved.
    Unresolved,
    /// The server's certificate was not accepted, or TLS failed otherwise.
    Tls,
    /// The response did not come in time.
    Timeout,
    /// What came was no HTTP.
    Protocol,
    /// The client went away before the response, or its request was malformed.
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

    /// Its name in a cassette.
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

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
