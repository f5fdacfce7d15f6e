//! The body of a request, as far as it was sent.

use super::LONGEST_REQUEST;
use crate::transport::Body;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;
use std::sync::Arc;

/// What was sent of a request's body.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestBody(Arc<Mutex<Collected>>);

#[derive(Debug, Default)]
struct Collected {
    /// Whether there was a body at all, if only one of no bytes.
    any: bool,
    bytes: Vec<u8>,
    omitted: u64,
}

impl RequestBody {
    /// There is no body, or one of no bytes.
    pub(super) fn is_empty_with(&self, length: bool) {
        self.0.lock().any = length;
    }

    /// A body that is kept as it passes.
    pub(super) fn tap(&self, body: Incoming) -> Body {
        let collected = self.0.clone();
        collected.lock().any = true;
        body.map_frame(move |frame| {
            if let Some(data) = frame.data_ref() {
                let mut collected = collected.lock();
                let room = LONGEST_REQUEST.saturating_sub(collected.bytes.len()).min(data.len());
                collected.bytes.extend_from_slice(data.get(..room).unwrap_or_default());
                collected.omitted += (data.len() - room) as u64;
            }
            frame
        })
        .map_err(Into::into)
        .boxed_unsync()
    }

    /// How many bytes were sent so far.
    pub(super) fn length(&self) -> usize {
        self.0.lock().bytes.len()
    }

    /// Takes what was sent so far, and how much more.
    pub(super) fn take(&self) -> (Option<Bytes>, u64) {
        let mut collected = self.0.lock();
        let bytes = std::mem::take(&mut collected.bytes);
        (collected.any.then(|| bytes.into()), collected.omitted)
    }
}
