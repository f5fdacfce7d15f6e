//! Connections to servers that may respond before they have read the whole request.
//!
//! A server that rejects an upload may respond and close the connection before the end of the upload. The write then
//! fails, and an HTTP client that stops at this error loses the response. Here a failed write is ignored until reading
//! ends, and the rest of the request is dropped.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tower_service::Service;

type Error = <HttpConnector as Service<Uri>>::Error;

/// Connector for TCP.
#[derive(Clone, Debug)]
pub(super) struct Connector(pub(super) HttpConnector);

impl Service<Uri> for Connector {
    type Response = TokioIo<ReadToEnd<TcpStream>>;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Self::Response, Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move {
            let io = connecting.await?.into_inner();
            Ok(TokioIo::new(ReadToEnd { io, ended: false }))
        })
    }
}

/// A connection on which writing does not fail before reading has ended.
#[derive(Debug)]
pub(super) struct ReadToEnd<T> {
    io: T,
    ended: bool,
}

impl<T> ReadToEnd<T> {
    /// Result of a write: `dropped` if it failed before reading has ended.
    fn written<V>(&self, outcome: io::Result<V>, dropped: V) -> Poll<io::Result<V>> {
        Poll::Ready(if self.ended { outcome } else { outcome.or(Ok(dropped)) })
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for ReadToEnd<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.remaining();
        let read = ready!(Pin::new(&mut self.io).poll_read(context, buffer));
        self.ended = read.is_err() || before > 0 && buffer.remaining() == before;
        Poll::Ready(read)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for ReadToEnd<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(context, bytes));
        self.written(written, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write_vectored(context, slices));
        self.written(written, slices.iter().map(|slice| slice.len()).sum())
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.io).poll_flush(context));
        self.written(flushed, ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

impl<T: Connection> Connection for ReadToEnd<T> {
    fn connected(&self) -> Connected {
        self.io.connected()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn writing_fails_once_reading_has_ended() {
        let (io, mut peer) = duplex(64);
        let mut io = ReadToEnd { io, ended: false };
        peer.write_all(b"refused").await.unwrap();
        drop(peer);
        io.write_all(&[7; 1000]).await.unwrap();
        io.flush().await.unwrap();
        let mut answer = String::new();
        io.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "refused");
        assert!(io.write_all(b"more").await.is_err());
    }
}
