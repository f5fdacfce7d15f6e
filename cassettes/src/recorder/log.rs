//! The recording thread and its event queue.
//!
//! Guarantees:
//! - Events are recorded in the order in which they were sent.
//! - The queue holds at most [`MAX_PENDING_BYTES`], plus the events of connections that end.
//! - The proxy keeps forwarding after the thread has ended.

use super::buffers::{Buffer, BufferPool};
use super::event::Event;
use super::pending::{CassetteLog, PendingInteraction};
use super::recent_bodies::{RecentBodies, RecentBody};
use crate::format::{CassetteWriter, FormatError};
use crate::interaction::Response;
use crate::redactor::Redactor;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, PollSemaphore};

/// Maximum number of bytes queued for recording.
const MAX_PENDING_BYTES: usize = 32 << 20;

/// Number of bytes per permit.
const PERMIT_BYTES: usize = 4 << 10;

/// Time to wait for more events after the first. Waking the thread for each event would cost more than recording it.
const BATCH_DELAY: Duration = Duration::from_millis(1);

/// A queued event.
#[derive(Debug)]
pub(super) struct Entry {
    /// Number of the interaction.
    pub(super) id: u64,
    /// Time since the request.
    pub(super) at: Duration,
    pub(super) event: Event,
    /// Reserved space in the queue.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

#[derive(Debug, Default)]
struct Pending {
    entries: Vec<Entry>,
    /// Whether further events are ignored.
    closed: bool,
}

#[derive(Debug)]
struct Queue {
    pending: Mutex<Pending>,
    /// Notified when an event is sent, and when the queue is closed.
    changed: Condvar,
    /// Free space.
    permits: Arc<Semaphore>,
    /// The error that stopped the recording.
    failure: Mutex<Option<String>>,
    /// Cancelled when the thread has ended.
    ended: CancellationToken,
}

/// The event queue of the recording thread. Dropping it ends the thread after the last event is recorded.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    queue: Arc<Queue>,
    buffers: Arc<BufferPool>,
    recent: Arc<RecentBodies>,
}

impl Log {
    /// Starts the thread.
    pub(super) fn start(writer: CassetteWriter, redactor: Redactor) -> Result<Self, FormatError> {
        let queue = Arc::new(Queue {
            pending: Mutex::default(),
            changed: Condvar::new(),
            permits: Arc::new(Semaphore::new(MAX_PENDING_BYTES / PERMIT_BYTES)),
            failure: Mutex::new(None),
            ended: CancellationToken::new(),
        });
        let recent = Arc::<RecentBodies>::default();
        let path = writer.path().to_owned();
        let thread = RecorderThread {
            cassette: CassetteLog {
                writer,
                redactor,
                recent: recent.clone(),
                kept: 0,
            },
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
                recent,
            }),
            Err(source) => Err(FormatError::File { path, source }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The error that stopped the recording, if any.
    pub(super) fn failure(&self) -> Option<String> {
        self.queue.failure.lock().clone()
    }

    /// Copies a part of a response body for [`Log::send`].
    pub(super) fn copy(&self, data: &[u8]) -> Buffer {
        self.buffers.copy(data)
    }

    /// The last recorded body of a URL, if the head of the response is the same.
    pub(super) fn recent_body(&self, url: &str, response: &Response) -> Option<Arc<RecentBody>> {
        self.recent.find(url, response)
    }

    /// Sends an event.
    pub(super) fn send(&self, entry: Entry) {
        let mut pending = self.queue.pending.lock();
        if !pending.closed {
            pending.entries.push(entry);
            self.queue.changed.notify_one();
        }
    }

    /// Waits for free space of this many bytes. Returns none if the recording has stopped.
    pub(super) async fn reserve(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.queue.permits.clone().acquire_many_owned(permits(bytes)).await.ok()
    }

    /// The semaphore of the queue, for polling. [`permits`] converts bytes.
    pub(super) fn semaphore(&self) -> PollSemaphore {
        PollSemaphore::new(self.queue.permits.clone())
    }

    /// Closes the queue and waits until every event is recorded. Later events are ignored.
    pub(super) async fn finish(&self) {
        self.close();
        self.queue.ended.cancelled().await;
    }

    fn close(&self) {
        self.queue.pending.lock().closed = true;
        self.queue.changed.notify_one();
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.close();
    }
}

/// Number of permits for this many bytes. At most all permits of the queue.
pub(super) fn permits(bytes: usize) -> u32 {
    u32::try_from((bytes / PERMIT_BYTES + 1).min(MAX_PENDING_BYTES / PERMIT_BYTES)).unwrap_or(u32::MAX)
}

/// State of the recording thread.
struct RecorderThread {
    cassette: CassetteLog,
    /// Interactions that have not ended, by number.
    interactions: HashMap<u64, PendingInteraction>,
    queue: Arc<Queue>,
}

impl RecorderThread {
    fn run(mut self) {
        while let Some(entries) = self.queue.next() {
            for Entry { id, at, event, permit } in entries {
                let result = self.record(id, at, event);
                self.keep_error(result);
                drop(permit);
            }
            let result = self.cassette.writer.flush();
            self.keep_error(result);
        }
    }

    fn record(&mut self, id: u64, at: Duration, event: Event) -> Result<(), FormatError> {
        if let Event::RequestStart(start) = event {
            self.interactions
                .insert(id, PendingInteraction::new(&self.cassette.redactor, id, *start));
            return Ok(());
        }
        let Some(interaction) = self.interactions.get_mut(&id) else {
            return Ok(());
        };
        let is_last = matches!(
            event,
            Event::Failed(_) | Event::Whole(..) | Event::Repeated(..) | Event::End(_)
        );
        let result = interaction.record(&mut self.cassette, at, event);
        if is_last {
            self.interactions.remove(&id);
        }
        result
    }

    /// Keeps the first error. The writer refuses everything after it.
    fn keep_error(&self, result: Result<(), FormatError>) {
        if let Err(error) = result {
            self.queue.failure.lock().get_or_insert_with(|| error.to_string());
        }
    }
}

impl Drop for RecorderThread {
    /// Runs after a panic as well. The proxy then keeps forwarding without recording.
    fn drop(&mut self) {
        let mut pending = self.queue.pending.lock();
        if !pending.closed || !pending.entries.is_empty() {
            let text = "the recording thread has ended".to_owned();
            self.queue.failure.lock().get_or_insert(text);
        }
        pending.closed = true;
        pending.entries.clear();
        self.queue.permits.close();
        self.queue.ended.cancel();
    }
}

impl Queue {
    /// Waits for events and for those that follow within [`BATCH_DELAY`]. Returns none after the queue is closed.
    fn next(&self) -> Option<Vec<Entry>> {
        let mut pending = self.pending.lock();
        while pending.entries.is_empty() {
            if pending.closed {
                return None;
            }
            self.changed.wait(&mut pending);
        }
        if !pending.closed {
            MutexGuard::unlocked(&mut pending, || std::thread::sleep(BATCH_DELAY));
        }
        Some(std::mem::take(&mut pending.entries))
    }
}
