//! Delay of the watch cache behind writes.
//!
//! Source: the watch cache of Kubernetes v1.2. It is fed by a watch of its store, some milliseconds after a write is
//! acknowledged.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::Event;
use crate::clock::Busy;

/// Committed changes that are not in the cache yet.
pub(super) struct Lag {
    delay: Duration,
    pending: Mutex<VecDeque<PendingChange>>,
    added: Notify,
    /// Revision of the last change in the cache.
    reached: AtomicU64,
    advanced: Notify,
    has_ended: AtomicBool,
}

/// Change, the time when it enters the cache, and the activity that it counts as until then.
struct PendingChange {
    due: Instant,
    event: Arc<Event>,
    _busy: Busy,
}

impl Lag {
    pub(super) fn new(delay: Duration, reached: u64) -> Arc<Self> {
        Arc::new(Self {
            delay,
            pending: Mutex::default(),
            added: Notify::new(),
            reached: AtomicU64::new(reached),
            advanced: Notify::new(),
            has_ended: AtomicBool::new(false),
        })
    }

    pub(super) fn delay(&self) -> Duration {
        self.delay
    }

    pub(super) fn push(&self, event: Arc<Event>, busy: Busy) {
        self.pending.lock().push_back(PendingChange {
            due: Instant::now() + self.delay,
            event,
            _busy: busy,
        });
        self.added.notify_one();
    }

    /// Changes that are not in the cache yet.
    pub(super) fn pending(&self) -> Vec<Arc<Event>> {
        self.pending
            .lock()
            .iter()
            .map(|pending| pending.event.clone())
            .collect()
    }

    /// Stops the delay: there are no watchers any more.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.added.notify_one();
    }

    pub(super) fn set_reached(&self, revision: u64) {
        self.reached.store(revision, Ordering::Release);
        self.advanced.notify_waiters();
    }

    /// Waits until the cache contains the change of `revision`. Returns the revision of the cache.
    pub(super) async fn wait_for(&self, revision: u64) -> u64 {
        loop {
            let mut advanced = std::pin::pin!(self.advanced.notified());
            advanced.as_mut().enable();
            let reached = self.reached.load(Ordering::Acquire);
            if reached >= revision {
                return reached;
            }
            advanced.await;
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.pending.lock().front().map(|pending| pending.due)
    }

    fn pop_due(&self, now: Instant) -> Option<PendingChange> {
        let mut pending = self.pending.lock();
        let is_due = pending.front().is_some_and(|first| first.due <= now);
        if is_due { pending.pop_front() } else { None }
    }
}

/// Passes changes to `cache` when they are due, until it returns false or the delay was stopped.
pub(super) async fn run(lag: Arc<Lag>, cache: impl Fn(Arc<Event>) -> bool) {
    while !lag.has_ended.load(Ordering::Acquire) {
        match lag.next_due() {
            None => lag.added.notified().await,
            Some(due) => sleep_until(due).await,
        }
        while let Some(pending) = lag.pop_due(Instant::now()) {
            let revision = pending.event.revision();
            if !cache(pending.event) {
                return;
            }
            lag.set_reached(revision);
        }
    }
}
