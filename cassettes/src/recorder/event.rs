//! Events of an exchange, which are sent to the recording thread.

use super::buffers::Buffer;
use super::recent_bodies::RecentBody;
use crate::interaction::{Failure, Headers, Message, Request as RecordedRequest, Response as RecordedResponse};
use bytes::Bytes;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// A request that was sent to the server.
#[derive(Debug)]
pub(super) struct RequestStart {
    /// The request, without its body.
    pub(super) request: Arc<RecordedRequest>,
    pub(super) body: Option<Bytes>,
    /// Number of bytes of the body that are not kept.
    pub(super) omitted: u64,
    pub(super) started: Timestamp,
}

/// Status and header fields of a response.
#[derive(Debug)]
pub(super) struct Head {
    /// The response, without a body.
    pub(super) response: RecordedResponse,
    /// Time from the request to the head.
    pub(super) wait: Duration,
}

/// End of a body.
#[derive(Debug, Default)]
pub(super) struct BodyEnd {
    /// Trailer fields.
    pub(super) trailers: Headers,
    /// Why the body is incomplete, if it is.
    pub(super) cut: Option<String>,
}

/// An event of an exchange.
#[derive(Debug)]
pub(super) enum Event {
    /// The request was sent. Always the first event.
    RequestStart(Box<RequestStart>),
    /// The server did not respond.
    Failed(Failure),
    /// The whole response was received.
    Whole(Box<Head>, Vec<Buffer>, BodyEnd),
    /// The whole response was received. Its body is equal to one that was recorded.
    Repeated(Box<Head>, Arc<RecentBody>, BodyEnd),
    /// A response started that is recorded while it arrives: as pieces of a long body, or as frames of a stream.
    Open { head: Box<Head>, pieces: bool },
    /// The connection was upgraded.
    Upgraded(Box<Head>),
    /// A part of a body after [`Event::Open`].
    Data(Buffer),
    /// A message of an upgraded connection.
    Message(Message),
    /// The end of a body or connection after [`Event::Open`] or [`Event::Upgraded`].
    End(BodyEnd),
}
