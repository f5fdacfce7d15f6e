//! An interaction that is being recorded.

use super::buffers::Buffer;
use super::event::{BodyEnd, Event, Head, RequestStart};
use super::recent_bodies::{MAX_BODY_BYTES, MAX_BYTES, RecentBodies, RecentBody};
use crate::format::{CassetteWriter, End, FormatError, Opening};
use crate::interaction::{
    Failure, Frame, Headers, Message, Outcome, Payload, Request as RecordedRequest, Response as RecordedResponse,
};
use crate::redactor::{BodyRedactor, Conversation, Redactor};
use crate::transport::Coding;
use bytes::Bytes;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// A longer line of a watch is recorded as several frames.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The cassette file, its redactor and the bodies to which it can refer.
#[derive(Debug)]
pub(super) struct CassetteLog {
    pub(super) writer: CassetteWriter,
    pub(super) redactor: Redactor,
    pub(super) recent: Arc<RecentBodies>,
    /// Total length of the parts that are kept of bodies that have not ended.
    pub(super) kept: usize,
}

/// A response that is recorded while it arrives.
#[derive(Debug)]
struct Open {
    /// Whether it is recorded as pieces of one body instead of frames.
    pieces: bool,
    /// Whether each frame is a line.
    lines: bool,
    decoder: Decoder,
    /// The incomplete line.
    line: Vec<u8>,
    body: BodyRedactor,
    /// Buffer for redacted bytes, reused.
    ready: Vec<u8>,
    /// Redactor of the messages of an upgraded connection.
    conversation: Conversation,
    /// The body for [`RecentBodies`].
    kept: Option<RecentBody>,
}

/// An interaction that is being recorded.
#[derive(Debug)]
pub(super) struct PendingInteraction {
    id: u64,
    request: Arc<RecordedRequest>,
    /// The beginning of its document, until the rest is written.
    opening: Option<Opening>,
    /// The response, while it is recorded as frames, pieces or messages.
    open: Option<Box<Open>>,
}

impl PendingInteraction {
    /// Starts an interaction with its request.
    pub(super) fn new(redactor: &Redactor, id: u64, start: RequestStart) -> Self {
        let mut request = RecordedRequest {
            body: start.body,
            omitted: start.omitted,
            ..(*start.request).clone()
        };
        crate::transport::decode_request(&mut request, redactor.is_off());
        Self {
            id,
            opening: Some(Opening::new(id, start.started, &redactor.request(&request))),
            request: start.request,
            open: None,
        }
    }

    /// Records an event. `at` is the time since the request.
    pub(super) fn record(&mut self, log: &mut CassetteLog, at: Duration, event: Event) -> Result<(), FormatError> {
        match event {
            Event::RequestStart(_) => Ok(()),
            Event::Failed(failure) => self.failed(log, at, failure),
            Event::Whole(head, chunks, end) => {
                let mut chunks = chunks;
                let body = match (chunks.pop(), chunks.is_empty()) {
                    (Some(only), true) => only.into_bytes(),
                    (last, _) => {
                        chunks.extend(last);
                        chunks.iter().flat_map(|chunk| chunk.iter().copied()).collect()
                    }
                };
                self.whole(log, at, *head, &body, end)
            }
            Event::Repeated(head, body, end) => self.repeated(log, at, *head, &body, end),
            Event::Open { head, pieces } => self.begin(log, *head, pieces),
            Event::Upgraded(head) => self.upgraded(log, *head),
            Event::Data(data) => {
                self.data(log, at, &data)?;
                self.keep(log, data);
                Ok(())
            }
            Event::Message(message) => self.message(log, &message),
            Event::End(end) => self.end(log, at, end),
        }
    }

    fn failed(&mut self, log: &mut CassetteLog, took: Duration, failure: Failure) -> Result<(), FormatError> {
        let text = log.redactor.text(&failure.text);
        let outcome = Outcome::Failure(Failure { text, ..failure });
        self.append(log, took, Some(took), &outcome, None)
    }

