//! The socket of a connection, with a write timeout, forced close and a permit, also after an upgrade.
//!
//! - A write without progress for the write timeout fails with `TimedOut`. A peer that opens a stream and never reads
//!   thus loses its connection and the queued data long before the kernel's timeout.
//! - After it is closed from outside, pending reads and writes fail with `ConnectionAborted`.
//! - Dropping it releases its permit.

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
use tokio_util::sync::CancellationToken;

use crate::cancelled::Cancelled;

/// Maximum size in bytes of slices that are written as one. For the kernel, a vectored write costs more than the copy.
const MAX_COPIED: usize = 4 << 10;

/// A socket with a write timeout, a token that closes it, and a permit.
pub(crate) struct Socket<T> {
    io: T,
    timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    close: Cancelled,
    _permit: OwnedSemaphorePermit,
}

impl<T> Socket<T> {
    /// Limits each write of `io` to `timeout`, closes it when `close` is cancelled, and holds `permit` until it is
    /// dropped.
    pub(crate) fn new(io: T, timeout: Duration, close: CancellationToken, permit: OwnedSemaphorePermit) -> Self {
        Self {
            io,
            timeout,
            timer: None,
            close: Cancelled::new(close),
            _permit: permit,
        }
    }

    /// Returns the result of an operation, or an error if it is pending and the socket is closed.
    fn unless_closed<R>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if outcome.is_pending() {
            ready!(Pin::new(&mut self.close).poll(context));
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the connection is closed",
            )));
        }
        outcome
    }

    /// Returns the result of a write, or an error after the timeout.
    fn within_timeout<R>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if outcome.is_ready() {
            self.timer = None;
            return outcome;
        }
        let timeout = self.timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        if timer.as_mut().poll(context).is_ready() {
            timer.as_mut().reset(Instant::now() + timeout);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")));
        }
        self.unless_closed(context, outcome)
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Socket<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_read(context, buffer);
        self.unless_closed(context, outcome)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Socket<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(context, bytes);
        self.within_timeout(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        let outcome = if length <= MAX_COPIED {
            let mut bytes = Vec::with_capacity(length);
            slices.iter().for_each(|slice| bytes.extend_from_slice(slice));
            Pin::new(&mut self.io).poll_write(context, &bytes)
        } else {
            Pin::new(&mut self.io).poll_write_vectored(context, slices)
        };
        self.within_timeout(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_flush(context);
        self.within_timeout(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_shutdown(context);
        self.within_timeout(context, outcome)
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

    fn open(timeout: Duration) -> (Socket<DuplexStream>, DuplexStream, CancellationToken, Arc<Semaphore>) {
        let (near, far) = duplex(8);
        let (close, permits) = (CancellationToken::new(), Arc::new(Semaphore::new(1)));
        let permit = permits.clone().try_acquire_owned().unwrap();
        (Socket::new(near, timeout, close.clone(), permit), far, close, permits)
    }

    #[tokio::test]
    async fn a_write_without_progress_times_out() {
        let (mut near, _far, ..) = open(Duration::from_millis(20));
        assert_eq!(
            near.write_all(&[0; 64]).await.unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
    }

    #[tokio::test]
    async fn a_write_with_progress_does_not() {
        let (mut near, mut far, ..) = open(Duration::from_secs(20));
        let mut read = [0; 64];
        let (written, _) = tokio::join!(near.write_all(&[7; 64]), far.read_exact(&mut read));
        assert!(written.is_ok() && read == [7; 64]);
    }

    #[tokio::test]
    async fn short_slices_are_written_as_one() {
        let (mut near, mut far, ..) = open(Duration::from_secs(20));
        let slices = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cde")];
        assert_eq!(near.write_vectored(&slices).await.unwrap(), 5);
        let mut read = [0; 5];
        far.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"abcde");
    }

    #[tokio::test]
    async fn a_pending_read_fails_when_the_socket_is_closed() {
        let (mut near, _far, close, _) = open(Duration::from_secs(20));
        let pending = tokio::spawn(async move { near.read_u8().await });
        tokio::task::yield_now().await;
        close.cancel();
        assert_eq!(
            pending.await.unwrap().unwrap_err().kind(),
            io::ErrorKind::ConnectionAborted
        );
    }

    #[tokio::test]
    async fn its_permit_is_released_when_it_is_dropped() {
        let (near, _far, _, permits) = open(Duration::from_secs(20));
        assert_eq!(permits.available_permits(), 0);
        drop(near);
        assert_eq!(permits.available_permits(), 1);
    }
}
