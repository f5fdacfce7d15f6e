//! The watch cache: every change of a kind, in order, to each watcher once.
//!
//! Promises: a watcher never slows a writer: a commit appends to a shared history, and watchers read it at their own pace; a frame is
//! encoded once for all watchers; a watcher whose backlog grows by [`LAG`] changes is ended, and its connection closed if it
//! never reads; if that is less than the history kept, it can resume where it was ended.
//! Limits: history is bounded; an older start is refused with [`TooOld`].
//! Source of the semantics: the watch cache of Kubernetes v1.2, and the documents where the profile says so.

mod event;
mod history;
mod hub;
mod interest;
mod lag;
mod watcher;

pub(crate) use event::frame;
pub(crate) use event::{Event, EventType};
pub(crate) use hub::{Hub, Start};
pub(crate) use interest::Interest;
pub(crate) use watcher::{WatchEnded, WatchFilter, Watcher};

/// How many changes a watcher's backlog may grow, from the smallest that it has had, before the watcher is ended.
pub(crate) const LAG: usize = 4_096;

/// The start of the watch is before the history that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub(crate) struct TooOld {
    /// The requested revision.
    pub asked: u64,
    /// The oldest that is kept.
    pub oldest: u64,
}