    fn whole(
        &mut self,
        log: &mut CassetteLog,
        took: Duration,
        head: Head,
        body: &Bytes,
        end: BodyEnd,
    ) -> Result<(), FormatError> {
        let Head { response, wait } = head;
        let redactor = &log.redactor;
        let decoded = match Coding::named(response.headers.get("content-encoding")) {
            Some(Coding::Identity) => Some(body.clone()),
            Some(coding) => crate::transport::decode(coding, body).ok().map(Bytes::from),
            None => None,
        };
        let (body, cut) = match decoded {
            Some(decoded) => (decoded, end.cut),
            // A body that cannot be decoded cannot be searched for secrets.
            None if redactor.is_off() => (body.clone(), end.cut),
            None => (
                Bytes::new(),
                Some("the body is in a coding that cannot be read".to_owned()),
            ),
        };
        let body = redactor.body(&body, &response.headers, self.request.path(), response.status >= 400);
        let response = RecordedResponse {
            headers: redactor.headers(&response.headers),
            payload: Payload::Body(body),
            trailers: redactor.headers(&end.trailers),
            cut: cut.map(|cut| redactor.text(&cut)),
            ..response
        };
        self.append(log, wait, Some(took), &Outcome::Response(response), None)
    }

    fn repeated(
        &mut self,
        log: &mut CassetteLog,
        took: Duration,
        head: Head,
        body: &RecentBody,
        end: BodyEnd,
    ) -> Result<(), FormatError> {
        let Head { response, wait } = head;
        let response = RecordedResponse {
            headers: log.redactor.headers(&response.headers),
            trailers: log.redactor.headers(&end.trailers),
            ..response
        };
        self.append(log, wait, Some(took), &Outcome::Response(response), Some(body.id()))
    }

    /// Starts a response that is recorded as pieces of a long body, or as frames.
    fn begin(&mut self, log: &mut CassetteLog, head: Head, pieces: bool) -> Result<(), FormatError> {
        let Head { response, wait } = head;
        let (headers, status) = (response.headers.clone(), response.status);
        let payload = if pieces {
            Payload::Body(Bytes::new())
        } else {
            Payload::Stream(Vec::new())
        };
        let path = self.request.path();
        let is_watch = path.split('/').any(|segment| segment == "watch") || self.request.query().contains("watch=");
        self.open = Some(Box::new(Open {
            pieces,
            lines: !pieces && is_watch,
            decoder: Decoder::new(Coding::named(headers.get("content-encoding")), log.redactor.is_off()),
            line: Vec::new(),
            body: BodyRedactor::new(&log.redactor, &headers, path, status >= 400),
            ready: Vec::new(),
            conversation: Conversation::new(&Headers::default(), ""),
            kept: pieces.then(|| RecentBody::new(self.id, status, headers)),
        }));
        let recorded = RecordedResponse {
            headers: log.redactor.headers(&response.headers),
            payload,
            ..response
        };
        let outcome = Outcome::Response(recorded);
        match self.opening.take() {
            Some(opening) if pieces => log.writer.begin(opening, wait, &outcome),
            Some(opening) => log.writer.append(opening, wait, None, &outcome, None),
            None => Ok(()),
        }
    }

    fn upgraded(&mut self, log: &mut CassetteLog, head: Head) -> Result<(), FormatError> {
        let Head { response, wait } = head;
        self.open = Some(Box::new(Open {
            pieces: false,
            lines: false,
            decoder: Decoder::Plain,
            line: Vec::new(),
            body: BodyRedactor::new(&log.redactor, &Headers::default(), "", false),
            ready: Vec::new(),
            conversation: Conversation::new(&response.headers, self.request.path()),
            kept: None,
        }));
        let recorded = RecordedResponse {
            headers: log.redactor.headers(&response.headers),
            payload: Payload::Messages(Vec::new()),
            ..response
        };
        self.append(log, wait, None, &Outcome::Response(recorded), None)
    }

