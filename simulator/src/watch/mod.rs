//! Watch cache: delivers every change of a kind to each watcher once, in order.
//!
//! Guarantees:
//! - A watcher never slows a writer: a commit appends to a shared history, which watchers read at their own pace.
//! - A frame is encoded once for all watchers, unless its object is large.
//! - A watcher whose backlog grows by [`MAX_BACKLOG_GROWTH`] changes is ended, and its connection is closed if it does
//!   not read. If the history is longer than that, the client can resume where the watcher ended.
//!
//! Limits: history is bounded. An older start fails with [`TooOld`].
//!
//! Source of the semantics: the watch cache of Kubernetes v1.2, and its documentation under the documented profile.

mod event;
mod history;
mod hub;
mod lag;
mod watcher;
mod watcher_index;

pub(crate) use event::frame;
pub(crate) use event::{Event, EventType};
pub(crate) use hub::{Hub, Start};
pub(crate) use watcher::{WatchEnded, WatchFilter, Watcher};
pub(crate) use watcher_index::WatchIndexKey;

/// Maximum growth of a watcher's backlog, in changes, from the smallest backlog that it has had.
pub(crate) const MAX_BACKLOG_GROWTH: usize = 4_096;

/// Error of a watch that starts before the kept history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {requested} ({oldest})")]
pub(crate) struct TooOld {
    /// Requested revision.
    pub requested: u64,
    /// Oldest revision that a watch can start from.
    pub oldest: u64,
}
