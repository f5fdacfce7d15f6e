//! Removal of objects whose time is over, on the injected clock.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Arc, Weak},
};

use futures::future::{Either, select};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{
    clock::Clock,
    store::{Expected, Key, Record, Store, Write},
};

/// The end of an object's life, and the revision that it holds for: a later write has an end of its own.
type End = (Timestamp, u64, Key);

/// The objects that expire.
pub(super) struct Expiry {
    ends: Mutex<BinaryHeap<Reverse<End>>>,
    changed: Arc<Notify>,
    /// What the task that removes them needs, until it is started: with the first of them, since a process may have thousands of clusters without any.
    idle: Mutex<Option<(Arc<dyn Store>, Clock)>>,
}

impl Expiry {
    /// Removes what is scheduled, until the last reference to it is dropped.
    pub(super) fn new(store: Arc<dyn Store>, clock: Clock) -> Arc<Self> {
        Arc::new(Self::of(BinaryHeap::new(), store, clock))
    }

    /// The same for a copy of the cluster.
    pub(super) fn fork(&self, store: Arc<dyn Store>, clock: Clock) -> Arc<Self> {
        let ends = self.ends.lock().clone();
        let expiry = Arc::new(Self::of(ends, store, clock));
        if expiry.next().is_some() {
            expiry.start();
        }
        expiry
    }

    fn of(ends: BinaryHeap<Reverse<End>>, store: Arc<dyn Store>, clock: Clock) -> Self {
        Self {
            ends: Mutex::new(ends),
            changed: Arc::default(),
            idle: Mutex::new(Some((store, clock))),
        }
    }

    /// Starts the task that removes what is scheduled, unless it runs. Needs a running tokio runtime.
    fn start(self: &Arc<Self>) {
        let Some((store, clock)) = self.idle.lock().take() else {
            return;
        };
        let task = run(Arc::downgrade(self), self.changed.clone(), store, clock.clone());
        tokio::spawn(clock.activity().track(task));
    }

    /// Schedules the removal of a record that was just written. Needs a running tokio runtime.
    pub(super) fn schedule(self: &Arc<Self>, record: &Record, end: Option<Timestamp>) {
        let Some(end) = end else { return };
        self.start();
        let mut ends = self.ends.lock();
        ends.push(Reverse((end, record.revision(), record.key().clone())));
        let is_first = ends
            .peek()
            .is_some_and(|Reverse((_, revision, _))| *revision == record.revision());
        drop(ends);
        if is_first {
            self.changed.notify_one();
        }
    }

    /// The next end.
    fn next(&self) -> Option<Timestamp> {
        self.ends.lock().peek().map(|Reverse((end, ..))| *end)
    }

    /// Takes an object whose life has ended by `now`.
    fn take(&self, now: Timestamp) -> Option<(u64, Key)> {
        let mut ends = self.ends.lock();
        if ends.peek().is_none_or(|Reverse((end, ..))| *end > now) {
            return None;
        }
        ends.pop().map(|Reverse((_, revision, key))| (revision, key))
    }
}

impl Drop for Expiry {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

async fn run(expiry: Weak<Expiry>, changed: Arc<Notify>, store: Arc<dyn Store>, clock: Clock) {
    loop {
        let next = match expiry.upgrade() {
            Some(expiry) => expiry.next(),
            None => return,
        };
        match next {
            None => changed.notified().await,
            Some(end) => {
                let (sleep, earlier) = (
                    std::pin::pin!(clock.sleep_until(end)),
                    std::pin::pin!(changed.notified()),
                );
                if let Either::Right(_) = select(sleep, earlier).await {
                    continue;
                }
                let due = || expiry.upgrade()?.take(clock.now());
                while let Some((revision, key)) = due() {
                    // An object that was changed or removed meanwhile is not at this revision.
                    let _ = store.commit(&key, Expected::At(revision), Write::Remove).await;
                }
            }
        }
    }
}
