//! Bodies that are recorded as they pass.

use super::buffers::Buffer;
use super::event::BodyEnd;
use super::exchange::Exchange;
use super::log::units;
use crate::interaction::{Headers, LEFT};
use crate::transport::BodyError;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::PollSemaphore;

/// A body longer than this is recorded in pieces, without structure.
const WHOLE: usize = 64 << 10;

/// A response of unknown length that has not ended after this is a stream.
const STREAM: Duration = Duration::from_millis(100);

/// What was received of a body; none at its end.
type Received = Option<Result<Frame<Bytes>, hyper::Error>>;

/// The body of a response. What is received is sent to the thread that records, and then passed on.
pub(super) struct ResponseBody {
    inner: Incoming,
    exchange: Exchange,
    state: State,
    /// The fields after the body.
    trailers: Headers,
    room: PollSemaphore,
    /// What was received and waits for room.
    received: Option<Received>,
}

enum State {
    /// It may yet be taken whole.
    Whole {
        chunks: Vec<Buffer>,
        length: usize,
        limit: Option<Pin<Box<Sleep>>>,
    },
    /// It is recorded as it comes.
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
        } else if length.is_some_and(|length| length > WHOLE as u64) {
            exchange.open(true);
            State::Open
        } else {
            State::Whole {
                chunks: Vec::new(),
                length: 0,
                limit: length.is_none().then(|| Box::pin(sleep(STREAM))),
            }
        };
        Self {
            inner,
            room: exchange.log().permits(),
            exchange,
            state,
            trailers: Headers::default(),
            received: None,
        }
    }

    /// How many bytes the thread that records is sent because of this; none if nothing is sent.
    fn cost(&self, received: &Received) -> Option<usize> {
        let data = match received {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
            _ => 0,
        };
        match &self.state {
            State::Whole { length, .. } if self.is_last(received) || length + data > WHOLE => {
                Some(length + data + self.exchange.head_bytes())
            }
            State::Open if data > 0 => Some(data),
            _ => None,
        }
    }

    /// Whether nothing follows: the body has the length that its head announced, or has ended otherwise.
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
                if *length > WHOLE {
                    self.open(true, permit);
                }
            }
            State::Open => self.exchange.data(self.exchange.copy(data), permit.take()),
            State::Done => {}
        }
    }

    /// From now on it is recorded as it comes, with what was received of it.
    fn open(&mut self, pieces: bool, permit: &mut Option<OwnedSemaphorePermit>) {
        if let State::Whole { chunks, .. } = std::mem::replace(&mut self.state, State::Open) {
            self.exchange.open(pieces);
            for chunk in chunks {
                self.exchange.data(chunk, permit.take());
            }
        }
    }

    fn end(&mut self, cut: Option<String>, permit: Option<OwnedSemaphorePermit>) {
        let end = BodyEnd {
            trailers: std::mem::take(&mut self.trailers),
            cut,
        };
        match std::mem::replace(&mut self.state, State::Done) {
            State::Whole { chunks, .. } => self.exchange.whole(chunks, end, permit),
            State::Open => self.exchange.end(end),
            State::Done => {}
        }
    }

    /// Receives more. A response of unknown length that takes long is recorded as a stream.
    fn poll_received(&mut self, context: &mut Context<'_>) -> Poll<Received> {
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
            None => ready!(self.poll_received(context)),
        };
        let mut permit = None;
        if let Some(bytes) = self.cost(&received) {
            match self.room.poll_acquire_many(context, units(bytes)) {
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
        self.end(Some(LEFT.to_owned()), None);
    }
}
