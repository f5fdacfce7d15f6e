//! The thread that writes: it takes what waits, writes it together, and answers.

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
const INTERVAL: Duration = Duration::from_millis(100);
/// Most writes of one transaction.
const BATCH: usize = 1024;
/// How many revisions are reserved at a time with [`Durability::Interval`].
const RESERVE: u64 = 100_000;

/// A message to the thread.
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

/// An answer to a write, which waits until what it says is visible, and on the disk if it has to be.
type Answer = (oneshot::Sender<Result<Change, StoreError>>, Result<Change, StoreError>);

/// The state of the thread.
pub(super) struct Writer {
    pub(super) log: Log,
    pub(super) tables: Arc<RwLock<Tables>>,
    pub(super) sink: Arc<dyn Sink>,
    pub(super) durability: Durability,
    /// Acknowledged changes that are not yet on the disk.
    unsaved: Vec<Change>,
    /// The revision up to which changes may be acknowledged before they are on the disk.
    reserved: u64,
    saved: Instant,
    /// Why nothing can be written any more.
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

    /// Serves requests until it is closed or all senders are dropped. Then it writes what is unsaved, and closes the file.
    pub(super) fn run(mut self, requests: &Receiver<Request>) {
        self.trim();
        let mut closing = None;
        while closing.is_none()
            && let Some(batch) = self.next_batch(requests)
        {
            closing = self.serve(batch);
            self.trim();
        }
        if self.failed.is_none() {
            let unsaved = std::mem::take(&mut self.unsaved);
            let closed = self.log.append(&unsaved, None);
            self.note(closed);
        }
        self.trim();
        let failure = self.failed.take().map(StoreError::Unavailable);
        drop(self);
        if let Some(reply) = closing {
            // Whoever no longer waits needs no answer.
            let _ = reply.send(failure.map_or(Ok(()), Err));
        }
    }

    /// What waits, or what comes next; empty when it is time to write. `None` at the end.
    fn next_batch(&self, requests: &Receiver<Request>) -> Option<Vec<Request>> {
        let first = if self.unsaved.is_empty() || self.failed.is_some() {
            requests.recv().ok()?
        } else {
            match requests.recv_timeout(INTERVAL.saturating_sub(self.saved.elapsed())) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => return Some(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        };
        let mut batch = vec![first];
        while batch.len() < BATCH {
            match requests.try_recv() {
                Ok(next) => batch.push(next),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        Some(batch)
    }

    /// Serves a batch; returns whom to tell once the file is closed.
    fn serve(&mut self, batch: Vec<Request>) -> Option<oneshot::Sender<Result<(), StoreError>>> {
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
        if !self.unsaved.is_empty() && self.saved.elapsed() >= INTERVAL {
            self.save();
        }
        self.answer(answers);
        closing
    }

    /// The changes of a batch, each made to what those before it leave, and the answers to it.
    fn plan(
        &self,
        batch: Vec<Request>,
        closing: &mut Option<oneshot::Sender<Result<(), StoreError>>>,
    ) -> (Vec<Change>, Vec<Answer>) {
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

    /// Writes the unsaved changes to the disk; whether it could.
    fn save(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        let unsaved = std::mem::take(&mut self.unsaved);
        let last = unsaved.last().map_or(0, |change| change.revision);
        let reserved = (self.durability == Durability::Interval).then_some(last + RESERVE);
        let saved = self.log.append(&unsaved, reserved);
        self.note(saved);
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

    /// Answers; with the failure if what was to be written could not be.
    fn answer(&self, answers: Vec<Answer>) {
        let failure = self.failed.clone().map(StoreError::Unavailable);
        for (reply, planned) in answers {
            let answer = match &failure {
                Some(failure) if planned.is_ok() => Err(failure.clone()),
                _ => planned,
            };
            // Whoever no longer waits needs no answer.
            let _ = reply.send(answer);
        }
    }

    fn trim(&mut self) {
        if self.failed.is_none() {
            let trimmed = self.log.trim();
            self.note(trimmed);
        }
    }

    fn note(&mut self, done: Result<(), redb::Error>) {
        if let Err(error) = done {
            self.failed = Some(format!(
                "its data directory cannot be written: {error}; nothing more is written until a restart"
            ));
        }
    }
}
