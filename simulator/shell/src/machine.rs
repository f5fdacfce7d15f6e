//! What a script can touch, and how much of it.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::files::Files;

/// Upper bounds of one script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Longest script, in bytes.
    pub script: usize,
    /// Deepest nesting of subshells, functions and substitutions.
    pub depth: usize,
    /// Longest value of a variable or of an expanded word, in bytes.
    pub value: usize,
    /// Most fields that one command expands to.
    pub fields: usize,
    /// Commands that run without a pause; after as many, the script sleeps for [`Limits::pause`].
    pub burst: u64,
    /// Pause after each burst of commands.
    pub pause: Duration,
    /// Most background jobs at a time.
    pub jobs: usize,
    /// Most bytes of all files of a machine.
    pub files: usize,
}

/// The limits of every script.
pub const LIMITS: Limits = Limits {
    script: 64 << 10,
    depth: 32,
    value: 1 << 20,
    fields: 100_000,
    burst: 200,
    pause: Duration::from_millis(10),
    jobs: 64,
    files: 8 << 20,
};

/// The clock of a machine.
pub trait Time: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// Waits for `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The system's time. Needs a tokio runtime with timers.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealTime;

impl Time for RealTime {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// The machine that a script runs on: a host name, a clock, and files in memory.
pub struct Machine {
    /// The host name.
    pub hostname: String,
    /// The clock.
    pub time: Arc<dyn Time>,
    /// The files. A new machine has `/tmp` and `/dev/null`.
    pub files: Files,
}

impl Machine {
    /// A machine with empty directories.
    pub fn new(hostname: impl Into<String>, time: Arc<dyn Time>) -> Self {
        Self {
            hostname: hostname.into(),
            time,
            files: Files::new(LIMITS.files),
        }
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("hostname", &self.hostname)
            .finish_non_exhaustive()
    }
}
