//! What happens in an interaction, as it is sent to the thread that records.

use super::buffers::Buffer;
use crate::interaction::{Failure, Headers, Message, Request as RecordedRequest, Response as RecordedResponse};
use bytes::Bytes;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// A request as it is recorded.
#[derive(Debug)]
pub(super) struct Asked {
    /// The request without its body.
    pub(super) request: Arc<RecordedRequest>,
    pub(super) body: Option<Bytes>,
    /// How many bytes of the body are left out.
    pub(super) omitted: u64,
    pub(super) started: Timestamp,
}

/// The head of a response, as a response without a body.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) response: RecordedResponse,
    /// From the request to the head.
    pub(super) wait: Duration,
}

/// How a body ended.
#[derive(Debug, Default)]
pub(super) struct BodyEnd {
    /// The fields after it.
    pub(super) trailers: Headers,
    /// What cut it short.
    pub(super) cut: Option<String>,
}

/// What happened in an interaction.
#[derive(Debug)]
pub(super) enum Event {
    /// There is a request. It comes first.
    Asked(Box<Asked>),
    /// There was no response.
    Failed(Failure),
    /// The whole response was received.
    Whole(Box<Head>, Vec<Buffer>, BodyEnd),
    /// A response began that is recorded as it comes: as the pieces of a long body, or as frames.
    Open { head: Box<Head>, pieces: bool },
    /// The connection was upgraded.
    Upgraded(Box<Head>),
    /// More of a response that is recorded as it comes.
    Data(Buffer),
    /// A message of an upgraded connection.
    Message(Message),
    /// The end of what is recorded as it comes.
    End(BodyEnd),
}
