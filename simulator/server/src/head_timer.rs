//! Timeout of the request heads of a connection.
//!
//! hyper creates a timer for each request and drops it when the head has arrived, almost always before it fires.
//! [`HeadTimer`] uses a single entry in the runtime's timers for all of them: a later deadline is only stored, and
//! checked when the entry fires.
//!
//! Limits: one deadline at a time, that of the last timer created or reset.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;

/// The timer of one connection.
#[derive(Clone, Default)]
pub(crate) struct HeadTimer(Arc<Mutex<Option<Pin<Box<tokio::time::Sleep>>>>>);

/// A future that completes at a deadline.
struct Head {
    deadline: Instant,
    timer: HeadTimer,
}

impl HeadTimer {
    fn poll(&self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        let mut kept = self.0.lock();
        let deadline = tokio::time::Instant::from_std(deadline);
        let sleep = kept.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        loop {
            ready!(sleep.as_mut().poll(context));
            if sleep.deadline() >= deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Head {
            deadline,
            timer: self.clone(),
        })
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        *sleep = self.sleep_until(deadline);
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

impl Future for Head {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.timer.poll(self.deadline, context)
    }
}

impl Sleep for Head {}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test]
    async fn each_deadline_is_kept_regardless_of_earlier_ones() {
        let (timer, begun) = (HeadTimer::default(), Instant::now());
        for (milliseconds, is_awaited) in [(20, false), (40, true), (30, true), (3_600_000, false), (60, true)] {
            let deadline = begun + Duration::from_millis(milliseconds);
            let mut sleep = timer.sleep_until(deadline);
            let is_over = deadline <= Instant::now();
            let ready = poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context).is_ready())).await;
            assert!(ready || !is_over, "{milliseconds}");
            if is_awaited {
                sleep.await;
                assert!(Instant::now() >= deadline, "{milliseconds}");
            }
        }
    }
}
