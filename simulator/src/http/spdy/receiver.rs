//! The task that reads a connection.

use std::{io, sync::Arc};

use bytes::BytesMut;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::mpsc,
};

use super::{
    frame::{self, Control, FrameError, FrameHeader, Reset},
    headers::Decompressor,
    state::{Command, Entry, MAX_PIECE_BYTES, MAX_STREAMS, QUEUE_CAPACITY, Shared},
    stream::{Reader, Stream, Writer},
};

/// Reads the frames of a connection.
pub(super) struct Receiver {
    pub(super) shared: Arc<Shared>,
    /// Weak, so that the connection ends when its session and streams are dropped.
    pub(super) commands: mpsc::WeakSender<Command>,
    pub(super) accept: mpsc::Sender<Stream>,
    pub(super) decompressor: Decompressor,
    /// Id of the last stream that the peer opened.
    pub(super) last: u32,
}

impl Receiver {
    /// Reads until the connection ends. Responds to malformed input with GOAWAY.
    pub(super) async fn run(mut self, mut io: impl AsyncRead + Unpin) {
        match self.receive(&mut io).await {
            Err(Ended::Malformed) => {
                self.send(Control::GoAway {
                    last: self.last,
                    status: 1,
                })
                .await
            }
            Ok(()) | Err(Ended::Closed) => {}
        }
    }

    async fn receive(&mut self, io: &mut (impl AsyncRead + Unpin)) -> Result<(), Ended> {
        loop {
            let mut head = [0; frame::HEADER_BYTES];
            io.read_exact(&mut head).await?;
            match FrameHeader::parse(head)? {
                FrameHeader::Control { kind, flags, length } => {
                    let mut payload = vec![0; length];
                    io.read_exact(&mut payload).await?;
                    self.control(Control::parse(kind, flags, payload.into())?).await?;
                }
                FrameHeader::Data { stream, flags, length } => self.data(io, stream, flags, length).await?,
            }
        }
    }

    async fn send(&self, control: Control) {
        if let Some(commands) = self.commands.upgrade() {
            let _ = commands.send(Command::Control(control)).await;
        }
    }

    async fn control(&mut self, control: Control) -> Result<(), Ended> {
        match control {
            Control::SynStream { stream, flags, headers } => self.open(stream, flags, &headers).await?,
            Control::SynReply { headers, .. } => {
                // This side opens no streams, but the compression state must advance.
                self.decompressor.decompress(&headers)?;
            }
            Control::Headers { stream, flags, headers } => {
                self.decompressor.decompress(&headers)?;
                if flags & frame::FIN != 0 {
                    self.finish(stream);
                }
            }
            Control::Reset { stream, .. } => {
                self.shared.state.lock().streams.remove(&stream);
                self.shared.opened.notify_waiters();
            }
            Control::Ping(id) if id % 2 == 1 => self.send(Control::Ping(id)).await,
            Control::Settings(entries) => {
                let mut state = self.shared.state.lock();
                for (_, value) in entries.iter().filter(|(number, _)| *number == frame::INITIAL_WINDOW) {
                    let change = i64::from(*value) - state.initial;
                    state.initial += change;
                    state.windowed = true;
                    for entry in state.streams.values_mut() {
                        entry.window = entry.window.saturating_add(change);
                    }
                }
                drop(state);
                self.shared.opened.notify_waiters();
            }
            Control::WindowUpdate { stream, delta } => {
                let mut state = self.shared.state.lock();
                state.windowed = true;
                if stream == 0 {
                    state.window = state.window.saturating_add(i64::from(delta));
                } else if let Some(entry) = state.streams.get_mut(&stream) {
                    entry.window = entry.window.saturating_add(i64::from(delta));
                }
                drop(state);
                self.shared.opened.notify_waiters();
            }
            Control::GoAway { .. } | Control::Ping(_) | Control::Unknown(_) => {}
        }
        Ok(())
    }

    async fn open(&mut self, stream: u32, flags: u8, compressed: &[u8]) -> Result<(), Ended> {
        let headers = self.decompressor.decompress(compressed)?;
        if stream == self.last && stream != 0 {
            self.send(Control::Reset {
                stream,
                status: Reset::InUse as u32,
            })
            .await;
            return Ok(());
        }
        if stream.is_multiple_of(2) || stream < self.last {
            return Err(FrameError::Number(stream).into());
        }
        self.last = stream;
        let Some(commands) = self.commands.upgrade() else {
            return Err(Ended::Closed);
        };
        let (inbox, outbox) = mpsc::channel(QUEUE_CAPACITY);
        let refused = {
            let mut state = self.shared.state.lock();
            if state.closed {
                return Err(Ended::Closed);
            }
            let refused = state.streams.len() >= MAX_STREAMS;
            if !refused {
                let inbox = if flags & frame::FIN == 0 { Some(inbox) } else { None };
                let entry = Entry {
                    inbox,
                    window: state.initial,
                    done: flags & frame::UNIDIRECTIONAL != 0,
                };
                state.streams.insert(stream, entry);
                Shared::remove_finished(&mut state, stream);
            }
            refused
        };
        if refused {
            self.send(Control::Reset {
                stream,
                status: Reset::Refused as u32,
            })
            .await;
            return Ok(());
        }
        // Sent before the stream can be written to: the reply must be the stream's first frame.
        if flags & frame::UNIDIRECTIONAL == 0 {
            let _ = commands.send(Command::Reply(stream)).await;
        }
        let writer = Writer {
            stream,
            commands: commands.clone(),
            shared: Arc::clone(&self.shared),
        };
        let opened = Stream {
            headers,
            reader: Reader {
                stream,
                inbox: outbox,
                commands,
                read: 0,
            },
            writer,
        };
        if self.accept.send(opened).await.is_err() {
            self.shared.state.lock().streams.remove(&stream);
            self.send(Control::Reset {
                stream,
                status: Reset::Refused as u32,
            })
            .await;
        }
        Ok(())
    }

    async fn data(
        &mut self,
        io: &mut (impl AsyncRead + Unpin),
        stream: u32,
        flags: u8,
        length: usize,
    ) -> Result<(), Ended> {
        let inbox = self
            .shared
            .state
            .lock()
            .streams
            .get(&stream)
            .map(|entry| entry.inbox.clone());
        let mut left = length;
        while left > 0 {
            let mut piece = BytesMut::zeroed(left.min(MAX_PIECE_BYTES));
            let read = io.read(&mut piece).await?;
            if read == 0 {
                return Err(Ended::Closed);
            }
            left -= read;
            piece.truncate(read);
            if let Some(Some(inbox)) = &inbox {
                // The reader may be dropped.
                let _ = inbox.send(piece.freeze()).await;
            }
        }
        match inbox {
            None => {
                self.send(Control::Reset {
                    stream,
                    status: Reset::Invalid as u32,
                })
                .await
            }
            Some(None) => {
                self.send(Control::Reset {
                    stream,
                    status: Reset::Protocol as u32,
                })
                .await
            }
            Some(Some(_)) if flags & frame::FIN != 0 => self.finish(stream),
            Some(Some(_)) => {}
        }
        Ok(())
    }

    fn finish(&self, stream: u32) {
        let mut state = self.shared.state.lock();
        if let Some(entry) = state.streams.get_mut(&stream) {
            entry.inbox = None;
        }
        Shared::remove_finished(&mut state, stream);
    }
}

/// The reason for the end of a connection.
enum Ended {
    Closed,
    Malformed,
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

impl From<FrameError> for Ended {
    fn from(_: FrameError) -> Self {
        Self::Malformed
    }
}
