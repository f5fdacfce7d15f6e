//! One watcher of a kind.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    vec::IntoIter,
};

use bytes::Bytes;
use tokio::sync::Notify;

use super::{
    Event, EventType, Interest, LAG,
    event::frame,
    hub::{Channel, WatcherLimit},
};
use crate::{scheme::Resource, store::Record};

/// How many events are read from the history at a time.
const BATCH: usize = 64;

/// How many bytes of events are read at a time, besides the last one.
const BATCH_BYTES: usize = 1 << 20;

/// Which objects a watcher gets, and in which form.
pub(crate) struct WatchFilter {
    /// Whether a watcher gets this object.
    pub matches: Box<dyn Fn(&Record) -> bool + Send + Sync>,
    /// The version of the kind.
    pub version: Arc<Resource>,
    /// Changes up to this revision are skipped; 0 for none.
    pub after: u64,
    /// What the objects have in common; other changes do not wake the watcher.
    pub interest: Interest,
}

/// Reads a kind's changes at its own pace.
pub(crate) struct Watcher {
    channel: Arc<Channel>,
    notify: Arc<Notify>,
    limit: Arc<WatcherLimit>,
    position: u64,
    /// The smallest backlog that it has had.
    best: u64,
    first: IntoIter<Arc<Record>>,
    batch: VecDeque<Arc<Event>>,
    filter: WatchFilter,
}

/// A change that passed the filter: of an object that was there at the start, or an event of the history.
enum Found {
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
            best: u64::MAX,
            first: first.into_iter(),
            batch: VecDeque::new(),
            filter,
        }
    }

    /// The next frame; `None` when the watcher has ended. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        let found = self.wait().await?;
        Some(self.frame(found))
    }

    /// The next frame, if there is one already.
    pub(crate) fn ready(&mut self) -> Option<Bytes> {
        let found = self.at_hand().ok()??;
        Some(self.frame(found))
    }

    /// The next change and the object after it; `None` when the watcher has ended. Cancel safe.
    pub(crate) async fn next_change(&mut self) -> Option<(EventType, Arc<Record>)> {
        self.wait().await.map(Found::into_change)
    }

    /// The next change, if there is one already.
    pub(crate) fn ready_change(&mut self) -> Result<Option<(EventType, Arc<Record>)>, WatchEnded> {
        Ok(self.at_hand()?.map(Found::into_change))
    }

    /// Notified whenever there may be changes to read.
    pub(crate) fn signal(&self) -> Arc<Notify> {
        self.notify.clone()
    }

    /// The revision of the kind's last change, 0 before the first. What is not yet [`ready`](Self::ready) is after it.
    pub(crate) fn latest(&self) -> u64 {
        self.channel.history.read().latest()
    }

    async fn wait(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.at_hand().ok()? {
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

    fn frame(&self, found: Found) -> Bytes {
        match found {
            Found::Present(record) => frame(present_type(&record), record.bytes_in(&self.filter.version)),
            Found::Change(kind, event) => event.frame(kind, &self.filter.version),
        }
    }

    /// The next change that passes the filter, of those that are there.
    fn at_hand(&mut self) -> Result<Option<Found>, WatchEnded> {
        loop {
            if let Some(found) = self.found() {
                return Ok(Some(found));
            }
            if !self.read()? {
                return Ok(None);
            }
        }
    }

    fn found(&mut self) -> Option<Found> {
        if let Some(record) = self.first.by_ref().find(|record| (self.filter.matches)(record)) {
            return Some(Found::Present(record));
        }
        while let Some(event) = self.batch.pop_front() {
            if event.revision() > self.filter.after
                && let Some(kind) = event.type_for(&self.filter.matches)
            {
                return Some(Found::Change(kind, event));
            }
        }
        None
    }

    /// Reads a batch of the history; whether there was anything.
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
        self.best = self.best.min(end.saturating_sub(self.position));
        self.limit
            .end
            .store(backlog_limit(self.position, self.best), Ordering::Release);
        Ok(!self.batch.is_empty())
    }
}

/// The type of the event of an object that is there when a watch begins.
fn present_type(record: &Record) -> EventType {
    if record.is_present_as_modified() {
        EventType::Modified
    } else {
        EventType::Added
    }
}

impl Found {
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

/// How far the history may grow before a watcher at `position` is ended whose smallest backlog was `best` changes.
pub(super) fn backlog_limit(position: u64, best: u64) -> u64 {
    position.saturating_add(best).saturating_add(LAG as u64)
}
