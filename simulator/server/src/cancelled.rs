//! The cancellation of a token, for futures that are polled often and cancelled once.
//!
//! [`CancellationToken::cancelled`] takes a lock at every poll, to register the waker. A connection polls its tokens at every turn, nearly
//! always with the same waker: [`Cancelled`] registers each waker once, and otherwise only reads the token.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Is ready when its token is cancelled.
pub(crate) struct Cancelled {
    token: CancellationToken,
    registration: Pin<Box<WaitForCancellationFutureOwned>>,
    /// The waker that is registered.
    waker: Option<Waker>,
}

impl Cancelled {
    /// Waits for the cancellation of `token`.
    pub(crate) fn new(token: CancellationToken) -> Self {
        Self {
            registration: Box::pin(token.clone().cancelled_owned()),
            token,
            waker: None,
        }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.token.is_cancelled() {
            return Poll::Ready(());
        }
        let waker = context.waker();
        if self
            .waker
            .as_ref()
            .is_some_and(|registered| registered.will_wake(waker))
        {
            return Poll::Pending;
        }
        self.waker = Some(waker.clone());
        // Ready if the token was cancelled meanwhile.
        self.registration.as_mut().poll(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use futures::{FutureExt, task::ArcWake};

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl ArcWake for Wakes {
        fn wake_by_ref(wakes: &Arc<Self>) {
            wakes.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_last_waker_is_woken_once() {
        let token = CancellationToken::new();
        let mut cancelled = Cancelled::new(token.clone());
        let wakers = [(); 2].map(|()| Arc::<Wakes>::default());
        for waker in &wakers {
            let waker = futures::task::waker(waker.clone());
            for _ in 0..3 {
                assert!(cancelled.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
            }
        }
        token.cancel();
        assert_eq!(wakers.each_ref().map(|wakes| wakes.0.load(Ordering::Relaxed)), [0, 1]);
        let waker = futures::task::noop_waker();
        assert!(cancelled.poll_unpin(&mut Context::from_waker(&waker)).is_ready());
    }

    #[tokio::test]
    async fn a_token_that_is_cancelled_already_is_ready() {
        let token = CancellationToken::new();
        token.cancel();
        Cancelled::new(token).await;
    }
}
