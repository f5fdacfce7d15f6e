//! Writer thread: commits concurrent writes in batches.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::{Duration, Instant},
};

use parking_lot::RwLock;
use tokio::sync::oneshot;

use super::{Durability, log::Log};
use crate::store::{
    Change, Expected, Key, Record, Sink, StoreError, Write,
    tables::{Tables, plan},
};

/// Time between two writes to the disk with [`Durability::Interval`].
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of writes in one transaction.
const MAX_BATCH_WRITES: usize = 1024;
/// Number of revisions reserved at a time with [`Durability::Interval`].
const RESERVED_REVISIONS: u64 = 100_000;

/// Message to the thread.
#[expect(clippy::large_enum_variant, reason = "every request but the last is a commit")]
pub(super) enum Request {
    Commit {
        key: Key,
        expected: Expected,
        write: Write,
        reply: oneshot::Sender<Result<Change, StoreError>>,
    },
    Close(oneshot::Sender<Result<(), StoreError>>),
}

/// Result of a write and its receiver. It is sent once the change is visible and, with [`Durability::Sync`], on the
/// disk.
type Reply = (oneshot::Sender<Result<Change, StoreError>>, Result<Change, StoreError>);

/// State of the thread.
pub(super) struct Writer {
    pub(super) log: Log,
    pub(super) tables: Arc<RwLock<Tables>>,
    pub(super) sink: Arc<dyn Sink>,
    pub(super) durability: Durability,
    /// Acknowledged changes that are not on the disk yet.
    unsaved: Vec<Change>,
    /// Revision up to which changes may be acknowledged before they are on the disk.
    reserved: u64,
    saved: Instant,
    /// Error that stopped all writes, if any.
    failed: Option<String>,
}

impl Writer {
    pub(super) fn new(log: Log, tables: Arc<RwLock<Tables>>, sink: Arc<dyn Sink>, durability: Durability) -> Self {
        Self {
            log,
            tables,
            sink,
            durability,
            unsaved: Vec::new(),
            reserved: 0,
            saved: Instant::now(),
            failed: None,
        }
    }

    /// Handles requests until a `Close` or until all senders are dropped. Then writes the unsaved changes and closes
    /// the file.
    pub(super) fn run(mut self, requests: &Receiver<Request>) {
        self.trim();
        let mut closing = None;
        while closing.is_none()
            && let Some(batch) = self.next_batch(requests)
        {
            closing = self.handle(batch);
            self.trim();
        }
        if self.failed.is_none() {
            let unsaved = std::mem::take(&mut self.unsaved);
            let closed = self.log.append(&unsaved, None);
            self.record_failure(closed);
        }
        self.trim();
        let failure = self.failed.take().map(StoreError::Unavailable);
        drop(self);
        if let Some(reply) = closing {
            // The caller may have stopped waiting.
            let _ = reply.send(failure.map_or(Ok(()), Err));
        }
    }

    /// Returns the requests that are queued, or waits for the next one. Empty when the interval has passed. `None` at
    /// the end.
    fn next_batch(&self, requests: &Receiver<Request>) -> Option<Vec<Request>> {
        let first = if self.unsaved.is_empty() || self.failed.is_some() {
            requests.recv().ok()?
        } else {
            match requests.recv_timeout(FLUSH_INTERVAL.saturating_sub(self.saved.elapsed())) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => return Some(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        };
        let mut batch = vec![first];
        while batch.len() < MAX_BATCH_WRITES {
            match requests.try_recv() {
                Ok(next) => batch.push(next),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        Some(batch)
    }

    /// Handles a batch. Returns the sender of a `Close`, to be used once the file is closed.
    fn handle(&mut self, batch: Vec<Request>) -> Option<oneshot::Sender<Result<(), StoreError>>> {
        let mut closing = None;
        let (changes, answers) = self.plan(batch, &mut closing);
        let last = changes.last().map_or(0, |change| change.revision);
        let is_first = self.durability == Durability::Sync || last > self.reserved;
        if self.failed.is_none() {
            self.unsaved.extend_from_slice(&changes);
            if !is_first || changes.is_empty() || self.save() {
                self.publish(changes);
            }
        }
        if !self.unsaved.is_empty() && self.saved.elapsed() >= FLUSH_INTERVAL {
            self.save();
        }
        self.send_results(answers);
        closing
    }

    /// Computes the changes of a batch, each on top of those before it, and the results.
    fn plan(
        &self,
        batch: Vec<Request>,
        closing: &mut Option<oneshot::Sender<Result<(), StoreError>>>,
    ) -> (Vec<Change>, Vec<Reply>) {
        let tables = self.tables.read();
        let mut pending: HashMap<Key, Option<Arc<Record>>> = HashMap::new();
        let mut changes: Vec<Change> = Vec::new();
        let mut answers = Vec::with_capacity(batch.len());
        for request in batch {
            match request {
                Request::Commit {
                    key,
                    expected,
                    write,
                    reply,
                } => {
                    let before = pending.get(&key).cloned().unwrap_or_else(|| tables.get(&key));
                    let revision = changes.last().map_or(tables.revision, |change| change.revision) + 1;
                    let planned = plan(before, revision, &key, expected, write);
                    if let Ok(change) = &planned {
                        pending.insert(key, change.after.clone());
                        changes.push(change.clone());
                    }
                    answers.push((reply, planned));
                }
                Request::Close(reply) => *closing = Some(reply),
            }
        }
        (changes, answers)
    }

    /// Writes the unsaved changes to the disk. Returns whether it succeeded.
    fn save(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        let unsaved = std::mem::take(&mut self.unsaved);
        let last = unsaved.last().map_or(0, |change| change.revision);
        let reserved = (self.durability == Durability::Interval).then_some(last + RESERVED_REVISIONS);
        let saved = self.log.append(&unsaved, reserved);
        self.record_failure(saved);
        self.saved = Instant::now();
        self.reserved = reserved.unwrap_or(0);
        self.failed.is_none()
    }

    fn publish(&self, changes: Vec<Change>) {
        let mut tables = self.tables.write();
        for change in changes {
            tables.apply(&change);
            self.sink.committed(change);
        }
    }

    /// Sends the results. If writing failed, successful ones are replaced by that error.
    fn send_results(&self, answers: Vec<Reply>) {
        let failure = self.failed.clone().map(StoreError::Unavailable);
        for (reply, planned) in answers {
            let result = match &failure {
                Some(failure) if planned.is_ok() => Err(failure.clone()),
                _ => planned,
            };
            // The caller may have stopped waiting.
            let _ = reply.send(result);
        }
    }

    fn trim(&mut self) {
        if self.failed.is_none() {
            let trimmed = self.log.trim();
            self.record_failure(trimmed);
        }
    }

    fn record_failure(&mut self, done: Result<(), redb::Error>) {
        if let Err(error) = done {
            self.failed = Some(format!(
                "the data directory cannot be written: {error}; all writes fail until a restart"
            ));
        }
    }
}
