//! Response bodies, recorded while they are forwarded.

use super::buffers::Buffer;
use super::event::BodyEnd;
use super::exchange::Exchange;
use super::log::permits;
use super::recent_bodies::RecentBody;
use crate::interaction::{CLIENT_CLOSED, Headers};
use crate::transport::BodyError;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::PollSemaphore;

/// Maximum length of a body that is recorded as structure. A longer one is recorded as pieces of text.
const MAX_BUFFERED_BYTES: usize = 64 << 10;

/// A body of unknown length that takes longer than this is recorded as a stream.
const STREAM_DELAY: Duration = Duration::from_millis(100);

/// A frame of a body. None at its end.
type Received = Option<Result<Frame<Bytes>, hyper::Error>>;

/// The body of a response. Each frame is sent to the recording thread before it is forwarded.
pub(super) struct ResponseBody {
    inner: Incoming,
    exchange: Exchange,
    state: State,
    /// Trailer fields.
    trailers: Headers,
    semaphore: PollSemaphore,
    /// A frame that waits for space in the queue.
    received: Option<Received>,
}

enum State {
    /// Buffered, to be recorded as a whole.
    Whole {
        chunks: Vec<Buffer>,
        length: usize,
        limit: Option<Pin<Box<Sleep>>>,
    },
    /// Equal to a recorded body so far.
    Repeated {
        body: Arc<RecentBody>,
        length: usize,
    },
    /// Recorded while it arrives.
    Open,
    Done,
}

impl ResponseBody {
    pub(super) fn new(inner: Incoming, mut exchange: Exchange) -> Self {
        let length = inner.size_hint().exact();
        let state = if inner.is_end_stream() {
            exchange.whole(Vec::new(), BodyEnd::default(), None);
            State::Done
        } else if exchange.streams() {
            exchange.open(false);
            State::Open
        } else if let Some(length) = length.filter(|length| *length > MAX_BUFFERED_BYTES as u64) {
            match exchange.recent_body().filter(|body| body.len() as u64 == length) {
                Some(body) => State::Repeated { body, length: 0 },
                None => {
                    exchange.open(true);
                    State::Open
                }
            }
        } else {
            State::Whole {
                chunks: Vec::new(),
                length: 0,
                limit: length.is_none().then(|| Box::pin(sleep(STREAM_DELAY))),
            }
        };
        Self {
            inner,
            semaphore: exchange.log().semaphore(),
            exchange,
            state,
            trailers: Headers::default(),
            received: None,
        }
    }

    /// Number of bytes that are sent to the recording thread with this frame. None if it sends no event.
    fn bytes_to_send(&self, received: &Received) -> Option<usize> {
        let data = match received {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
            _ => 0,
        };
        match &self.state {
            State::Whole { length, .. } if self.is_last(received) || length + data > MAX_BUFFERED_BYTES => {
                Some(length + data + self.exchange.head_bytes())
            }
            State::Open if data > 0 => Some(data),
            State::Repeated { .. } if self.is_last(received) => Some(self.exchange.head_bytes()),
            _ => None,
        }
    }

    /// Whether this is the last frame: the body has its announced length, has ended, or has failed.
    fn is_last(&self, received: &Received) -> bool {
        !matches!(received, Some(Ok(_))) || self.inner.is_end_stream()
    }

    fn record(&mut self, received: &Received, mut permit: Option<OwnedSemaphorePermit>) {
        if let Some(Ok(frame)) = received {
            if let Some(data) = frame.data_ref() {
                self.data(data, &mut permit);
            } else if let Some(trailers) = frame.trailers_ref() {
                self.trailers = trailers.into();
            }
        }
        if self.is_last(received) {
            let error = received.as_ref().and_then(|received| received.as_ref().err());
            self.end(error.map(|error| crate::transport::failure(error).text), permit);
        }
    }

    fn data(&mut self, data: &Bytes, permit: &mut Option<OwnedSemaphorePermit>) {
        match &mut self.state {
            State::Whole { chunks, length, .. } => {
                chunks.push(self.exchange.copy(data));
                *length += data.len();
                if *length > MAX_BUFFERED_BYTES && !self.repeats() {
                    self.open(true, permit);
                }
            }
            State::Open => self.exchange.data(self.exchange.copy(data), permit.take()),
            State::Repeated { .. } | State::Done => {}
        }
    }

