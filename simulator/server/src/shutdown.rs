//! Shutdown of a server.

use std::time::Duration;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Shutdown of a server: first graceful, then forced. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Cancelled when the shutdown begins: nothing is accepted any more, and streams end.
    pub closing: CancellationToken,
    /// Cancelled when connections that are still open are closed.
    pub close: CancellationToken,
    /// All tasks of the server.
    pub tasks: TaskTracker,
}

impl Shutdown {
    /// Closes everything at once.
    pub fn now(&self) {
        self.closing.cancel();
        self.close.cancel();
        self.tasks.close();
    }

    /// Stops accepting, waits up to `grace` for the tasks to end, then closes what is still open. Returns when all tasks have ended.
    pub async fn gracefully(&self, grace: Duration) {
        self.closing.cancel();
        self.tasks.close();
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            self.close.cancel();
            self.tasks.wait().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_outlives_the_grace_period_is_closed() {
        let shutdown = Shutdown::default();
        let close = shutdown.close.clone();
        let task = shutdown.tasks.spawn(async move { close.cancelled().await });
        shutdown.gracefully(Duration::ZERO).await;
        assert!(task.await.is_ok() && shutdown.close.is_cancelled());
    }

    #[tokio::test]
    async fn nothing_is_forced_where_every_task_ends_in_time() {
        let shutdown = Shutdown::default();
        let closing = shutdown.closing.clone();
        let task = shutdown.tasks.spawn(async move { closing.cancelled().await });
        shutdown.gracefully(Duration::from_secs(60)).await;
        assert!(task.await.is_ok() && !shutdown.close.is_cancelled());
    }
}
