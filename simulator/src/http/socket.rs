//! The socket of a connection, and what is true of it as long as it is open, upgraded or not.
//!
//! - A write that makes no progress for the patience given fails with `TimedOut`: one who opens a watch and never reads does not keep its
//!   connection, and what is queued for it, for as long as the kernel would.
//! - When it is cut, what waits for it fails with `ConnectionAborted`.
//! - Its place among the connections is taken until it is closed.

use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep, sleep},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A socket that is bounded so.
pub(crate) struct Socket<T> {
    io: T,
    patience: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    _place: OwnedSemaphorePermit,
}

impl<T> Socket<T> {
    /// Gives each write of `io` the time `patience`, ends when `cut` is cancelled and keeps `place` until then.
    pub(crate) fn new(io: T, patience: Duration, cut: CancellationToken, place: OwnedSemaphorePermit) -> Self {
        Self {
            io,
            patience,
            waiting: None,
            cut: Box::pin(cut.cancelled_owned()),
            _place: place,
        }
    }

    /// The outcome of what may wait, unless the socket is cut meanwhile.
    fn unless_cut<R>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if outcome.is_pending() {
            ready!(self.cut.as_mut().poll(context));
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the connection is cut",
            )));
        }
        outcome
    }

    /// The outcome of a write, or that it has taken too long.
    fn in_time<R>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if outcome.is_ready() {
            self.waiting = None;
            return outcome;
        }
        let patience = self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        if waiting.as_mut().poll(context).is_ready() {
            waiting.as_mut().reset(Instant::now() + patience);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")));
        }
        self.unless_cut(context, outcome)
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Socket<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_read(context, buffer);
        self.unless_cut(context, outcome)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Socket<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(context, bytes);
        self.in_time(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.in_time(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_flush(context);
        self.in_time(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_shutdown(context);
        self.in_time(context, outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
        sync::Semaphore,
    };

    use super::*;

    fn open(patience: Duration) -> (Socket<DuplexStream>, DuplexStream, CancellationToken, Arc<Semaphore>) {
        let (near, far) = duplex(8);
        let (cut, room) = (CancellationToken::new(), Arc::new(Semaphore::new(1)));
        let place = room.clone().try_acquire_owned().unwrap();
        (Socket::new(near, patience, cut.clone(), place), far, cut, room)
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_is_given_up() {
        let (mut near, _far, ..) = open(Duration::from_millis(20));
        assert_eq!(
            near.write_all(&[0; 64]).await.unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
    }

    #[tokio::test]
    async fn a_peer_that_reads_is_not() {
        let (mut near, mut far, ..) = open(Duration::from_secs(20));
        let mut read = [0; 64];
        let (written, _) = tokio::join!(near.write_all(&[7; 64]), far.read_exact(&mut read));
        assert!(written.is_ok() && read == [7; 64]);
    }

    #[tokio::test]
    async fn what_waits_fails_when_it_is_cut() {
        let (mut near, _far, cut, _) = open(Duration::from_secs(20));
        let waiting = tokio::spawn(async move { near.read_u8().await });
        tokio::task::yield_now().await;
        cut.cancel();
        assert_eq!(
            waiting.await.unwrap().unwrap_err().kind(),
            io::ErrorKind::ConnectionAborted
        );
    }

    #[tokio::test]
    async fn its_place_is_free_when_it_is_closed() {
        let (near, _far, _, room) = open(Duration::from_secs(20));
        assert_eq!(room.available_permits(), 0);
        drop(near);
        assert_eq!(room.available_permits(), 1);
    }
}
