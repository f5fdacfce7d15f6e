//! Connections whose peer is read for a moment after their end.
//!
//! A request may be answered before its body was read. Its sender is still sending then: the system answers what nobody reads with a reset, and
//! the sender may lose the response.
//!
//! Source: RFC 9112, section 9.6.

use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// How long a peer is read after the end.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many bytes of it are read.
const MOST: usize = 16 << 20;

/// The start of the response after which a connection is no longer HTTP, and its directions end on their own.
const SWITCHED: &[u8] = b"HTTP/1.1 101 ";

/// A connection of HTTP/1 that is read after its end, if its peer was sending then: until the peer is done, for at most 2 s, and at most
/// 16 MiB. Not one that was upgraded.
#[derive(Debug)]
pub struct Linger<T> {
    io: T,
    patience: Duration,
    upgraded: bool,
    /// The bytes that were read after the end; `None` before it.
    unread: Option<usize>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<T> Linger<T> {
    /// Reads `io` after its end.
    pub fn new(io: T) -> Self {
        Self {
            io,
            patience: PATIENCE,
            upgraded: false,
            unread: None,
            timer: None,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Linger<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Linger<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.upgraded = self.upgraded || bytes.starts_with(SWITCHED);
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.upgraded = self.upgraded || slices.first().is_some_and(|bytes| bytes.starts_with(SWITCHED));
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.unread.is_none() {
            ready!(Pin::new(&mut this.io).poll_shutdown(context))?;
            if this.upgraded {
                return Poll::Ready(Ok(()));
            }
        }
        let unread = this.unread.get_or_insert_default();
        let mut bytes = [0; 8192];
        while *unread < MOST {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut this.io).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => *unread += buffer.filled().len(),
                Poll::Pending if *unread > 0 => {
                    let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(this.patience)));
                    return timer.as_mut().poll(context).map(Ok);
                }
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn a_peer_that_still_sends_is_read_until_it_is_done() {
        let (near, mut far) = duplex(8);
        let mut near = Linger::new(near);
        far.write_all(b"12345678").await.unwrap();
        let rest = async {
            far.write_all(&[7; 64]).await?;
            far.shutdown().await
        };
        let (closed, sent) = tokio::join!(near.shutdown(), rest);
        assert!(closed.is_ok() && sent.is_ok());
        assert_eq!(near.unread, Some(72));
    }

    #[tokio::test]
    async fn a_peer_that_does_not_end_is_read_for_a_moment() {
        let (near, mut far) = duplex(8);
        let mut near = Linger::new(near);
        near.patience = Duration::from_millis(1);
        far.write_all(b"1").await.unwrap();
        near.shutdown().await.unwrap();
        assert_eq!(near.unread, Some(1));
    }

    #[tokio::test]
    async fn what_comes_on_an_upgraded_connection_is_left_to_its_reader() {
        let (near, mut far) = duplex(64);
        let mut near = Linger::new(near);
        near.write_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            .await
            .unwrap();
        far.write_all(b"12345678").await.unwrap();
        near.shutdown().await.unwrap();
        let mut read = [0; 8];
        near.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"12345678");
    }

    #[tokio::test]
    async fn a_peer_that_sends_nothing_is_not_waited_for() {
        let (near, _far) = duplex(8);
        let mut near = Linger::new(near);
        near.shutdown().await.unwrap();
        assert_eq!(near.unread, Some(0));
    }
}