    /// Whether the buffered part is the beginning of a recorded body. The rest is then compared with it.
    fn repeats(&mut self) -> bool {
        // A body of known length was compared from the start.
        let State::Whole {
            chunks,
            length,
            limit: Some(_),
        } = &self.state
        else {
            return false;
        };
        let Some(body) = self.exchange.recent_body() else {
            return false;
        };
        let mut position = 0;
        let is_equal = chunks.iter().all(|chunk| {
            position += chunk.len();
            body.has_at(position - chunk.len(), chunk)
        });
        if is_equal {
            self.state = State::Repeated { body, length: *length };
        }
        is_equal
    }

    /// Compares a frame with the recorded body. If they differ, the body is recorded as any other.
    fn compare(&mut self, received: &Received) {
        let is_last = self.is_last(received);
        let State::Repeated { body, length } = &mut self.state else {
            return;
        };
        let frame = received.as_ref().and_then(|received| received.as_ref().ok());
        let data = frame.and_then(Frame::data_ref).map_or(&[][..], |data| data);
        let end = *length + data.len();
        if body.has_at(*length, data) && (!is_last || end == body.len()) {
            *length = end;
        } else {
            self.buffer_beginning();
        }
    }

    /// Buffers what was equal to the recorded body.
    fn buffer_beginning(&mut self) {
        if let State::Repeated { body, length } = &self.state {
            let chunks = body.beginning(*length).map(|part| self.exchange.copy(part)).collect();
            self.state = State::Whole {
                chunks,
                length: *length,
                limit: None,
            };
        }
    }

    /// Starts recording the body while it arrives, beginning with the buffered part.
    fn open(&mut self, pieces: bool, permit: &mut Option<OwnedSemaphorePermit>) {
        if let State::Whole { chunks, .. } = std::mem::replace(&mut self.state, State::Open) {
            self.exchange.open(pieces);
            for chunk in chunks {
                self.exchange.data(chunk, permit.take());
            }
        }
    }

    fn end(&mut self, cut: Option<String>, mut permit: Option<OwnedSemaphorePermit>) {
        if matches!(&self.state, State::Repeated { body, length } if cut.is_some() || *length < body.len()) {
            self.buffer_beginning();
        }
        if matches!(&self.state, State::Whole { length, .. } if *length > MAX_BUFFERED_BYTES) {
            self.open(true, &mut permit);
        }
        let end = BodyEnd {
            trailers: std::mem::take(&mut self.trailers),
            cut,
        };
        match std::mem::replace(&mut self.state, State::Done) {
            State::Whole { chunks, .. } => self.exchange.whole(chunks, end, permit),
            State::Repeated { body, .. } => self.exchange.repeated(body, end, permit),
            State::Open => self.exchange.end(end),
            State::Done => {}
        }
    }

    /// Polls the next frame. Changes to a stream after [`STREAM_DELAY`].
    fn poll_inner(&mut self, context: &mut Context<'_>) -> Poll<Received> {
        let received = Pin::new(&mut self.inner).poll_frame(context);
        if received.is_pending()
            && let State::Whole { limit: Some(limit), .. } = &mut self.state
            && limit.as_mut().poll(context).is_ready()
        {
            self.open(false, &mut None);
        }
        received
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let received = match self.received.take() {
            Some(received) => received,
            None => {
                let received = ready!(self.poll_inner(context));
                self.compare(&received);
                received
            }
        };
        let mut permit = None;
        if let Some(bytes) = self.bytes_to_send(&received) {
            match self.semaphore.poll_acquire_many(context, permits(bytes)) {
                Poll::Ready(acquired) => permit = acquired,
                Poll::Pending => {
                    self.received = Some(received);
                    return Poll::Pending;
                }
            }
        }
        self.record(&received, permit);
        Poll::Ready(received.map(|result| result.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Done) && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.end(Some(CLIENT_CLOSED.to_owned()), None);
    }
}
