//! The server side of a connection, and the task that writes it.

use std::{collections::HashMap, io, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter},
    sync::{Notify, mpsc},
    task::JoinHandle,
};

use super::{
    frame::{self, Control},
    headers::{Compressor, Decompressor},
    receiver::Receiver,
    state::{Command, DEFAULT_WINDOW_BYTES, QUEUE_CAPACITY, Shared, State},
    stream::Stream,
};

/// Time for which a closed connection is still read, so that the peer can receive what was sent.
const LINGER: Duration = Duration::from_secs(5);

/// The server side of a connection. Only the peer opens streams.
pub(crate) struct Session {
    incoming: mpsc::Receiver<Stream>,
    commands: mpsc::Sender<Command>,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
}

impl Session {
    /// Starts the tasks that read and write `io`.
    pub(crate) fn start(io: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        let (read, write) = tokio::io::split(io);
        let (accept, incoming) = mpsc::channel(QUEUE_CAPACITY);
        let (commands, queue) = mpsc::channel(QUEUE_CAPACITY);
        let state = State {
            streams: HashMap::new(),
            window: DEFAULT_WINDOW_BYTES,
            initial: DEFAULT_WINDOW_BYTES,
            windowed: false,
            closed: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            opened: Notify::new(),
        });
        let receiver = Receiver {
            shared: Arc::clone(&shared),
            commands: commands.downgrade(),
            accept,
            decompressor: Decompressor::new(),
            last: 0,
        };
        let reader = tokio::spawn(async move {
            let shared = Arc::clone(&receiver.shared);
            receiver.run(BufReader::new(read)).await;
            shared.close();
        });
        let writer = tokio::spawn(async move {
            // After a write error the connection is closed, and the reading task ends as well.
            let _ = send(queue, BufWriter::new(write)).await;
            shared.close();
        });
        Self {
            incoming,
            commands,
            reader,
            writer,
        }
    }

    /// Waits for the next stream that the peer opens, and accepts it. `None` when the connection is closed.
    pub(crate) async fn accept(&mut self) -> Option<Stream> {
        self.incoming.recv().await
    }

    /// Sends the queued frames and a GOAWAY, then waits up to 5 s for the peer to close.
    pub(crate) async fn close(self) {
        let Self {
            incoming,
            commands,
            mut reader,
            writer,
        } = self;
        drop(incoming);
        if commands.send(Command::Close).await.is_ok() {
            let _ = tokio::time::timeout(LINGER, writer).await;
        }
        let _ = tokio::time::timeout(LINGER, &mut reader).await;
        reader.abort();
    }
}

async fn send(mut queue: mpsc::Receiver<Command>, mut io: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut compressor = Compressor::new().map_err(io::Error::other)?;
    while let Some(command) = queue.recv().await {
        let mut next = Some(command);
        while let Some(command) = next {
            match command {
                Command::Control(control) => io.write_all(&control.encode()).await?,
                Command::Reply(stream) => {
                    let headers = compressor.compress(&[]).map_err(io::Error::other)?;
                    io.write_all(
                        &Control::SynReply {
                            stream,
                            flags: 0,
                            headers,
                        }
                        .encode(),
                    )
                    .await?;
                }
                Command::Data { stream, fin, bytes } => {
                    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
                    io.write_all(&frame::data_header(stream, if fin { frame::FIN } else { 0 }, length))
                        .await?;
                    io.write_all(&bytes).await?;
                }
                Command::Close => {
                    io.write_all(&Control::GoAway { last: 0, status: 0 }.encode()).await?;
                    return io.shutdown().await;
                }
            }
            next = queue.try_recv().ok();
        }
        io.flush().await?;
    }
    io.shutdown().await
}
