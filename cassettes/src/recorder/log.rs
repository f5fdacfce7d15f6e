//! The thread that records, and the way to it.
//!
//! Promises: events are recorded in the order in which they were sent; at most [`ROOM`] bytes wait, beside the events of
//! connections that end; traffic goes on when the thread has ended.

use super::buffers::{Buffer, BufferPool};
use super::event::Event;
use super::pending::{CassetteLog, PendingInteraction};
use crate::format::{CassetteWriter, FormatError};
use crate::redactor::Redactor;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, PollSemaphore};

/// How many bytes wait to be recorded.
const ROOM: usize = 32 << 20;

/// The bytes of one permit.
const UNIT: usize = 4 << 10;

/// Events within this time are recorded together. A thread that is woken for each would cost more than they do.
const GATHER: Duration = Duration::from_millis(1);

/// An event, its interaction, and when it was since the request.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: u64,
    pub(super) at: Duration,
    pub(super) event: Event,
    /// The room that it takes.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

#[derive(Debug, Default)]
struct Waiting {
    entries: Vec<Entry>,
    /// Whether no more is sent.
    closed: bool,
}

#[derive(Debug)]
struct Queue {
    waiting: Mutex<Waiting>,
    came: Condvar,
    room: Arc<Semaphore>,
    failure: Mutex<Option<String>>,
    /// Cancelled when the thread has ended.
    ended: CancellationToken,
}

/// The way to the thread that records. Dropping it ends the thread when all is recorded.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    queue: Arc<Queue>,
    buffers: Arc<BufferPool>,
}

impl Log {
    /// Starts the thread.
    pub(super) fn start(writer: CassetteWriter, redactor: Redactor) -> Result<Self, FormatError> {
        let queue = Arc::new(Queue {
            waiting: Mutex::default(),
            came: Condvar::new(),
            room: Arc::new(Semaphore::new(ROOM / UNIT)),
            failure: Mutex::new(None),
            ended: CancellationToken::new(),
        });
        let path = writer.path().to_owned();
        let thread = RecorderThread {
            cassette: CassetteLog { writer, redactor },
            interactions: HashMap::new(),
            queue: queue.clone(),
        };
        let started = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || thread.run());
        match started {
            Ok(_) => Ok(Self {
                path,
                queue,
                buffers: Arc::default(),
            }),
            Err(source) => Err(FormatError::File { path, source }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Why nothing more is recorded, if that is so.
    pub(super) fn failure(&self) -> Option<String> {
        self.queue.failure.lock().clone()
    }

    /// Copies a part of a response body for [`Log::send`].
    pub(super) fn copy(&self, data: &[u8]) -> Buffer {
        self.buffers.copy(data)
    }

    /// Sends an event.
    pub(super) fn send(&self, entry: Entry) {
        let mut waiting = self.queue.waiting.lock();
        if !waiting.closed {
            waiting.entries.push(entry);
            self.queue.came.notify_one();
        }
    }

    /// Waits until so many bytes may wait. Returns none if nothing is recorded any more.
    pub(super) async fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.queue.room.clone().acquire_many_owned(units(bytes)).await.ok()
    }

    /// As [`Log::room`], for what is polled: a permit is for [`units`].
    pub(super) fn permits(&self) -> PollSemaphore {
        PollSemaphore::new(self.queue.room.clone())
    }

    /// Waits until all is recorded that was sent. What is sent later is not recorded.
    pub(super) async fn finish(&self) {
        self.close();
        self.queue.ended.cancelled().await;
    }

    fn close(&self) {
        self.queue.waiting.lock().closed = true;
        self.queue.came.notify_one();
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.close();
    }
}

/// The permits for so many bytes. What is longer than all the room takes all of it.
pub(super) fn units(bytes: usize) -> u32 {
    u32::try_from((bytes / UNIT + 1).min(ROOM / UNIT)).unwrap_or(u32::MAX)
}

/// What the thread has.
struct RecorderThread {
    cassette: CassetteLog,
    /// Those that have not ended.
    interactions: HashMap<u64, PendingInteraction>,
    queue: Arc<Queue>,
}

impl RecorderThread {
    fn run(mut self) {
        while let Some(entries) = self.queue.next() {
            for Entry { id, at, event, permit } in entries {
                let result = self.record(id, at, event);
                self.note(result);
                drop(permit);
            }
            let result = self.cassette.writer.flush();
            self.note(result);
        }
    }

    fn record(&mut self, id: u64, at: Duration, event: Event) -> Result<(), FormatError> {
        if let Event::Asked(asked) = event {
            self.interactions
                .insert(id, PendingInteraction::new(&self.cassette.redactor, id, *asked));
            return Ok(());
        }
        let Some(interaction) = self.interactions.get_mut(&id) else {
            return Ok(());
        };
        let is_last = matches!(event, Event::Failed(_) | Event::Whole(..) | Event::End(_));
        let result = interaction.record(&mut self.cassette, at, event);
        if is_last {
            self.interactions.remove(&id);
        }
        result
    }

    /// Keeps the first error: the writer takes nothing after it.
    fn note(&self, result: Result<(), FormatError>) {
        if let Err(error) = result {
            self.queue.failure.lock().get_or_insert_with(|| error.to_string());
        }
    }
}

impl Drop for RecorderThread {
    /// Also after a panic, after which traffic goes on unrecorded.
    fn drop(&mut self) {
        let mut waiting = self.queue.waiting.lock();
        if !waiting.closed || !waiting.entries.is_empty() {
            let text = "the thread that records has ended".to_owned();
            self.queue.failure.lock().get_or_insert(text);
        }
        waiting.closed = true;
        waiting.entries.clear();
        self.queue.room.close();
        self.queue.ended.cancel();
    }
}

impl Queue {
    /// Waits for what is sent, and for what follows it at once. Returns none after the end.
    fn next(&self) -> Option<Vec<Entry>> {
        let mut waiting = self.waiting.lock();
        while waiting.entries.is_empty() {
            if waiting.closed {
                return None;
            }
            self.came.wait(&mut waiting);
        }
        if !waiting.closed {
            MutexGuard::unlocked(&mut waiting, || std::thread::sleep(GATHER));
        }
        Some(std::mem::take(&mut waiting.entries))
    }
}
