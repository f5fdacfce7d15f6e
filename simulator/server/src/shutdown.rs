//! Shutdown of a server.

use std::time::Duration;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Shutdown of a server: first graceful, then forced. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Cancelled when the shutdown begins: no connections are accepted, and streams end.
    pub closing: CancellationToken,
    /// Cancelled when the connections that are still open are closed.
    pub close: CancellationToken,
    /// All tasks of the server.
    pub tasks: TaskTracker,
}

impl Shutdown {
    /// Creates the shutdown of a part of the server. The part can be stopped separately, and stops at the latest with
    /// the server; their tasks are tracked together.
    pub fn child(&self) -> Self {
        Self {
            closing: self.closing.child_token(),
            close: self.close.child_token(),
            tasks: self.tasks.clone(),
        }
    }

    /// Closes everything immediately.
    pub fn now(&self) {
        self.closing.cancel();
        self.close.cancel();
        self.tasks.close();
    }

    /// Stops accepting, waits up to `grace` for the tasks to end, then closes the open connections. Returns when all
    /// tasks have ended.
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

    #[test]
    fn a_part_stops_separately_or_with_the_server() {
        let server = Shutdown::default();
        let (one, other) = (server.child(), server.child());
        one.closing.cancel();
        assert!(one.closing.is_cancelled() && !other.closing.is_cancelled() && !server.closing.is_cancelled());
        server.now();
        assert!(other.closing.is_cancelled() && other.close.is_cancelled());
    }

    #[tokio::test]
    async fn nothing_is_closed_if_every_task_ends_in_time() {
        let shutdown = Shutdown::default();
        let closing = shutdown.closing.clone();
        let task = shutdown.tasks.spawn(async move { closing.cancelled().await });
        shutdown.gracefully(Duration::from_secs(60)).await;
        assert!(task.await.is_ok() && !shutdown.close.is_cancelled());
    }
}
