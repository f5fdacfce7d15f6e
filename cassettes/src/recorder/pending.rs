//! An interaction that is being recorded.

use super::frames::{Frames, SpdyFrames, WebSocketFrames};
use super::request_body::RequestBody;
use crate::format::{CassetteWriter, End, FormatError, Opening};
use crate::interaction::{
    Failure, FailureKind, Frame, Headers, LEFT, Message, Outcome, Payload, Request as RecordedRequest,
    Response as RecordedResponse,
};
use crate::redactor::{BodyRedactor, Conversation, Redactor};
use crate::transport::Coding;
use bytes::Bytes;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http::Response;
use hyper::body::Incoming;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A body longer than this is recorded in pieces, without structure, on a thread of its own.
pub(super) const WHOLE: usize = 64 << 10;

/// A line longer than this is recorded in pieces.
const LONGEST_LINE: usize = 1 << 20;

/// The cassette, and what is secret in it.
#[derive(Debug)]
pub(super) struct Log {
    writer: CassetteWriter,
    redactor: Redactor,
    failure: Mutex<Option<String>>,
}

impl Log {
    pub(super) fn new(writer: CassetteWriter, redactor: Redactor) -> Self {
        Self {
            writer,
            redactor,
            failure: Mutex::new(None),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.writer.path()
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Keeps the first error: the writer takes nothing after it.
    fn note(&self, result: Result<(), FormatError>) {
        if let Err(error) = result {
            self.failure.lock().get_or_insert_with(|| error.to_string());
        }
    }
}

/// Progress of an interaction.
#[derive(Debug)]
enum Stage {
    /// There is no response yet.
    Asked,
    /// The head of the response was received.
    Head(RecordedResponse),
    /// It is in the cassette and open there, as frames, pieces or messages.
    Open(Box<Open>),
    /// It is in the cassette whole.
    Done,
}

#[derive(Debug)]
struct Open {
    /// Whether its frames are the pieces of one body.
    pieces: bool,
    /// Whether a frame is a line.
    lines: bool,
    decoder: Decoder,
    line: Vec<u8>,
    body: BodyRedactor,
    /// The messages, if the connection was upgraded.
    conversation: Conversation,
}

/// An interaction that is being recorded.
#[derive(Debug)]
pub(super) struct PendingInteraction {
    log: Arc<Log>,
    id: u64,
    asked: RecordedRequest,
    sent: RequestBody,
    started: Timestamp,
    begun: Instant,
    wait: Duration,
    /// The fields that followed the body.
    trailers: Headers,
    /// The beginning of its document, if that was written in time.
    opening: Option<Opening>,
    stage: Stage,
}

impl PendingInteraction {
    pub(super) fn new(
        log: Arc<Log>,
        id: u64,
        asked: RecordedRequest,
        sent: RequestBody,
        started: Timestamp,
        begun: Instant,
    ) -> Self {
        Self {
            log,
            id,
            asked,
            sent,
            started,
            begun,
            wait: Duration::ZERO,
            trailers: Headers::default(),
            opening: None,
            stage: Stage::Asked,
        }
    }

    /// Writes the beginning of its document before there is a response. The request must be complete.
    pub(super) fn prepare(&mut self) {
        self.opening = Some(self.written());
    }

    /// There was no response.
    pub(super) fn failed(&mut self, failure: Failure) {
        self.wait = self.elapsed();
        let opening = self.opening();
        let text = self.log.redactor.text(&failure.text);
        let outcome = Outcome::Failure(Failure { text, ..failure });
        self.log.note(
            self.log
                .writer
                .append(opening, self.wait, Some(self.elapsed()), &outcome),
        );
        self.stage = Stage::Done;
    }

    /// The head of the response was received.
    pub(super) fn head(&mut self, response: &Response<Incoming>) {
        self.wait = self.elapsed();
        self.stage = Stage::Head(RecordedResponse {
            status: response.status().as_u16(),
            headers: response.headers().into(),
            payload: Payload::Body(Bytes::new()),
            trailers: Headers::default(),
            cut: None,
        });
    }

    /// The fields after the body were received.
    pub(super) fn trailers(&mut self, trailers: Headers) {
        self.trailers = trailers;
    }

    /// Whether the response is expected to go on.
    pub(super) fn streams(&self) -> bool {
        matches!(&self.stage, Stage::Head(response) if (200..300).contains(&response.status))
            && self.asked.asks_for_stream()
    }

    /// The whole response was received.
    pub(super) fn whole(&mut self, body: Bytes, cut: Option<&str>) {
        let Stage::Head(response) = std::mem::replace(&mut self.stage, Stage::Done) else {
            return;
        };
        // The request first: what is secret in it may be in the response.
        let opening = self.opening();
        let redactor = &self.log.redactor;
        let decoded = match Coding::named(response.headers.get("content-encoding")) {
            Some(Coding::Identity) => Some(body.clone()),
            Some(coding) => crate::transport::decode(coding, &body).ok().map(Bytes::from),
            None => None,
        };
        let (body, cut) = match decoded {
            Some(decoded) => (decoded, cut.map(str::to_owned)),
            // What cannot be read cannot be searched for secrets either.
            None if redactor.is_off() => (body, cut.map(str::to_owned)),
            None => (
                Bytes::new(),
                Some("the body is in a coding that cannot be read".to_owned()),
            ),
        };
        let headers = redactor.headers(&response.headers);
        let body = redactor.body(&body, &response.headers, self.asked.path(), response.status >= 400);
        let cut = cut.map(|cut| redactor.text(&cut));
        let response = RecordedResponse {
            headers,
            payload: Payload::Body(body),
            trailers: redactor.headers(&self.trailers),
            cut,
            ..response
        };
        self.log.note(
            self.log
                .writer
                .append(opening, self.wait, Some(self.elapsed()), &Outcome::Response(response)),
        );
    }

    /// From now on the response is recorded as it comes: as frames, or as the pieces of a long body.
    pub(super) fn open(&mut self, pieces: bool) {
        let Stage::Head(response) = std::mem::replace(&mut self.stage, Stage::Done) else {
            return;
        };
        let opening = self.opening();
        let (headers, status) = (response.headers.clone(), response.status);
        let decoder = Decoder::new(
            Coding::named(headers.get("content-encoding")),
            self.log.redactor.is_off(),
        );
        let payload = if pieces {
            Payload::Body(Bytes::new())
        } else {
            Payload::Stream(Vec::new())
        };
        let recorded = RecordedResponse {
            headers: self.log.redactor.headers(&headers),
            payload,
            ..response
        };
        let outcome = Outcome::Response(recorded);
        let writer = &self.log.writer;
        self.log.note(match pieces {
            true => writer.begin(opening, self.wait, &outcome),
            false => writer.append(opening, self.wait, None, &outcome),
        });
        let path = self.asked.path();
        let body = BodyRedactor::new(&self.log.redactor, &headers, path, status >= 400);
        let lines =
            !pieces && (path.split('/').any(|segment| segment == "watch") || self.asked.query().contains("watch="));
        self.stage = Stage::Open(Box::new(Open {
            pieces,
            lines,
            decoder,
            line: Vec::new(),
            body,
            conversation: Conversation::new(&Headers::default(), ""),
        }));
    }

    /// The connection was upgraded.
    pub(super) fn upgraded(&mut self) {
        let Stage::Head(response) = std::mem::replace(&mut self.stage, Stage::Done) else {
            return;
        };
        let opening = self.opening();
        let conversation = Conversation::new(&response.headers, self.asked.path());
        let headers = self.log.redactor.headers(&response.headers);
        let recorded = RecordedResponse {
            headers,
            payload: Payload::Messages(Vec::new()),
            ..response
        };
        self.log.note(
            self.log
                .writer
                .append(opening, self.wait, None, &Outcome::Response(recorded)),
        );
        self.stage = Stage::Open(Box::new(Open {
            pieces: false,
            lines: false,
            decoder: Decoder::Plain,
            line: Vec::new(),
            body: BodyRedactor::new(&self.log.redactor, &Headers::default(), "", false),
            conversation,
        }));
    }

    /// Reads the messages of one direction of the connection.
    pub(super) fn frames(&self) -> Frames {
        let protocol = self
            .asked
            .headers
            .get("upgrade")
            .unwrap_or_default()
            .to_ascii_lowercase();
        match protocol.as_str() {
            "websocket" => Frames::WebSocket(WebSocketFrames::default()),
            spdy if spdy.starts_with("spdy/") => Frames::Spdy(SpdyFrames::default()),
            _ => Frames::None,
        }
    }

    /// A message of an upgraded connection was received.
    pub(super) fn message(&mut self, message: &Message) {
        if let Stage::Open(open) = &mut self.stage {
            for message in open.conversation.push(&self.log.redactor, message) {
                self.log.note(self.log.writer.message(self.id, &message));
            }
        }
    }

    /// More of a response that is recorded as it comes.
    pub(super) fn data(&mut self, data: &Bytes) {
        let at = self.elapsed();
        let Stage::Open(open) = &mut self.stage else {
            return;
        };
        let data = open.decoder.decode(data);
        if !open.lines {
            return frame(&self.log, self.id, open, at, data);
        }
        let mut rest = data;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let end = rest.split_to(end + 1);
            let line = if open.line.is_empty() {
                end
            } else {
                open.line.extend_from_slice(&end);
                std::mem::take(&mut open.line).into()
            };
            frame(&self.log, self.id, open, at, line);
        }
        open.line.extend_from_slice(&rest);
        if open.line.len() > LONGEST_LINE {
            let line = std::mem::take(&mut open.line).into();
            frame(&self.log, self.id, open, at, line);
        }
    }

    /// The end of a response that is recorded as it comes.
    pub(super) fn end(&mut self, cut: Option<&str>) {
        let took = self.elapsed();
        let Stage::Open(mut open) = std::mem::replace(&mut self.stage, Stage::Done) else {
            return;
        };
        let line = std::mem::take(&mut open.line);
        let log = &self.log;
        for message in open.conversation.finish(&log.redactor) {
            log.note(log.writer.message(self.id, &message));
        }
        frame(log, self.id, &mut open, took, line.into());
        let rest = open.body.finish(&log.redactor);
        put(log, self.id, open.pieces, took, rest.into());
        let cut = cut.map(|cut| log.redactor.text(cut));
        let trailers = log.redactor.headers(&self.trailers);
        log.note(log.writer.end(self.id, &End { took, trailers, cut }));
    }

    /// The client went away.
    fn abandoned(&mut self) {
        match self.stage {
            Stage::Asked => {
                let text = "the client went away before the response".into();
                self.failed(Failure {
                    kind: FailureKind::Abandoned,
                    text,
                });
            }
            Stage::Head(_) => self.whole(Bytes::new(), Some(LEFT)),
            Stage::Open(_) => self.end(Some(LEFT)),
            Stage::Done => {}
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn opening(&mut self) -> Opening {
        self.opening.take().unwrap_or_else(|| self.written())
    }

    fn written(&self) -> Opening {
        let (body, omitted) = self.sent.taken();
        let mut asked = RecordedRequest {
            body,
            omitted,
            ..self.asked.clone()
        };
        crate::transport::decode_request(&mut asked, self.log.redactor.is_off());
        Opening::new(self.id, self.started, &self.log.redactor.request(&asked))
    }
}

impl Drop for PendingInteraction {
    /// A client that goes away before the response drops the exchange at any stage.
    fn drop(&mut self) {
        self.abandoned();
    }
}

fn frame(log: &Log, id: u64, open: &mut Open, at: Duration, data: Bytes) {
    if !data.is_empty() {
        let data = open.body.push(&log.redactor, &data);
        put(log, id, open.pieces, at, data.into());
    }
}

fn put(log: &Log, id: u64, pieces: bool, at: Duration, data: Bytes) {
    if data.is_empty() {
        return;
    }
    let frame = Frame { at, data };
    log.note(if pieces {
        log.writer.piece(id, &frame)
    } else {
        log.writer.frame(id, &frame)
    });
}

/// Undoes a content coding as it comes.
enum Decoder {
    Plain,
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
    /// What cannot be read is not recorded.
    Unreadable,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decoder")
    }
}

impl Decoder {
    fn new(coding: Option<Coding>, raw: bool) -> Self {
        match coding {
            Some(Coding::Identity) => Self::Plain,
            Some(Coding::Gzip) => Self::Gzip(MultiGzDecoder::new(Vec::new())),
            Some(Coding::Deflate) => Self::Deflate(ZlibDecoder::new(Vec::new())),
            None if raw => Self::Plain,
            None => Self::Unreadable,
        }
    }

    fn decode(&mut self, data: &Bytes) -> Bytes {
        // A body that turns out not to be in its coding is recorded as far as it was.
        let (result, out) = match self {
            Self::Plain => return data.clone(),
            Self::Unreadable => return Bytes::new(),
            Self::Gzip(decoder) => (
                decoder.write_all(data).and_then(|()| decoder.flush()),
                decoder.get_mut(),
            ),
            Self::Deflate(decoder) => (
                decoder.write_all(data).and_then(|()| decoder.flush()),
                decoder.get_mut(),
            ),
        };
        let out = Bytes::from(std::mem::take(out));
        if result.is_err() {
            *self = Self::Unreadable;
        }
        out
    }
}
