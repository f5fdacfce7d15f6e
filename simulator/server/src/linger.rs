//! Connections that are still read for a short time after their end.
//!
//! The response to a request may be sent before its body is read. The client is still sending then: if unread data
//! arrives at a closed socket, the system resets the connection, and the client may lose the response.
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

/// Maximum time for which a peer is read after the end.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of bytes read from it.
const MAX_LINGER_BYTES: usize = 16 << 20;

/// Start of the response after which a connection is no longer HTTP, and its directions end independently.
const SWITCHED: &[u8] = b"HTTP/1.1 101 ";

/// An HTTP/1 connection that is read after its end if its peer was sending then: until the peer has finished, for at
/// most 2 s and at most 16 MiB. Upgraded connections are not read.
#[derive(Debug)]
pub struct Linger<T> {
    io: T,
    timeout: Duration,
    upgraded: bool,
    /// Number of bytes read after the end; `None` before it.
    unread: Option<usize>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<T> Linger<T> {
    /// Creates a connection that reads `io` after its end.
    pub fn new(io: T) -> Self {
        Self {
            io,
            timeout: LINGER_TIMEOUT,
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
        while *unread < MAX_LINGER_BYTES {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut this.io).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => *unread += buffer.filled().len(),
                Poll::Pending if *unread > 0 => {
                    let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(this.timeout)));
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
    async fn a_peer_that_still_sends_is_read_until_it_has_finished() {
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
    async fn a_peer_that_does_not_finish_is_read_until_the_timeout() {
        let (near, mut far) = duplex(8);
        let mut near = Linger::new(near);
        near.timeout = Duration::from_millis(1);
        far.write_all(b"1").await.unwrap();
        near.shutdown().await.unwrap();
        assert_eq!(near.unread, Some(1));
    }

    #[tokio::test]
    async fn data_of_an_upgraded_connection_is_left_to_its_reader() {
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
    async fn a_silent_peer_is_not_waited_for() {
        let (near, _far) = duplex(8);
        let mut near = Linger::new(near);
        near.shutdown().await.unwrap();
        assert_eq!(near.unread, Some(0));
    }
}
