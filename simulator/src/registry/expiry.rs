//! Removal of expired objects, driven by the injected clock.

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

/// Expiration time, the revision that it applies to, and the key. A later write has its own expiration.
type Expiration = (Timestamp, u64, Key);

/// Queue of expiring objects.
pub(super) struct Expiry {
    queue: Mutex<BinaryHeap<Reverse<Expiration>>>,
    changed: Arc<Notify>,
    /// Arguments of the removal task until it starts. It starts with the first expiring object: a process may have
    /// thousands of clusters without any.
    not_started: Mutex<Option<(Arc<dyn Store>, Clock)>>,
}

impl Expiry {
    /// Creates an empty queue. Its task ends when the last reference to the queue is dropped.
    pub(super) fn new(store: Arc<dyn Store>, clock: Clock) -> Arc<Self> {
        Arc::new(Self::of(BinaryHeap::new(), store, clock))
    }

    /// Copies the queue for a copy of the cluster.
    pub(super) fn fork(&self, store: Arc<dyn Store>, clock: Clock) -> Arc<Self> {
        let queue = self.queue.lock().clone();
        let expiry = Arc::new(Self::of(queue, store, clock));
        if expiry.next().is_some() {
            expiry.start();
        }
        expiry
    }

    fn of(queue: BinaryHeap<Reverse<Expiration>>, store: Arc<dyn Store>, clock: Clock) -> Self {
        Self {
            queue: Mutex::new(queue),
            changed: Arc::default(),
            not_started: Mutex::new(Some((store, clock))),
        }
    }

    /// Starts the removal task unless it is running. Needs a running tokio runtime.
    fn start(self: &Arc<Self>) {
        let Some((store, clock)) = self.not_started.lock().take() else {
            return;
        };
        let task = run(Arc::downgrade(self), self.changed.clone(), store, clock.clone());
        tokio::spawn(clock.activity().track(task));
    }

    /// Schedules the removal of a record that was just written. Needs a running tokio runtime.
    pub(super) fn schedule(self: &Arc<Self>, record: &Record, end: Option<Timestamp>) {
        let Some(end) = end else { return };
        self.start();
        let mut queue = self.queue.lock();
        queue.push(Reverse((end, record.revision(), record.key().clone())));
        let is_first = queue
            .peek()
            .is_some_and(|Reverse((_, revision, _))| *revision == record.revision());
        drop(queue);
        if is_first {
            self.changed.notify_one();
        }
    }

    /// Time of the next expiration.
    fn next(&self) -> Option<Timestamp> {
        self.queue.lock().peek().map(|Reverse((end, ..))| *end)
    }

    /// Pops an object that has expired at `now`.
    fn take(&self, now: Timestamp) -> Option<(u64, Key)> {
        let mut queue = self.queue.lock();
        if queue.peek().is_none_or(|Reverse((end, ..))| *end > now) {
            return None;
        }
        queue.pop().map(|Reverse((_, revision, key))| (revision, key))
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
                    // An object that was changed or removed meanwhile has another revision: nothing to do.
                    let _ = store.commit(&key, Expected::At(revision), Write::Remove).await;
                }
            }
        }
    }
}
