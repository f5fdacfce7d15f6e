//! A watch cache that lags behind writes.
//!
//! Source: the watch cache of Kubernetes v1.2, which is fed by a watch of its store, some milliseconds after a write is acknowledged.

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

/// Changes that are committed and have not reached the cache.
pub(super) struct Lag {
    by: Duration,
    waiting: Mutex<VecDeque<Waiting>>,
    added: Notify,
    /// The revision of the last change that has reached the cache.
    reached: AtomicU64,
    moved: Notify,
    has_ended: AtomicBool,
}

/// A change, when it reaches the cache, and the work that it is until then.
struct Waiting {
    due: Instant,
    event: Arc<Event>,
    _busy: Busy,
}

impl Lag {
    pub(super) fn new(by: Duration, reached: u64) -> Arc<Self> {
        Arc::new(Self {
            by,
            waiting: Mutex::default(),
            added: Notify::new(),
            reached: AtomicU64::new(reached),
            moved: Notify::new(),
            has_ended: AtomicBool::new(false),
        })
    }

    pub(super) fn by(&self) -> Duration {
        self.by
    }

    pub(super) fn push(&self, event: Arc<Event>, busy: Busy) {
        self.waiting.lock().push_back(Waiting {
            due: Instant::now() + self.by,
            event,
            _busy: busy,
        });
        self.added.notify_one();
    }

    /// The changes that have not reached the cache.
    pub(super) fn waiting(&self) -> Vec<Arc<Event>> {
        self.waiting
            .lock()
            .iter()
            .map(|waiting| waiting.event.clone())
            .collect()
    }

    /// Ends it: there are no watchers any more.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.added.notify_one();
    }

    pub(super) fn set_reached(&self, revision: u64) {
        self.reached.store(revision, Ordering::Release);
        self.moved.notify_waiters();
    }

    /// Waits until the cache has the change of `revision`; returns the revision that it has.
    pub(super) async fn reach(&self, revision: u64) -> u64 {
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            moved.as_mut().enable();
            let reached = self.reached.load(Ordering::Acquire);
            if reached >= revision {
                return reached;
            }
            moved.await;
        }
    }

    fn next(&self) -> Option<Instant> {
        self.waiting.lock().front().map(|waiting| waiting.due)
    }

    fn take(&self, now: Instant) -> Option<Waiting> {
        let mut waiting = self.waiting.lock();
        let is_due = waiting.front().is_some_and(|first| first.due <= now);
        if is_due { waiting.pop_front() } else { None }
    }
}

/// Passes changes to `cache` when they are due, until that returns false or the lag has ended.
pub(super) async fn run(lag: Arc<Lag>, cache: impl Fn(Arc<Event>) -> bool) {
    while !lag.has_ended.load(Ordering::Acquire) {
        match lag.next() {
            None => lag.added.notified().await,
            Some(due) => sleep_until(due).await,
        }
        while let Some(waiting) = lag.take(Instant::now()) {
            let revision = waiting.event.revision();
            if !cache(waiting.event) {
                return;
            }
            lag.set_reached(revision);
        }
    }
}
