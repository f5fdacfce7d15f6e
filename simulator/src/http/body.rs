//! Response bodies, and bounded reading of request bodies.
//!
//! - A full body is sent without a copy, and with its line feed in one frame.
//! - Chunks of a stream are sent as they are produced.
//! - Request bodies are bounded in size and time: [`Limits`](stuntdouble_server::Limits).

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut, buf::Chain};
use futures::{Stream, StreamExt};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};

use crate::{
    api::{Reason, Status},
    cluster::network::BodyError,
};

/// The body of a response.
pub(crate) struct Body(Content);

enum Content {
    Full(Chunk),
    Frames(Pin<Box<dyn Stream<Item = Result<Bytes, BodyError>> + Send>>),
    Proxied(UnsyncBoxBody<Bytes, BodyError>),
}

/// The data of a frame: bytes, and a line feed or nothing. hyper writes both at once.
pub(crate) type Chunk = Chain<Bytes, &'static [u8]>;

/// Returns bytes without a line feed.
fn chunk(bytes: Bytes) -> Chunk {
    bytes.chain(&[])
}

impl Body {
    /// Returns an empty body.
    pub(crate) fn empty() -> Self {
        Self::full(Bytes::new())
    }

    /// Returns a body of these bytes.
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Content::Full(chunk(bytes.into())))
    }

    /// Returns a body of these bytes and a line feed, the form of compact JSON.
    pub(crate) fn line(bytes: Bytes) -> Self {
        Self(Content::Full(bytes.chain(b"\n")))
    }

    /// Returns a body that sends each item as a chunk.
    pub(crate) fn frames(frames: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Content::Frames(Box::pin(
            frames
                .map(Ok::<_, Infallible>)
                .map(|frame| frame.map_err(|never| match never {})),
        )))
    }
}

impl From<UnsyncBoxBody<Bytes, BodyError>> for Body {
    fn from(body: UnsyncBoxBody<Bytes, BodyError>) -> Self {
        Self(Content::Proxied(body))
    }
}

impl http_body::Body for Body {
    type Data = Chunk;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunk>, BodyError>>> {
        match &mut self.0 {
            Content::Full(rest) if !rest.has_remaining() => Poll::Ready(None),
            Content::Full(rest) => {
                let all = std::mem::replace(rest, chunk(Bytes::new()));
                Poll::Ready(Some(Ok(Frame::data(all))))
            }
            Content::Frames(frames) => frames
                .as_mut()
                .poll_next(context)
                .map_ok(|bytes| Frame::data(chunk(bytes))),
            Content::Proxied(body) => Pin::new(body).poll_frame(context).map_ok(|frame| frame.map_data(chunk)),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Full(rest) => !rest.has_remaining(),
            Content::Frames(_) => false,
            Content::Proxied(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Full(rest) => SizeHint::with_exact(rest.remaining() as u64),
            Content::Frames(_) => SizeHint::default(),
            Content::Proxied(body) => body.size_hint(),
        }
    }
}

/// Multiple of the limit up to which an oversized body is read and discarded, so that a client that sends everything
/// first receives the response.
const MAX_DISCARD_FACTOR: usize = 8;

/// Reads a request body of at most `limit` bytes within `timeout`.
///
/// Errors: 413 over the limit, 408 after the timeout, 400 if the body is incomplete or malformed.
pub(crate) async fn read(body: Incoming, limit: usize, timeout: Duration) -> Result<Bytes, Status> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    match tokio::time::timeout(timeout, collect(body, limit)).await {
        Ok(read) => read,
        Err(_) => {
            let text = format!(
                "the body of the request did not arrive within {} s",
                timeout.as_secs_f32()
            );
            Err(Status::new(Reason::Timeout, text).with_code(408))
        }
    }
}

async fn collect(mut body: Incoming, limit: usize) -> Result<Bytes, Status> {
    let overrun = limit.saturating_mul(MAX_DISCARD_FACTOR);
    let (mut first, mut all, mut length) = (Bytes::new(), BytesMut::new(), 0_usize);
    if body.size_hint().lower() > overrun as u64 {
        return Err(too_large(limit));
    }
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Status::bad_request(format!("the body of the request cannot be read: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        length = length.saturating_add(data.len());
        if length > overrun {
            break;
        } else if length > limit {
            (first, all) = (Bytes::new(), BytesMut::new());
        } else if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    if length > limit {
        return Err(too_large(limit));
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

fn too_large(limit: usize) -> Status {
    Status::new(
        Reason::RequestEntityTooLarge,
        format!("Request entity too large: limit is {limit}"),
    )
}
