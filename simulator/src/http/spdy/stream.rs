//! A stream opened by the peer.

use std::{io, sync::Arc};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{
    frame::Control,
    headers::Headers,
    state::{Command, DEFAULT_WINDOW_BYTES, MAX_PIECE_BYTES, Shared, State},
};

/// Number of bytes read before a WINDOW_UPDATE is sent.
pub(super) const WINDOW_UPDATE_BYTES: u32 = 32 * 1024;

/// A stream opened by the peer.
pub(crate) struct Stream {
    /// Headers of its SYN_STREAM frame.
    pub(crate) headers: Headers,
    /// Data from the peer.
    pub(crate) reader: Reader,
    /// Data to the peer.
    pub(crate) writer: Writer,
}

impl Stream {
    /// Returns the value of a header; empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value)
    }
}

/// Data from the peer.
pub(crate) struct Reader {
    pub(super) stream: u32,
    pub(super) inbox: mpsc::Receiver<Bytes>,
    pub(super) commands: mpsc::Sender<Command>,
    /// Bytes read since the last window update.
    pub(super) read: u32,
}

impl Reader {
    /// Reads the next piece; `None` at the end.
    pub(crate) async fn read(&mut self) -> Option<Bytes> {
        let bytes = self.inbox.recv().await?;
        self.read = self.read.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        if self.read >= WINDOW_UPDATE_BYTES {
            let delta = std::mem::take(&mut self.read);
            for stream in [self.stream, 0] {
                // The connection may be closed.
                let _ = self
                    .commands
                    .send(Command::Control(Control::WindowUpdate { stream, delta }))
                    .await;
            }
        }
        Some(bytes)
    }
}

/// Data to the peer.
pub(crate) struct Writer {
    pub(super) stream: u32,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) shared: Arc<Shared>,
}

fn closed<T>(_: T) -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl Writer {
    /// Sends bytes as far as the windows allow.
    pub(crate) async fn write(&self, mut bytes: Bytes) -> io::Result<()> {
        while !bytes.is_empty() {
            let taken = self.reserve_window(bytes.len().min(MAX_PIECE_BYTES)).await?;
            let piece = bytes.split_to(taken);
            self.commands
                .send(Command::Data {
                    stream: self.stream,
                    fin: false,
                    bytes: piece,
                })
                .await
                .map_err(closed)?;
        }
        Ok(())
    }

    /// Sends the last frame.
    pub(crate) async fn finish(self) -> io::Result<()> {
        {
            let mut state = self.shared.state.lock();
            let Some(entry) = state.streams.get_mut(&self.stream) else {
                return Err(closed(()));
            };
            entry.done = true;
            Shared::remove_finished(&mut state, self.stream);
        }
        self.commands
            .send(Command::Data {
                stream: self.stream,
                fin: true,
                bytes: Bytes::new(),
            })
            .await
            .map_err(closed)
    }

    /// Waits until the windows are open, and reserves up to `wanted` bytes of them.
    async fn reserve_window(&self, wanted: usize) -> io::Result<usize> {
        loop {
            let opened = self.shared.opened.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            {
                let mut state = self.shared.state.lock();
                let State {
                    streams,
                    window,
                    windowed,
                    ..
                } = &mut *state;
                let entry = streams.get_mut(&self.stream).ok_or_else(|| closed(()))?;
                let wanted = i64::try_from(wanted).unwrap_or(DEFAULT_WINDOW_BYTES);
                let taken = if *windowed {
                    wanted.min(*window).min(entry.window)
                } else {
                    wanted
                };
                if taken > 0 {
                    entry.window -= taken;
                    *window -= taken;
                    return usize::try_from(taken).map_err(closed);
                }
            }
            opened.await;
        }
    }
}
