//! Long computations, moved off the threads that serve other requests.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Size in bytes above which a body is parsed with `block_in_place`.
const LARGE_BODY_BYTES: usize = 64 << 10;

/// Parses a body of `size` bytes. While a large body is parsed, the thread's other tasks move to another thread of
/// the runtime.
///
/// Limits: on a single-threaded runtime, other tasks wait.
pub(super) async fn parse<T>(size: usize, work: impl Future<Output = T>) -> T {
    let runtime = Handle::current();
    if size <= LARGE_BODY_BYTES || runtime.runtime_flavor() != RuntimeFlavor::MultiThread {
        return work.await;
    }
    block_in_place(|| runtime.block_on(work))
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_continue_while_a_large_body_is_parsed() {
        let (sender, receiver) = mpsc::channel();
        let parsing = tokio::spawn(parse(LARGE_BODY_BYTES + 1, async move {
            tokio::spawn(async move { sender.send(7) });
            receiver.recv_timeout(Duration::from_secs(20))
        }));
        assert_eq!(parsing.await.unwrap(), Ok(7));
    }

    #[tokio::test]
    async fn a_single_threaded_runtime_parses_on_its_own_thread() {
        assert_eq!(parse(LARGE_BODY_BYTES + 1, async { 7 }).await, 7);
    }
}