    fn message(&mut self, log: &mut CassetteLog, message: &Message) -> Result<(), FormatError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        for message in open.conversation.push(&log.redactor, message) {
            log.writer.message(self.id, &message)?;
        }
        Ok(())
    }

    fn data(&mut self, log: &mut CassetteLog, at: Duration, data: &[u8]) -> Result<(), FormatError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let data = open.decoder.decode(data);
        if !open.lines {
            return frame(log, self.id, open, at, &data);
        }
        let mut rest = &*data;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (end, more) = rest.split_at(end + 1);
            rest = more;
            if open.line.is_empty() {
                frame(log, self.id, open, at, end)?;
            } else {
                open.line.extend_from_slice(end);
                let line = std::mem::take(&mut open.line);
                frame(log, self.id, open, at, &line)?;
            }
        }
        open.line.extend_from_slice(rest);
        if open.line.len() > MAX_LINE_BYTES {
            let line = std::mem::take(&mut open.line);
            frame(log, self.id, open, at, &line)?;
        }
        Ok(())
    }

    fn end(&mut self, log: &mut CassetteLog, took: Duration, end: BodyEnd) -> Result<(), FormatError> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        let line = std::mem::take(&mut open.line);
        for message in open.conversation.finish(&log.redactor) {
            log.writer.message(self.id, &message)?;
        }
        frame(log, self.id, &mut open, took, &line)?;
        let rest = open.body.finish(&log.redactor);
        put(log, self.id, open.pieces, took, [&rest, &[]])?;
        let end = End {
            took,
            trailers: log.redactor.headers(&end.trailers),
            cut: end.cut.map(|cut| log.redactor.text(&cut)),
        };
        log.writer.end(self.id, &end)?;
        if let Some(kept) = open.kept {
            log.kept -= kept.len();
            if end.cut.is_none() {
                log.recent.keep(&self.request.url, kept);
            }
        }
        Ok(())
    }

    /// Keeps a part of the body for [`RecentBodies`], unless that is too much.
    fn keep(&mut self, log: &mut CassetteLog, data: Buffer) {
        let Some(open) = &mut self.open else { return };
        let Some(kept) = &mut open.kept else { return };
        if kept.len() + data.len() > MAX_BODY_BYTES || log.kept + data.len() > MAX_BYTES {
            log.kept -= kept.len();
            open.kept = None;
            return;
        }
        log.kept += data.len();
        kept.push(data);
    }

    fn append(
        &mut self,
        log: &mut CassetteLog,
        wait: Duration,
        took: Option<Duration>,
        outcome: &Outcome,
        body_of: Option<u64>,
    ) -> Result<(), FormatError> {
        match self.opening.take() {
            Some(opening) => log.writer.append(opening, wait, took, outcome, body_of),
            None => Ok(()),
        }
    }
}

fn frame(log: &mut CassetteLog, id: u64, open: &mut Open, at: Duration, data: &[u8]) -> Result<(), FormatError> {
    if data.is_empty() {
        return Ok(());
    }
    open.ready.clear();
    let unaltered = open.body.push_into(&log.redactor, data, &mut open.ready);
    put(log, id, open.pieces, at, [&open.ready, unaltered])
}

/// Writes redacted bytes, which are in two parts, as a piece or frame.
fn put(
    log: &mut CassetteLog,
    id: u64,
    pieces: bool,
    at: Duration,
    [begin, rest]: [&[u8]; 2],
) -> Result<(), FormatError> {
    if begin.is_empty() && rest.is_empty() {
        return Ok(());
    }
    if pieces {
        return log.writer.piece(id, at, begin, rest);
    }
    let data = Bytes::from([begin, rest].concat());
    log.writer.frame(id, &Frame { at, data })
}

/// Incremental decoder of a content coding.
enum Decoder {
    Plain,
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
    /// An unknown or broken coding. Nothing is recorded.
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

    fn decode<'a>(&mut self, data: &'a [u8]) -> Cow<'a, [u8]> {
        // The part before an error is recorded.
        let (result, out) = match self {
            Self::Plain => return data.into(),
            Self::Unreadable => return Cow::default(),
            Self::Gzip(decoder) => (
                decoder.write_all(data).and_then(|()| decoder.flush()),
                decoder.get_mut(),
            ),
            Self::Deflate(decoder) => (
                decoder.write_all(data).and_then(|()| decoder.flush()),
                decoder.get_mut(),
            ),
        };
        let out = std::mem::take(out);
        if result.is_err() {
            *self = Self::Unreadable;
        }
        out.into()
    }
}
