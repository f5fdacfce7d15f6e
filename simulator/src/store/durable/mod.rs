//! Store in a data directory.
//!
//! Guarantees:
//! - [`Durability::Sync`]: a change is on the disk before anyone can see it. A crash loses nothing and adds nothing.
//! - [`Durability::Interval`]: a crash loses at most the last 100 ms. Watches cannot be resumed after it.
//! - A start restores objects, history and revision. Damage and other formats are errors; nothing is repaired or
//!   discarded silently.
//!
//! Limits:
//! - One process at a time.
//! - All objects and their history are in memory too.
//! - History is trimmed in the background to the limits of the watch cache.
//! - After a crash, damage to the last transaction cannot be told from an incomplete write, which is dropped.
//!
//! The file is a redb database: a copy-on-write B-tree with checksums on every page, a stable format, no C code. A
//! log-structured store would write less per change; here concurrent writes share one flush, and a start must verify
//! every byte.
//!
//! The file contains the kept changes and, as the base, the objects before them. A write adds a change. Trimming
//! moves the oldest changes into the base.

mod directory;
mod error;
mod log;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    str::FromStr,
    sync::{
        Arc,
        mpsc::{Sender, channel},
    },
    thread::{self, JoinHandle},
};

use futures::future::{BoxFuture, ready};
use parking_lot::RwLock;
use tokio::sync::oneshot;

pub use directory::{DataDirectory, DataDirectorySummary};
pub use error::DataDirectoryError;

use self::{
    log::Log,
    writer::{Request, Writer},
};
use super::{Change, Expected, HistoryLimits, Key, Sink, Store, StoreError, Write, tables::Tables};
use crate::{clock::Activity, strategy::Claims};

/// Time of the acknowledgement of a write. Default: [`Durability::Sync`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// After the write is on the disk. Concurrent writes share one flush.
    #[default]
    Sync,
    /// Immediately. Changes are written to the disk every 100 ms.
    Interval,
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sync" => Ok(Self::Sync),
            "interval" => Ok(Self::Interval),
            _ => Err(format!("{text:?} is not a durability: sync or interval")),
        }
    }
}

/// Objects in a directory, with a copy in memory for reads.
pub(crate) struct Durable {
    tables: Arc<RwLock<Tables>>,
    requests: Option<Sender<Request>>,
    /// Counts a write that waits for the disk as work.
    activity: Activity,
    writer: Option<JoinHandle<()>>,
}

impl Durable {
    /// Starts a store over an open directory. `sink` gets the restored state, then every change. Writes that wait for
    /// the disk count in `activity`. History beyond `limits` is trimmed.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(
        directory: DataDirectory,
        durability: Durability,
        limits: HistoryLimits,
        sink: Arc<dyn Sink>,
        activity: &Activity,
    ) -> Result<Self, DataDirectoryError> {
        let kept = directory.kept();
        let path = directory.path().to_owned();
        let (database, tables, restored) = directory.into_parts();
        sink.restored(restored);
        let tables = Arc::new(RwLock::new(tables));
        let writer = Writer::new(Log::new(database, limits, kept), tables.clone(), sink, durability);
        let (requests, received) = channel();
        let thread = thread::Builder::new().name("store".to_owned());
        let writer = thread
            .spawn(move || writer.run(&received))
            .map_err(|source| DataDirectoryError::Io {
                directory: path,
                source,
            })?;
        Ok(Self {
            tables,
            requests: Some(requests),
            activity: activity.clone(),
            writer: Some(writer),
        })
    }

    fn request<'a, T: Send + 'a>(
        &'a self,
        make: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Request,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let stopped = || StoreError::Unavailable("its writer has stopped".to_owned());
        let (reply, send_results) = oneshot::channel();
        let sent = self.requests.as_ref().is_some_and(|r| r.send(make(reply)).is_ok());
        if !sent {
            return Box::pin(ready(Err(stopped())));
        }
        let busy = self.activity.busy();
        Box::pin(async move {
            let send_results = send_results.await;
            drop(busy);
            send_results.map_err(|_| stopped())?
        })
    }
}

impl Store for Durable {
    fn tables(&self) -> &RwLock<Tables> {
        &self.tables
    }

    fn commit_claiming<'a>(
        &'a self,
        key: &'a Key,
        expected: Expected,
        write: Write,
        _: &'a Claims,
    ) -> BoxFuture<'a, Result<Change, StoreError>> {
        self.request(|reply| Request::Commit {
            key: key.clone(),
            expected,
            write,
            reply,
        })
    }

    fn commits_wait(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.request(Request::Close)
    }
}

/// Writes the unsaved changes and closes the directory.
impl Drop for Durable {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has sent no results: its callers get errors.
            let _ = writer.join();
        }
    }
}
