//! Input and output streams of commands.

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use tokio::sync::{Mutex, mpsc};

use crate::files::{FileError, Files};
use crate::limits::LIMITS;

/// Maximum number of unread pieces of a pipe.
const PIPE_CAPACITY: usize = 16;

/// An error of writing to an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The reader has closed the stream; the writer ends as by SIGPIPE.
    BrokenPipe,
    /// The file cannot be written.
    File(FileError),
}

/// The source of a program's input. Clones share the position.
#[derive(Clone)]
pub struct Input(Arc<Mutex<Reader>>);

struct Reader {
    buffer: Bytes,
    source: Option<mpsc::Receiver<Bytes>>,
}

impl Input {
    /// Creates an input of these bytes.
    pub fn bytes(content: impl Into<Bytes>) -> Self {
        Self(Arc::new(Mutex::new(Reader {
            buffer: content.into(),
            source: None,
        })))
    }

    /// Creates an input from a channel. It ends when the sender is dropped.
    pub fn channel(source: mpsc::Receiver<Bytes>) -> Self {
        Self(Arc::new(Mutex::new(Reader {
            buffer: Bytes::new(),
            source: Some(source),
        })))
    }

    /// Reads the next bytes; `None` at the end.
    pub async fn piece(&self) -> Option<Bytes> {
        let mut reader = self.0.lock().await;
        reader.fill().await;
        (!reader.buffer.is_empty()).then(|| std::mem::take(&mut reader.buffer))
    }

    /// Reads the next line with its line feed, at most [`LIMITS`]`.value` bytes; `None` at the end.
    pub async fn line(&self) -> Option<Bytes> {
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
    /// Waits until there are bytes, or the end.
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

/// The destination of a program's output. Clones share it.
#[derive(Clone)]
pub struct Output(Sink);

#[derive(Clone)]
enum Sink {
    /// A stream of the process, or a pipe.
    Channel(mpsc::Sender<Bytes>),
    /// A channel that receives each piece after the function has transformed it.
    Mapped(mpsc::Sender<Bytes>, fn(&Bytes) -> Bytes),
    /// A function that is called with each piece.
    Function(Arc<dyn Fn(Bytes) + Send + Sync>),
    /// A file to append to.
    File(Arc<Files>, Arc<str>),
    /// The buffer of a command substitution.
    Buffer(Arc<std::sync::Mutex<Vec<u8>>>),
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

impl From<mpsc::Receiver<Bytes>> for Input {
    fn from(receiver: mpsc::Receiver<Bytes>) -> Self {
        Self::channel(receiver)
    }
}

impl From<mpsc::Sender<Bytes>> for Output {
    fn from(sender: mpsc::Sender<Bytes>) -> Self {
        Self(Sink::Channel(sender))
    }
}

impl Output {
    /// Creates an output that calls `function` with each piece, and never waits.
    pub fn function(function: impl Fn(Bytes) + Send + Sync + 'static) -> Self {
        Self(Sink::Function(Arc::new(function)))
    }

    /// Creates an output to a channel that receives each piece transformed by `map`.
    pub fn mapped(sender: mpsc::Sender<Bytes>, map: fn(&Bytes) -> Bytes) -> Self {
        Self(Sink::Mapped(sender, map))
    }

    /// Creates an output that appends to a file.
    pub(crate) fn file(files: Arc<Files>, path: impl Into<Arc<str>>) -> Self {
        Self(Sink::File(files, path.into()))
    }

    pub(crate) fn buffer(buffer: Arc<std::sync::Mutex<Vec<u8>>>) -> Self {
        Self(Sink::Buffer(buffer))
    }

    /// Writes all of `data`. Waits for a slow reader.
    ///
    /// # Errors
    /// [`WriteError`] if the reader has closed the stream or the file is full.
    pub async fn write(&self, data: impl Into<Bytes>) -> Result<(), WriteError> {
        let data = data.into();
        if data.is_empty() {
            return Ok(());
        }
        match &self.0 {
            Sink::Channel(sender) => sender.send(data).await.map_err(|_| WriteError::BrokenPipe),
            Sink::Mapped(sender, map) => sender.send(map(&data)).await.map_err(|_| WriteError::BrokenPipe),
            Sink::Function(function) => {
                function(data);
                Ok(())
            }
            Sink::File(files, path) => files.write(path, &data, true).map_err(WriteError::File),
            Sink::Buffer(buffer) => {
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

/// Creates a pipe between two commands.
pub(crate) fn pipe() -> (Output, Input) {
    let (sender, receiver) = mpsc::channel(PIPE_CAPACITY);
    (Output::from(sender), Input::channel(receiver))
}
