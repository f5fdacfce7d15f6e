//! Watches: who follows a kind hears of its changes, in order, each once.
//!
//! Promises: a follower never slows a writer: a commit appends to a shared log, and followers read it at their own pace; a frame is
//! encoded once however many read it; a follower that falls [`LAG`] changes further behind than it has been is ended, and its connection cut if it
//! never reads; where that is less than the history kept, it can resume where it was ended.
//! Limits: history is bounded; an older start is refused with [`TooOld`].
//! Source of the semantics: the watch cache of Kubernetes v1.2, and the documents where the profile says so.

mod event;
mod follower;
mod hub;
mod log;

pub use event::{Event, EventType};
pub use follower::{Follower, Interest};
pub use hub::{Hub, Start};

/// How many changes of a kind a follower may be behind, beyond what it has been behind at the least, before it is ended.
pub const LAG: usize = 4_096;

/// The asked-for start lies before what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct TooOld {
    /// The revision asked for.
    pub asked: u64,
    /// The oldest that is kept.
    pub oldest: u64,
}
