//! Watches and their streams of frames.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    bookmark::Bookmarks,
    request::{ListOptions, RequestInfo},
    revision,
    selection::Selection,
    state::Registry,
};
use crate::{
    api::{FieldError, Path, Reason, Status},
    watch::{EventType, Start, WatchFilter, Watcher, frame},
};

/// Frames of one watch, each a line of JSON.
pub(crate) struct WatchStream {
    /// Frames of initial events, sent first.
    initial: VecDeque<Bytes>,
    watcher: Watcher,
    end: Option<Instant>,
    bookmarks: Option<Bookmarks>,
}

/// Target size of a chunk, in bytes. Its last frame may exceed it.
const CHUNK_BYTES: usize = 16 << 10;

impl WatchStream {
    /// Returns the next frame. `None` at the end: the timeout has passed, even with frames left, or the watcher has
    /// fallen too far behind. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        if let Some(frame) = self.initial.pop_front() {
            return Some(frame);
        }
        let bookmark = self.bookmarks.as_ref().map(Bookmarks::next);
        let Some(wake) = [self.end, bookmark].into_iter().flatten().min() else {
            return self.watcher.next().await;
        };
        if wake > Instant::now() {
            tokio::select! {
                biased;
                () = sleep_until(wake) => {}
                frame = self.watcher.next() => return frame,
            }
        }
        let latest = self.watcher.latest();
        // A bookmark must not be sent before a frame that is ready.
        let ready = self.watcher.ready();
        if self.end == Some(wake) {
            let bookmarks = self.bookmarks.take()?;
            return ready.is_none().then(|| bookmarks.frame(latest));
        }
        let bookmarks = self.bookmarks.as_mut()?;
        bookmarks.postpone();
        Some(ready.unwrap_or_else(|| bookmarks.frame(latest)))
    }

    /// Returns the next frame and all that are ready after it, concatenated. `None` at the end. Cancel safe.
    pub(crate) async fn next_chunk(&mut self) -> Option<Bytes> {
        let first = self.next().await?;
        let Some(second) = self.ready() else {
            return Some(first);
        };
        let mut chunk = BytesMut::with_capacity(4 * (first.len() + second.len()));
        chunk.extend_from_slice(&first);
        chunk.extend_from_slice(&second);
        while chunk.len() < CHUNK_BYTES
            && let Some(frame) = self.ready()
        {
            chunk.extend_from_slice(&frame);
        }
        Some(chunk.freeze())
    }

    fn ready(&mut self) -> Option<Bytes> {
        self.initial.pop_front().or_else(|| self.watcher.ready())
    }
}

impl Registry {
    /// Watches the selected objects. `close` is cancelled when the watcher does not read and its connection must be
    /// closed.
    pub(crate) async fn watch(
        &self,
        request: &RequestInfo,
        options: &ListOptions,
        close: CancellationToken,
    ) -> Result<WatchStream, Status> {
        let mut selection = Selection::parse(request, options, self.profile)?;
        let widened = selection.widen(request, self.profile);
        let revision = revision::parse(&options.resource_version).map_err(|text| {
            let error = FieldError::invalid(&Path::new("resourceVersion"), options.resource_version.as_str(), text);
            Status::invalid("", "", "", &[error])
        })?;
        let repeats = self.profile.watch_repeats_start() && !request.resource.strategy.watches_after;
        let (initial, revision) = if options.send_initial_events {
            self.initial_events(request, &selection)
        } else {
            (VecDeque::new(), revision)
        };
        let start = match (revision, self.profile.watch_starts_from_present(), repeats) {
            (0, false, _) => Start::Beginning,
            (0, true, _) => {
                let listing = match widened {
                    _ if self.hub.lags() => self.hub.cached(request.resource.stored_as(), 0).await,
                    true => self.store.list(request.resource.stored_as(), None),
                    false => self.candidates(request, &selection),
                };
                Start::Present {
                    records: listing.records,
                    revision: listing.revision,
                }
            }
            (revision, _, true) => Start::At(revision),
            (revision, _, false) => Start::After(revision),
        };
        let shows_late = self.hub.lags() && self.profile.watch_shows_late_changes() && !options.send_initial_events;
        let after = if repeats || shows_late { 0 } else { revision };
        let filter = WatchFilter {
            index_key: selection.index_key(),
            matches: Box::new(move |record| selection.matches(record)),
            version: request.resource.clone(),
            after,
        };
        let watcher = self
            .hub
            .watch(request.resource.stored_as(), start, filter, close)
            .map_err(|old| Status::new(Reason::Gone, old.to_string()))?;
        let bookmarks = options.bookmarks.then(|| Bookmarks::new(&request.resource, revision));
        Ok(WatchStream {
            initial,
            watcher,
            bookmarks,
            // A timeout that cannot be represented is no timeout.
            end: options.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
        })
    }

    /// Returns the existing objects as ADDED, followed by a BOOKMARK, and their revision.
    fn initial_events(&self, request: &RequestInfo, selection: &Selection) -> (VecDeque<Bytes>, u64) {
        let listing = self.candidates(request, selection);
        let selected = listing.records.iter().filter(|record| selection.matches(record));
        let mut frames: VecDeque<Bytes> = selected
            .map(|record| frame(EventType::Added, record.bytes_in(&request.resource)))
            .collect();
        frames.push_back(Bookmarks::new(&request.resource, listing.revision).initial_events_end());
        (frames, listing.revision)
    }
}
