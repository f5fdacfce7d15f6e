//! Connections that inspect or change their bytes.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Inspects or changes the bytes of a connection.
pub trait Filter: Unpin {
    /// Reads from `io` into `buffer`.
    fn poll_read<T: AsyncRead + Unpin>(
        &mut self,
        io: &mut T,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;

    /// Returns bytes of the same length to write instead of `bytes`, or `None` to write `bytes`.
    fn replaced(&self, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// A connection with a filter.
#[derive(Debug)]
pub struct Filtered<T, F> {
    io: T,
    filter: F,
}

impl<T, F: Filter + Default> Filtered<T, F> {
    /// Filters the bytes of `io`.
    pub fn new(io: T) -> Self {
        Self {
            io,
            filter: F::default(),
        }
    }
}

impl<T: AsyncRead + Unpin, F: Filter> AsyncRead for Filtered<T, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.filter.poll_read(&mut this.io, context, buffer)
    }
}

impl<T: AsyncWrite + Unpin, F: Filter> AsyncWrite for Filtered<T, F> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let replaced = self.filter.replaced(bytes);
        Pin::new(&mut self.io).poll_write(context, replaced.as_deref().unwrap_or(bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match slices.first().and_then(|first| self.filter.replaced(first)) {
            Some(replaced) => Pin::new(&mut self.io).poll_write(context, &replaced),
            None => Pin::new(&mut self.io).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
