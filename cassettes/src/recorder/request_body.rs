//! The body of a request, recorded while it is forwarded.

use super::MAX_REQUEST_BODY_BYTES;
use crate::transport::Body;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;
use std::sync::Arc;

/// The part of a request's body that was sent so far.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestBody(Arc<Mutex<Collected>>);

#[derive(Debug, Default)]
struct Collected {
    /// Whether there is a body, including an empty one.
    is_present: bool,
    bytes: Vec<u8>,
    /// Number of bytes after the first [`MAX_REQUEST_BODY_BYTES`].
    omitted: u64,
}

impl RequestBody {
    /// Records an empty body if the request has a `Content-Length`, and no body otherwise.
    pub(super) fn set_empty(&self, has_length: bool) {
        self.0.lock().is_present = has_length;
    }

    /// Returns the body to forward, which is recorded when it is read.
    pub(super) fn record(&self, body: Incoming) -> Body {
        let collected = self.0.clone();
        collected.lock().is_present = true;
        body.map_frame(move |frame| {
            if let Some(data) = frame.data_ref() {
                let mut collected = collected.lock();
                let kept = MAX_REQUEST_BODY_BYTES
                    .saturating_sub(collected.bytes.len())
                    .min(data.len());
                collected.bytes.extend_from_slice(data.get(..kept).unwrap_or_default());
                collected.omitted += (data.len() - kept) as u64;
            }
            frame
        })
        .map_err(Into::into)
        .boxed_unsync()
    }

    /// Number of bytes that were sent and kept so far.
    pub(super) fn length(&self) -> usize {
        self.0.lock().bytes.len()
    }

    /// Takes the body, as far as it was sent, and the number of omitted bytes.
    pub(super) fn take(&self) -> (Option<Bytes>, u64) {
        let mut collected = self.0.lock();
        let bytes = std::mem::take(&mut collected.bytes);
        (collected.is_present.then(|| bytes.into()), collected.omitted)
    }
}
