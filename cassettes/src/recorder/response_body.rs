//! Bodies that are recorded as they pass.

use super::pending::{PendingInteraction, WHOLE};
use super::queue::{BodyEnd, PieceQueue};
use crate::interaction::{Headers, LEFT};
use crate::transport::{BodyError, Tasks};
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// A response of unknown length that has not ended after this is a stream.
const STREAM: Duration = Duration::from_millis(100);

/// The body of a response, recorded before it is passed on; a long one while it is passed on.
pub(super) struct ResponseBody {
    inner: Incoming,
    state: State,
    /// The fields after the body.
    trailers: Headers,
    tasks: Tasks,
}

enum State {
    /// It may yet be taken whole.
    Whole {
        interaction: Box<PendingInteraction>,
        chunks: Vec<Bytes>,
        length: usize,
        limit: Option<Pin<Box<Sleep>>>,
    },
    /// It is recorded as it comes.
    Open(Box<PendingInteraction>),
    /// It is recorded beside: a long body, of which nothing counts before its end.
    Beside(PieceQueue),
    Done,
}

impl ResponseBody {
    pub(super) fn new(inner: Incoming, mut interaction: PendingInteraction, tasks: Tasks) -> Self {
        let length = inner.size_hint().exact();
        let state = if inner.is_end_stream() {
            interaction.whole(Bytes::new(), None);
            State::Done
        } else if interaction.streams() {
            interaction.open(false);
            State::Open(Box::new(interaction))
        } else if length.is_some_and(|length| length > WHOLE as u64) {
            interaction.open(true);
            State::Beside(PieceQueue::new(interaction, Vec::new(), &tasks))
        } else {
            let limit = length.is_none().then(|| Box::pin(sleep(STREAM)));
            State::Whole {
                interaction: Box::new(interaction),
                chunks: Vec::new(),
                length: 0,
                limit,
            }
        };
        Self {
            inner,
            state,
            trailers: Headers::default(),
            tasks,
        }
    }

    fn data(&mut self, data: &Bytes) {
        match &mut self.state {
            State::Whole { chunks, length, .. } => {
                chunks.push(data.clone());
                *length += data.len();
                if *length > WHOLE {
                    self.open(true);
                }
            }
            State::Open(interaction) => interaction.data(data),
            State::Beside(_) | State::Done => {}
        }
    }

    fn open(&mut self, pieces: bool) {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Whole {
                mut interaction,
                chunks,
                ..
            } => {
                interaction.open(pieces);
                self.state = if pieces {
                    State::Beside(PieceQueue::new(*interaction, chunks, &self.tasks))
                } else {
                    chunks.iter().for_each(|chunk| interaction.data(chunk));
                    State::Open(interaction)
                };
            }
            other => self.state = other,
        }
    }

    fn end(&mut self, cut: Option<&str>) {
        let trailers = std::mem::take(&mut self.trailers);
        match std::mem::replace(&mut self.state, State::Done) {
            State::Whole {
                mut interaction,
                chunks,
                ..
            } => {
                interaction.trailers(trailers);
                match chunks.as_slice() {
                    [chunk] => interaction.whole(chunk.clone(), cut),
                    chunks => interaction.whole(chunks.concat().into(), cut),
                }
            }
            State::Open(mut interaction) => {
                interaction.trailers(trailers);
                interaction.end(cut);
            }
            State::Beside(queue) => queue.end(BodyEnd {
                trailers,
                cut: cut.map(str::to_owned),
            }),
            State::Done => {}
        }
    }

    /// Whether the body has the length that its head announced.
    fn is_all(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn poll_beside(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let State::Beside(queue) = &mut self.state else {
            return Poll::Ready(None);
        };
        ready!(queue.poll_room(context));
        let (frame, error) = match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
            Some(Ok(frame)) => (Some(frame), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        if let Some(trailers) = frame.as_ref().and_then(Frame::trailers_ref) {
            self.trailers = trailers.into();
        }
        let last = frame.is_none() || self.inner.is_end_stream();
        let cut = error.as_ref().map(|error| crate::transport::failure(error).text);
        let end = last.then(|| BodyEnd {
            trailers: std::mem::take(&mut self.trailers),
            cut,
        });
        queue.send(frame.as_ref().and_then(|frame| frame.data_ref().cloned()), end);
        if last {
            self.state = State::Done;
        }
        match error {
            Some(error) => Poll::Ready(Some(Err(error.into()))),
            None => Poll::Ready(frame.map(Ok)),
        }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if matches!(self.state, State::Beside(_)) {
            return self.poll_beside(context);
        }
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    let data = data.clone();
                    self.data(&data);
                } else if let Some(trailers) = frame.trailers_ref() {
                    self.trailers = trailers.into();
                }
                if !self.is_all() {
                    return Poll::Ready(Some(Ok(frame)));
                }
                self.end(None);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                let failure = crate::transport::failure(&error);
                self.end(Some(&failure.text));
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Ready(None) => {
                self.end(None);
                Poll::Ready(None)
            }
            Poll::Pending => {
                let late = match &mut self.state {
                    State::Whole { limit: Some(limit), .. } => limit.as_mut().poll(context).is_ready(),
                    _ => false,
                };
                if late {
                    self.open(false);
                }
                Poll::Pending
            }
        }
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
        self.end(Some(LEFT));
    }
}
