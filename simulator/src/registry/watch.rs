//! Starting a watch, and its stream of frames.

use bytes::{Bytes, BytesMut};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{ListOptions, Registry, RequestInfo, select::Selection};
use crate::{
    api::{FieldError, Path, Reason, Status},
    compat::strconv,
    watch::{Start, WatchFilter, Watcher},
};

/// The frames of one watch, each a line of JSON.
pub struct WatchStream {
    watcher: Watcher,
    end: Option<Instant>,
}

/// How many bytes of frames are joined into one chunk, but for the last frame.
const CHUNK: usize = 16 << 10;

impl WatchStream {
    /// The next frame; `None` at the end: when its timeout is over, whatever is left to send, or when it has fallen too far behind. Cancel safe.
    pub async fn next(&mut self) -> Option<Bytes> {
        match self.end {
            None => self.watcher.next().await,
            Some(end) if end <= Instant::now() => None,
            Some(end) => tokio::select! {
                biased;
                () = sleep_until(end) => None,
                frame = self.watcher.next() => frame,
            },
        }
    }

    /// The next frame and those that are there with it, side by side; `None` at the end. Safe to drop while it waits.
    pub async fn next_chunk(&mut self) -> Option<Bytes> {
        let first = self.next().await?;
        let Some(second) = self.watcher.ready() else {
            return Some(first);
        };
        let mut chunk = BytesMut::with_capacity(4 * (first.len() + second.len()));
        chunk.extend_from_slice(&first);
        chunk.extend_from_slice(&second);
        while chunk.len() < CHUNK
            && let Some(frame) = self.watcher.ready()
        {
            chunk.extend_from_slice(&frame);
        }
        Some(chunk.freeze())
    }
}

/// The revision that a resourceVersion names; 0 for none. The error is its text.
pub(super) fn version(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    strconv::parse_uint(text)
}

impl Registry {
    /// Watches what is selected. `cut` is cancelled if the watcher never reads and has to be cut off.
    pub async fn watch(
        &self,
        request: &RequestInfo,
        options: &ListOptions,
        cut: CancellationToken,
    ) -> Result<WatchStream, Status> {
        let mut selection = Selection::parse(request, options, self.profile)?;
        let widened = selection.widen(request, self.profile);
        let revision = version(&options.resource_version).map_err(|text| {
            let error = FieldError::invalid(&Path::new("resourceVersion"), options.resource_version.as_str(), text);
            Status::invalid("", "", "", &[error])
        })?;
        let repeats = self.profile.watch_repeats_start(request.resource.stored_as());
        let start = match (revision, self.profile.watch_starts_from_present(), repeats) {
            (0, false, _) => Start::Beginning,
            (0, true, _) => {
                let listing = match widened {
                    true => self.store.list(request.resource.stored_as(), None).await?,
                    false => self.listing(request).await?,
                };
                Start::Present {
                    records: listing.records,
                    revision: listing.revision,
                }
            }
            (revision, _, true) => Start::At(revision),
            (revision, _, false) => Start::After(revision),
        };
        let after = if repeats { 0 } else { revision };
        let filter = WatchFilter {
            matches: Box::new(move |record| selection.matches(record)),
            version: request.resource.clone(),
            after,
        };
        let watcher = self
            .hub
            .watch(request.resource.stored_as(), start, filter, cut)
            .map_err(|old| Status::new(Reason::Gone, old.to_string()))?;
        Ok(WatchStream {
            watcher,
            // A timeout past the end of time is none.
            end: options.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
        })
    }
}
