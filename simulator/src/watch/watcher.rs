//! Watcher of one kind.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    vec::IntoIter,
};

use bytes::Bytes;
use tokio::sync::Notify;

use super::{
    Event, EventType, MAX_BACKLOG_GROWTH, WatchIndexKey,
    event::frame,
    hub::{Channel, WatcherLimit},
};
use crate::{scheme::Resource, store::Record};

/// Maximum number of events read from the history at a time.
const BATCH: usize = 64;

/// Maximum size of the events read at a time, in bytes. The last event may exceed it.
const BATCH_BYTES: usize = 1 << 20;

/// Filter and version of a watcher's objects.
pub(crate) struct WatchFilter {
    /// Whether the watcher gets this object.
    pub matches: Box<dyn Fn(&Record) -> bool + Send + Sync>,
    /// Version of the kind in the frames.
    pub version: Arc<Resource>,
    /// Changes up to this revision are skipped. 0 for none.
    pub after: u64,
    /// Index value of the objects. Other changes do not wake the watcher.
    pub index_key: WatchIndexKey,
}

/// Reader of a kind's changes, at its own pace.
pub(crate) struct Watcher {
    channel: Arc<Channel>,
    notify: Arc<Notify>,
    limit: Arc<WatcherLimit>,
    position: u64,
    /// Smallest backlog so far.
    min_backlog: u64,
    first: IntoIter<Arc<Record>>,
    batch: VecDeque<Arc<Event>>,
    filter: WatchFilter,
}

/// Change that passed the filter: an object that existed at the start, or an event of the history.
enum WatchedChange {
    Present(Arc<Record>),
    Change(EventType, Arc<Event>),
}

impl Watcher {
    pub(super) fn new(
        channel: Arc<Channel>,
        notify: Arc<Notify>,
        limit: Arc<WatcherLimit>,
        position: u64,
        first: Vec<Arc<Record>>,
        filter: WatchFilter,
    ) -> Self {
        Self {
            channel,
            notify,
            limit,
            position,
            min_backlog: u64::MAX,
            first: first.into_iter(),
            batch: VecDeque::new(),
            filter,
        }
    }

    /// Returns the next frame. `None` when the watcher has ended. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        let found = self.wait().await?;
        Some(self.frame(found))
    }

    /// Returns the next frame if there is one without waiting.
    pub(crate) fn ready(&mut self) -> Option<Bytes> {
        let found = self.try_next_change().ok()??;
        Some(self.frame(found))
    }

    /// Returns the next change and the object after it. `None` when the watcher has ended. Cancel safe.
    pub(crate) async fn next_change(&mut self) -> Option<(EventType, Arc<Record>)> {
        self.wait().await.map(WatchedChange::into_change)
    }

    /// Returns the next change if there is one without waiting.
    pub(crate) fn ready_change(&mut self) -> Result<Option<(EventType, Arc<Record>)>, WatchEnded> {
        Ok(self.try_next_change()?.map(WatchedChange::into_change))
    }

    /// Notification that is triggered when there may be changes to read.
    pub(crate) fn signal(&self) -> Arc<Notify> {
        self.notify.clone()
    }

    /// Revision of the kind's last change, 0 before the first. Changes that are not [`ready`](Self::ready) yet are
    /// after it.
    pub(crate) fn latest(&self) -> u64 {
        self.channel.history.read().latest()
    }

    async fn wait(&mut self) -> Option<WatchedChange> {
        loop {
            if let Some(found) = self.try_next_change().ok()? {
                return Some(found);
            }
            let notify = self.notify.clone();
            let mut notified = std::pin::pin!(notify.notified());
            notified.as_mut().enable();
            if !self.read().ok()? {
                notified.await;
            }
        }
    }

    fn frame(&self, found: WatchedChange) -> Bytes {
        match found {
            WatchedChange::Present(record) => frame(present_type(&record), record.bytes_in(&self.filter.version)),
            WatchedChange::Change(kind, event) => event.frame(kind, &self.filter.version),
        }
    }

    /// Returns the next change that passes the filter if there is one without waiting.
    fn try_next_change(&mut self) -> Result<Option<WatchedChange>, WatchEnded> {
        loop {
            if let Some(found) = self.next_matching() {
                return Ok(Some(found));
            }
            if !self.read()? {
                return Ok(None);
            }
        }
    }

    fn next_matching(&mut self) -> Option<WatchedChange> {
        if let Some(record) = self.first.by_ref().find(|record| (self.filter.matches)(record)) {
            return Some(WatchedChange::Present(record));
        }
        while let Some(event) = self.batch.pop_front() {
            if event.revision() > self.filter.after
                && let Some(kind) = event.type_for(&self.filter.matches)
            {
                return Some(WatchedChange::Change(kind, event));
            }
        }
        None
    }

    /// Reads a batch of the history. Returns whether there was any event.
    fn read(&mut self) -> Result<bool, WatchEnded> {
        let history = self.channel.history.read();
        let end = history.end();
        if end > self.limit.end.load(Ordering::Acquire) {
            return Err(WatchEnded);
        }
        let mut bytes = 0;
        let events = history.read(self.position, BATCH).ok_or(WatchEnded)?;
        self.batch.extend(events.take_while(|event| {
            let has_room = bytes < BATCH_BYTES;
            bytes += event.size();
            has_room
        }));
        if self.batch.is_empty() && history.is_closed() {
            return Err(WatchEnded);
        }
        drop(history);
        self.position += self.batch.len() as u64;
        self.min_backlog = self.min_backlog.min(end.saturating_sub(self.position));
        self.limit
            .end
            .store(backlog_limit(self.position, self.min_backlog), Ordering::Release);
        Ok(!self.batch.is_empty())
    }
}

/// Event type of an object that existed when the watch started.
fn present_type(record: &Record) -> EventType {
    if record.initial_event_is_modified() {
        EventType::Modified
    } else {
        EventType::Added
    }
}

impl WatchedChange {
    fn into_change(self) -> (EventType, Arc<Record>) {
        match self {
            Self::Present(record) => (present_type(&record), record),
            Self::Change(kind, event) => (kind, event.last().clone()),
        }
    }
}

/// The watcher has fallen too far behind, or its kind is no longer served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WatchEnded;

/// Maximum end position of the history for a watcher at `position` whose smallest backlog was `min_backlog` changes.
pub(super) fn backlog_limit(position: u64, min_backlog: u64) -> u64 {
    position
        .saturating_add(min_backlog)
        .saturating_add(MAX_BACKLOG_GROWTH as u64)
}
