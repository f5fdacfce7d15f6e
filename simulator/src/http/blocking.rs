//! Work that takes long, kept away from the threads that serve other requests.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Bodies of more bytes than this are parsed where other tasks do not wait for it.
const LARGE: usize = 64 << 10;

/// Runs the work on a body of `size` bytes. If the body is large, other tasks of the thread go on, on another thread of the runtime.
///
/// Limits: on a runtime of one thread, other tasks wait.
pub(super) async fn parse<T>(size: usize, work: impl Future<Output = T>) -> T {
    let runtime = Handle::current();
    if size <= LARGE || runtime.runtime_flavor() != RuntimeFlavor::MultiThread {
        return work.await;
    }
    block_in_place(|| runtime.block_on(work))
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_of_the_thread_go_on_while_a_large_body_is_parsed() {
        let (sender, receiver) = mpsc::channel();
        let parsing = tokio::spawn(parse(LARGE + 1, async move {
            tokio::spawn(async move { sender.send(7) });
            receiver.recv_timeout(Duration::from_secs(20))
        }));
        assert_eq!(parsing.await.unwrap(), Ok(7));
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_does_the_work_itself() {
        assert_eq!(parse(LARGE + 1, async { 7 }).await, 7);
    }
}
