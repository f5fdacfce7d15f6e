//! The simulated machine that a script runs on.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::files::Files;
use crate::limits::LIMITS;
use crate::program::Programs;

/// The clock of a machine.
pub trait Time: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Waits for `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The system's clock. Requires a Tokio runtime with timers.
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
    /// Host name.
    pub hostname: String,
    /// Clock.
    pub time: Arc<dyn Time>,
    /// Files. A new machine has `/tmp` and `/dev/null`.
    pub files: Arc<Files>,
    /// Additional programs. Default: none.
    pub programs: Option<Arc<dyn Programs>>,
}

impl Machine {
    /// Creates a machine with empty directories.
    pub fn new(hostname: impl Into<String>, time: Arc<dyn Time>) -> Self {
        Self {
            hostname: hostname.into(),
            time,
            files: Arc::new(Files::new(LIMITS.files)),
            programs: None,
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
