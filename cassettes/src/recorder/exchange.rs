//! An exchange: a request that the proxy forwards, its response, and the events sent to the recording thread.

use super::buffers::Buffer;
use super::event::{BodyEnd, Event, Head, RequestStart};
use super::frames::{Frames, SpdyFrames, WebSocketFrames};
use super::log::{Entry, Log};
use super::recent_bodies::RecentBody;
use super::request_body::RequestBody;
use crate::interaction::{
    CLIENT_CLOSED, Failure, FailureKind, Headers, Message, Payload, Request as RecordedRequest,
    Response as RecordedResponse,
};
use bytes::Bytes;
use http::Response;
use hyper::body::Incoming;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// Progress of an exchange.
#[derive(Debug)]
enum Stage {
    /// Waiting for the response.
    AwaitingHead,
    /// The head of the response was received.
    Head(Box<Head>),
    /// The body is recorded while it arrives.
    Open,
    /// The exchange has ended.
    Done,
}

/// An exchange that is being recorded. Dropping it before its end records that the client closed the connection.
#[derive(Debug)]
pub(super) struct Exchange {
    log: Arc<Log>,
    id: u64,
    request: Arc<RecordedRequest>,
    sent: RequestBody,
    started: Timestamp,
    begun: Instant,
    /// Whether the request was sent to the recording thread.
    is_recorded: bool,
    stage: Stage,
}

impl Exchange {
    pub(super) fn new(
        log: Arc<Log>,
        id: u64,
        request: RecordedRequest,
        sent: RequestBody,
        started: Timestamp,
        begun: Instant,
    ) -> Self {
        Self {
            log,
            id,
            request: Arc::new(request),
            sent,
            started,
            begun,
            is_recorded: false,
            stage: Stage::AwaitingHead,
        }
    }

    /// Waits for free space in the queue, and records the request with the part of its body that was sent.
    pub(super) async fn request_sent(&mut self) {
        if self.is_recorded {
            return;
        }
        let permit = self.log.reserve(self.head_bytes() + self.sent.length()).await;
        self.record_request(permit);
    }

    /// The event queue of the recording thread.
    pub(super) fn log(&self) -> Arc<Log> {
        self.log.clone()
    }

    /// Records that the server did not respond.
    pub(super) fn failed(&mut self, failure: Failure) {
        self.stage = Stage::Done;
        self.record(Event::Failed(failure), None);
    }

    /// Keeps the head of the response for the event that follows.
    pub(super) fn head(&mut self, response: &Response<Incoming>) {
        let response = RecordedResponse {
            status: response.status().as_u16(),
            headers: response.headers().into(),
            payload: Payload::Body(Bytes::new()),
            trailers: Headers::default(),
            cut: None,
        };
        let wait = self.begun.elapsed();
        self.stage = Stage::Head(Box::new(Head { response, wait }));
    }

    /// Whether the response is a stream: successful, and the request asks for one.
    pub(super) fn streams(&self) -> bool {
        matches!(&self.stage, Stage::Head(head) if (200..300).contains(&head.response.status))
            && self.request.asks_for_stream()
    }

    /// Records a complete response.
    pub(super) fn whole(&mut self, chunks: Vec<Buffer>, end: BodyEnd, permit: Option<OwnedSemaphorePermit>) {
        if let Stage::Head(head) = std::mem::replace(&mut self.stage, Stage::Done) {
            self.record(Event::Whole(head, chunks, end), permit);
        }
    }

    /// The last recorded body of the URL, if the head of the response is the same.
    pub(super) fn recent_body(&self) -> Option<Arc<RecentBody>> {
        match &self.stage {
            Stage::Head(head) => self.log.recent_body(&self.request.url, &head.response),
            _ => None,
        }
    }

    /// Records a complete response whose body is equal to a recorded one.
    pub(super) fn repeated(&mut self, body: Arc<RecentBody>, end: BodyEnd, permit: Option<OwnedSemaphorePermit>) {
        if let Stage::Head(head) = std::mem::replace(&mut self.stage, Stage::Done) {
            self.record(Event::Repeated(head, body, end), permit);
        }
    }

    /// Starts recording the body while it arrives: as pieces of a long body, or as frames of a stream.
    pub(super) fn open(&mut self, pieces: bool) {
        if let Stage::Head(head) = std::mem::replace(&mut self.stage, Stage::Open) {
            self.record(Event::Open { head, pieces }, None);
        }
    }

    /// Records that the connection was upgraded.
    pub(super) fn upgraded(&mut self) {
        if let Stage::Head(head) = std::mem::replace(&mut self.stage, Stage::Open) {
            self.record(Event::Upgraded(head), None);
        }
    }

    /// Returns a reader for the messages of one direction of the upgraded connection.
    pub(super) fn frames(&self) -> Frames {
        let protocol = self.request.headers.get("upgrade").unwrap_or_default();
        match protocol.to_ascii_lowercase().as_str() {
            "websocket" => Frames::WebSocket(WebSocketFrames::default()),
            spdy if spdy.starts_with("spdy/") => Frames::Spdy(SpdyFrames::default()),
            _ => Frames::None,
        }
    }

    /// Records a message of the upgraded connection.
    pub(super) fn message(&mut self, message: Message, permit: Option<OwnedSemaphorePermit>) {
        self.record(Event::Message(message), permit);
    }

    /// Copies a part of the response body for [`Exchange::data`].
    pub(super) fn copy(&self, data: &[u8]) -> Buffer {
        self.log.copy(data)
    }

    /// Records a part of the body.
    pub(super) fn data(&mut self, data: Buffer, permit: Option<OwnedSemaphorePermit>) {
        self.record(Event::Data(data), permit);
    }

    /// Records the end of the body or the upgraded connection.
    pub(super) fn end(&mut self, end: BodyEnd) {
        if let Stage::Open = std::mem::replace(&mut self.stage, Stage::Done) {
            self.record(Event::End(end), None);
        }
    }

    /// Time since the request.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Length of the URL and header fields in bytes.
    pub(super) fn head_bytes(&self) -> usize {
        let fields =
            |headers: &Headers| -> usize { headers.0.iter().map(|(name, value)| name.len() + value.len()).sum() };
        let response = match &self.stage {
            Stage::Head(head) => fields(&head.response.headers),
            _ => 0,
        };
        self.request.url.len() + fields(&self.request.headers) + response
    }

    fn record_request(&mut self, permit: Option<OwnedSemaphorePermit>) {
        if std::mem::replace(&mut self.is_recorded, true) {
            return;
        }
        let (body, omitted) = self.sent.take();
        let start = RequestStart {
            request: self.request.clone(),
            body,
            omitted,
            started: self.started,
        };
        self.send(Event::RequestStart(Box::new(start)), permit);
    }

    fn record(&mut self, event: Event, permit: Option<OwnedSemaphorePermit>) {
        self.record_request(None);
        self.send(event, permit);
    }

    fn send(&self, event: Event, permit: Option<OwnedSemaphorePermit>) {
        self.log.send(Entry {
            id: self.id,
            at: self.elapsed(),
            event,
            permit,
        });
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let left = || BodyEnd {
            trailers: Headers::default(),
            cut: Some(CLIENT_CLOSED.to_owned()),
        };
        match self.stage {
            Stage::AwaitingHead => self.failed(Failure {
                kind: FailureKind::Abandoned,
                text: "the client went away before the response".to_owned(),
            }),
            Stage::Head(_) => self.whole(Vec::new(), left(), None),
            Stage::Open => self.end(left()),
            Stage::Done => {}
        }
    }
}
