//! The streams of commands.

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use tokio::sync::{Mutex, mpsc};

use crate::files::FileError;
use crate::machine::{LIMITS, Machine};

/// How many pieces may wait in a pipe.
const PIPE: usize = 16;

/// The reader of an output has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteError {
    /// The reader has gone: the writer ends, as SIGPIPE ends it.
    BrokenPipe,
    /// The file cannot be written.
    File(FileError),
}

/// Where a command reads from. Clones share the position.
#[derive(Clone)]
pub(crate) struct Input(Arc<Mutex<Reader>>);

struct Reader {
    buffer: Bytes,
    source: Option<mpsc::Receiver<Bytes>>,
}

impl Input {
    /// Input of these bytes.
    pub(crate) fn bytes(content: impl Into<Bytes>) -> Self {
        Self(Arc::new(Mutex::new(Reader {
            buffer: content.into(),
            source: None,
        })))
    }

    /// Input from a channel.
    pub(crate) fn channel(source: mpsc::Receiver<Bytes>) -> Self {
        Self(Arc::new(Mutex::new(Reader {
            buffer: Bytes::new(),
            source: Some(source),
        })))
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn piece(&self) -> Option<Bytes> {
        let mut reader = self.0.lock().await;
        reader.fill().await;
        (!reader.buffer.is_empty()).then(|| std::mem::take(&mut reader.buffer))
    }

    /// The next line with its end, at most [`LIMITS`]`.value` bytes of it; `None` at the end.
    pub(crate) async fn line(&self) -> Option<Bytes> {
        let mut reader = self.0.lock().await;
        let mut line = BytesMut::new();
        loop {
            reader.fill().await;
            if reader.buffer.is_empty() {
                return (!line.is_empty()).then(|| line.freeze());
            }
            let end = reader.buffer.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(reader.buffer.len(), |end| end + 1);
            line.extend_from_slice(&reader.buffer[..taken]);
            reader.buffer.advance(taken);
            if end.is_some() || line.len() >= LIMITS.value {
                return Some(line.freeze());
            }
        }
    }
}

impl Reader {
    /// Waits until there are bytes, or no more will come.
    async fn fill(&mut self) {
        while self.buffer.is_empty() {
            let Some(source) = &mut self.source else { return };
            match source.recv().await {
                Some(piece) => self.buffer = piece,
                None => self.source = None,
            }
        }
    }
}

/// Where a command writes to. Clones share it.
#[derive(Clone)]
pub(crate) enum Output {
    /// A stream of the process, or a pipe.
    Channel(mpsc::Sender<Bytes>),
    /// A file, which is appended to.
    File(Arc<Machine>, Arc<str>),
    /// The text of a command substitution.
    Buffer(Arc<std::sync::Mutex<Vec<u8>>>),
}

impl Output {
    /// Writes all of `data`; waits while the reader is behind.
    pub(crate) async fn write(&self, data: impl Into<Bytes>) -> Result<(), WriteError> {
        let data = data.into();
        if data.is_empty() {
            return Ok(());
        }
        match self {
            Self::Channel(sender) => sender.send(data).await.map_err(|_| WriteError::BrokenPipe),
            Self::File(machine, path) => machine.files.write(path, &data, true).map_err(WriteError::File),
            Self::Buffer(buffer) => {
                let mut buffer = buffer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if buffer.len() + data.len() > LIMITS.value {
                    return Err(WriteError::File(FileError::Full));
                }
                buffer.extend_from_slice(&data);
                Ok(())
            }
        }
    }
}

/// A pipe between two commands.
pub(crate) fn pipe() -> (Output, Input) {
    let (sender, receiver) = mpsc::channel(PIPE);
    (Output::Channel(sender), Input::channel(receiver))
}
