//! The task that polls the processes of all containers.

use futures::{
    StreamExt,
    future::{BoxFuture, FutureExt},
    stream::FuturesUnordered,
};
use parking_lot::Mutex;
use tokio::sync::mpsc;

/// Polls all futures on one task, so that the same seed, clock and requests give the same bytes.
pub(crate) struct Executor {
    sender: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    receiver: Mutex<Option<mpsc::UnboundedReceiver<BoxFuture<'static, ()>>>>,
}

impl Executor {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }

    /// Adds a future. It is polled while [`Self::run`] is polled.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        // Without a receiver, the cluster has stopped.
        let _ = self.sender.send(future.boxed());
    }

    /// Polls a future once; if it is not ready, adds it to the executor.
    pub(crate) async fn start(&self, future: impl Future<Output = ()> + Send + 'static) {
        let mut future = future.boxed();
        let done = std::future::poll_fn(|context| std::task::Poll::Ready(future.poll_unpin(context).is_ready())).await;
        if !done {
            self.spawn(future);
        }
    }

    /// Polls the added futures until this future is dropped. Does nothing if it already runs elsewhere.
    pub(crate) async fn run(&self) {
        let Some(mut receiver) = self.receiver.lock().take() else {
            return;
        };
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                added = receiver.recv() => match added {
                    Some(future) => running.push(future),
                    None => return,
                },
                Some(()) = running.next() => {}
            }
        }
    }
}
