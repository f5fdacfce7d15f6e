//! A store that keeps its objects in a directory.
//!
//! Guarantees: with [`Durability::Sync`] a change is on the disk before anyone can see it, so that a crash loses and invents nothing; with
//! [`Durability::Interval`] a crash loses at most the last 100 ms, and every watch has to start anew after it. A start restores objects, history,
//! and revision. Damage and other formats are errors; nothing is repaired or emptied silently.
//! Limits: one process at a time; all objects and their history are in memory too; history is trimmed in the background, to the bounds of the watch cache.
//! The file is one of redb: a copy-on-write B-tree with checksums on every page, stable format, no C code. A log-structured store would write less per change; here
//! writers that wait are committed together, which costs one flush for all, and a start must prove that every byte is as it was written.
//!
//! The file has the changes that are kept and, as the base, the objects before them. A write adds a change; trimming moves the oldest changes into the base.

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

/// When a write is acknowledged. Default: [`Durability::Sync`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on the disk. Writes that wait together share one flush.
    #[default]
    Sync,
    /// At once; the disk follows every 100 ms.
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

/// Objects in a directory, and in memory for reading.
pub(crate) struct Durable {
    tables: Arc<RwLock<Tables>>,
    requests: Option<Sender<Request>>,
    /// A write that waits for the disk is work.
    activity: Activity,
    writer: Option<JoinHandle<()>>,
}

impl Durable {
    /// A store over an open directory. `sink` gets what is in it, then every change. Writes that wait for the disk count in `activity`. History beyond `limits` is trimmed.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub(crate) fn start(
        directory: DataDirectory,
        durability: Durability,
        limits: HistoryLimits,
        sink: Arc<dyn Sink>,
        activity: &Activity,
    ) -> Result<Self, DataDirectoryError> {
        let kept = directory.kept();
        let path = directory.path().to_owned();
        let (database, tables, past) = directory.into_parts();
        sink.restored(past);
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
        let (reply, answer) = oneshot::channel();
        let sent = self.requests.as_ref().is_some_and(|r| r.send(make(reply)).is_ok());
        if !sent {
            return Box::pin(ready(Err(stopped())));
        }
        let busy = self.activity.busy();
        Box::pin(async move {
            let answer = answer.await;
            drop(busy);
            answer.map_err(|_| stopped())?
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

/// Writes what is unsaved and closes the directory.
impl Drop for Durable {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has sent no results; its callers have errors.
            let _ = writer.join();
        }
    }
}
