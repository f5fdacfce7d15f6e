//! Counter of work in progress, to detect when the cluster is idle.
//!
//! - A tracked future counts from the moment it is woken until it waits again. A [`Busy`] guard counts while it
//!   exists.
//! - While the count is 0, every tracked future waits for time to pass or for an external request.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures::task::AtomicWaker;
use tokio::sync::Notify;

/// Counter of work in progress. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Activity(Arc<Counter>);

#[derive(Default)]
struct Counter {
    running: AtomicUsize,
    idle: Notify,
}

impl Counter {
    fn enter(&self) {
        self.running.fetch_add(1, Ordering::AcqRel);
    }

    fn leave(&self) {
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.idle.notify_waiters();
        }
    }
}

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Activity")
            .field(&self.0.running.load(Ordering::Acquire))
            .finish()
    }
}

impl Activity {
    /// Returns a guard that counts as work until it is dropped.
    pub(crate) fn busy(&self) -> Busy {
        self.0.enter();
        Busy(Arc::clone(&self.0))
    }

    /// Counts `future` as work whenever it can make progress.
    pub(crate) fn track<F: Future>(&self, future: F) -> Tracked<F> {
        self.0.enter();
        let wakeup = Arc::new(Wakeup {
            counter: Arc::clone(&self.0),
            scheduled: AtomicBool::new(true),
            outer: AtomicWaker::new(),
        });
        Tracked {
            future: Box::pin(future),
            waker: Arc::clone(&wakeup).into(),
            wakeup,
        }
    }

    /// Waits until the count is 0.
    pub(crate) async fn idle(&self) {
        loop {
            let mut idle = std::pin::pin!(self.0.idle.notified());
            idle.as_mut().enable();
            if self.0.running.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }
}

/// Guard that counts as work.
pub(crate) struct Busy(Arc<Counter>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Future that counts as work whenever it can make progress.
pub(crate) struct Tracked<F> {
    future: Pin<Box<F>>,
    wakeup: Arc<Wakeup>,
    waker: Waker,
}

struct Wakeup {
    counter: Arc<Counter>,
    /// Whether the future was woken and not polled since. It is counted once for that.
    scheduled: AtomicBool,
    outer: AtomicWaker,
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.scheduled.swap(true, Ordering::AcqRel) {
            self.counter.enter();
        }
        self.outer.wake();
    }
}

impl<F: Future> Future for Tracked<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        this.wakeup.outer.register(context.waker());
        if !this.wakeup.scheduled.swap(false, Ordering::AcqRel) {
            this.wakeup.counter.enter();
        }
        let polled = this.future.as_mut().poll(&mut Context::from_waker(&this.waker));
        this.wakeup.counter.leave();
        polled
    }
}

impl<F> Drop for Tracked<F> {
    fn drop(&mut self) {
        // A later wake-up finds the flag set and does not count.
        if self.wakeup.scheduled.swap(true, Ordering::AcqRel) {
            self.wakeup.counter.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_tracked_future_is_work_from_its_wake_up_until_it_waits_again() {
        let activity = Activity::default();
        let (send, mut receive) = mpsc::unbounded_channel();
        let (answer, mut answers) = mpsc::unbounded_channel();
        let task = tokio::spawn(activity.track(async move {
            while let Some(number) = receive.recv().await {
                tokio::task::yield_now().await;
                answer.send(number).unwrap();
            }
        }));
        activity.idle().await;
        for number in 0..100 {
            send.send(number).unwrap();
            assert!(activity.idle().now_or_never().is_none());
            activity.idle().await;
            assert_eq!(answers.try_recv(), Ok(number));
        }
        drop(send);
        task.await.unwrap();
        assert!(activity.idle().now_or_never().is_some());
    }

    #[test]
    fn a_dropped_future_does_not_count() {
        let activity = Activity::default();
        let tracked = activity.track(std::future::pending::<()>());
        assert!(activity.idle().now_or_never().is_none());
        let waker = tracked.waker.clone();
        drop(tracked);
        waker.wake();
        assert!(activity.idle().now_or_never().is_some());
    }
}
