//! A connection and its streams.

use std::{collections::HashMap, io, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter},
    sync::{Notify, mpsc},
    task::JoinHandle,
};

use super::{
    frame::{self, Control, FrameError, Head, Reset},
    headers::{Headers, Packer, Unpacker},
};

/// How many streams may be open at once.
pub(super) const STREAMS: usize = 256;

/// How many bytes of data are passed on at a time.
const PIECE: usize = 16 * 1024;

/// How many pieces of a stream wait to be read, and how many frames to be written.
const QUEUE: usize = 16;

/// The window that streams and connections start with.
const WINDOW: i64 = 64 * 1024;

/// How much is read before the peer is told that it may send more.
pub(super) const UPDATE: u32 = 32 * 1024;

/// How long a connection that has been closed is still read, so that the peer can read to its end what was sent.
const LINGER: Duration = Duration::from_secs(5);

/// What the writing side is asked to write.
enum Command {
    Control(Control),
    Reply(u32),
    Data { stream: u32, fin: bool, bytes: Bytes },
    Close,
}

/// What is known of a stream.
struct Entry {
    /// Gone when the peer has sent its last.
    inbox: Option<mpsc::Sender<Bytes>>,
    window: i64,
    /// Whether our last has been sent.
    done: bool,
}

struct State {
    streams: HashMap<u32, Entry>,
    window: i64,
    initial: i64,
    /// Whether the peer speaks of windows at all.
    windowed: bool,
    closed: bool,
}

struct Shared {
    state: Mutex<State>,
    /// Woken when a window opens, or the connection closes.
    opened: Notify,
}

impl Shared {
    /// Forgets a stream that both sides are done with.
    fn tidy(state: &mut State, stream: u32) {
        if state
            .streams
            .get(&stream)
            .is_some_and(|entry| entry.done && entry.inbox.is_none())
        {
            state.streams.remove(&stream);
        }
    }

    fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.streams.clear();
        drop(state);
        self.opened.notify_waiters();
    }
}

/// A connection that streams are opened on by the peer.
pub(crate) struct Session {
    incoming: mpsc::Receiver<Stream>,
    commands: mpsc::Sender<Command>,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
}

/// A stream that the peer has opened.
pub(crate) struct Stream {
    /// The headers that it was opened with.
    pub(crate) headers: Headers,
    /// What the peer sends.
    pub(crate) reader: Reader,
    /// What is sent to the peer.
    pub(crate) writer: Writer,
}

impl Stream {
    /// The value of a header; empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value)
    }
}

/// The side of a stream that is read.
pub(crate) struct Reader {
    stream: u32,
    inbox: mpsc::Receiver<Bytes>,
    commands: mpsc::Sender<Command>,
    read: u32,
}

impl Reader {
    /// The next piece; `None` at the end.
    pub(crate) async fn read(&mut self) -> Option<Bytes> {
        let bytes = self.inbox.recv().await?;
        self.read = self.read.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        if self.read >= UPDATE {
            let delta = std::mem::take(&mut self.read);
            for stream in [self.stream, 0] {
                // Where the connection is closed there is nobody to tell.
                let _ = self
                    .commands
                    .send(Command::Control(Control::WindowUpdate { stream, delta }))
                    .await;
            }
        }
        Some(bytes)
    }
}

/// The side of a stream that is written.
pub(crate) struct Writer {
    stream: u32,
    commands: mpsc::Sender<Command>,
    shared: Arc<Shared>,
}

fn closed<T>(_: T) -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl Writer {
    /// Sends a piece, as soon as the peer has room for it.
    pub(crate) async fn write(&self, mut bytes: Bytes) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = self.room(bytes.len().min(PIECE)).await?;
            let piece = bytes.split_to(room);
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

    /// Says that nothing follows.
    pub(crate) async fn finish(self) -> io::Result<()> {
        {
            let mut state = self.shared.state.lock();
            let Some(entry) = state.streams.get_mut(&self.stream) else {
                return Err(closed(()));
            };
            entry.done = true;
            Shared::tidy(&mut state, self.stream);
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

    /// How much of `wanted` may be sent now, taken from the windows.
    async fn room(&self, wanted: usize) -> io::Result<usize> {
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
                let wanted = i64::try_from(wanted).unwrap_or(WINDOW);
                let room = if *windowed {
                    wanted.min(*window).min(entry.window)
                } else {
                    wanted
                };
                if room > 0 {
                    entry.window -= room;
                    *window -= room;
                    return usize::try_from(room).map_err(closed);
                }
            }
            opened.await;
        }
    }
}

impl Session {
    /// Speaks SPDY over `io`.
    pub(crate) fn start(io: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        let (read, write) = tokio::io::split(io);
        let (accept, incoming) = mpsc::channel(QUEUE);
        let (commands, queue) = mpsc::channel(QUEUE);
        let state = State {
            streams: HashMap::new(),
            window: WINDOW,
            initial: WINDOW,
            windowed: false,
            closed: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            opened: Notify::new(),
        });
        let receiving = Receiving {
            shared: Arc::clone(&shared),
            commands: commands.downgrade(),
            accept,
            unpacker: Unpacker::new(),
            last: 0,
        };
        let reader = tokio::spawn(async move {
            let shared = Arc::clone(&receiving.shared);
            receiving.run(BufReader::new(read)).await;
            shared.close();
        });
        let writer = tokio::spawn(async move {
            // A connection that cannot be written to ends: the reading side notices by itself.
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

    /// The next stream that the peer opens; it has been told that it is open. `None` when there are no more.
    pub(crate) async fn accept(&mut self) -> Option<Stream> {
        self.incoming.recv().await
    }

    /// Sends what is still to be sent, says goodbye, and lets the peer read to the end.
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

struct Receiving {
    shared: Arc<Shared>,
    /// Weak, so that the connection ends when nobody has a stream of it any more.
    commands: mpsc::WeakSender<Command>,
    accept: mpsc::Sender<Stream>,
    unpacker: Unpacker,
    last: u32,
}

impl Receiving {
    async fn run(mut self, mut io: impl AsyncRead + Unpin) {
        match self.receive(&mut io).await {
            Err(Ended::Wrong) => {
                self.tell(Control::GoAway {
                    last: self.last,
                    status: 1,
                })
                .await
            }
            Ok(()) | Err(Ended::Gone) => {}
        }
    }

    async fn receive(&mut self, io: &mut (impl AsyncRead + Unpin)) -> Result<(), Ended> {
        loop {
            let mut head = [0; frame::HEAD];
            io.read_exact(&mut head).await?;
            match Head::parse(head)? {
                Head::Control { kind, flags, length } => {
                    let mut payload = vec![0; length];
                    io.read_exact(&mut payload).await?;
                    self.control(Control::parse(kind, flags, payload.into())?).await?;
                }
                Head::Data { stream, flags, length } => self.data(io, stream, flags, length).await?,
            }
        }
    }

    async fn tell(&self, control: Control) {
        if let Some(commands) = self.commands.upgrade() {
            let _ = commands.send(Command::Control(control)).await;
        }
    }

    async fn control(&mut self, control: Control) -> Result<(), Ended> {
        match control {
            Control::SynStream { stream, flags, headers } => self.open(stream, flags, &headers).await?,
            Control::SynReply { headers, .. } => {
                // We open none; but the state of the packing has to be kept up.
                self.unpacker.unpack(&headers)?;
            }
            Control::Headers { stream, flags, headers } => {
                self.unpacker.unpack(&headers)?;
                if flags & frame::FIN != 0 {
                    self.finish(stream);
                }
            }
            Control::Reset { stream, .. } => {
                self.shared.state.lock().streams.remove(&stream);
                self.shared.opened.notify_waiters();
            }
            Control::Ping(id) if id % 2 == 1 => self.tell(Control::Ping(id)).await,
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

    async fn open(&mut self, stream: u32, flags: u8, packed: &[u8]) -> Result<(), Ended> {
        let headers = self.unpacker.unpack(packed)?;
        if stream == self.last && stream != 0 {
            self.tell(Control::Reset {
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
            return Err(Ended::Gone);
        };
        let (inbox, outbox) = mpsc::channel(QUEUE);
        let refused = {
            let mut state = self.shared.state.lock();
            if state.closed {
                return Err(Ended::Gone);
            }
            let refused = state.streams.len() >= STREAMS;
            if !refused {
                let inbox = if flags & frame::FIN == 0 { Some(inbox) } else { None };
                let entry = Entry {
                    inbox,
                    window: state.initial,
                    done: flags & frame::UNIDIRECTIONAL != 0,
                };
                state.streams.insert(stream, entry);
                Shared::tidy(&mut state, stream);
            }
            refused
        };
        if refused {
            self.tell(Control::Reset {
                stream,
                status: Reset::Refused as u32,
            })
            .await;
            return Ok(());
        }
        // Told before anybody can write to it: the answer has to be the first that the peer sees of the stream.
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
            self.tell(Control::Reset {
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
            let mut piece = BytesMut::zeroed(left.min(PIECE));
            let read = io.read(&mut piece).await?;
            if read == 0 {
                return Err(Ended::Gone);
            }
            left -= read;
            piece.truncate(read);
            if let Some(Some(inbox)) = &inbox {
                // Whoever had the stream may not care for the rest of it.
                let _ = inbox.send(piece.freeze()).await;
            }
        }
        match inbox {
            None => {
                self.tell(Control::Reset {
                    stream,
                    status: Reset::Invalid as u32,
                })
                .await
            }
            Some(None) => {
                self.tell(Control::Reset {
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
        Shared::tidy(&mut state, stream);
    }
}

/// Why a connection is not read any more.
enum Ended {
    Gone,
    Wrong,
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl From<FrameError> for Ended {
    fn from(_: FrameError) -> Self {
        Self::Wrong
    }
}

async fn send(mut queue: mpsc::Receiver<Command>, mut io: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut packer = Packer::new().map_err(io::Error::other)?;
    while let Some(command) = queue.recv().await {
        let mut next = Some(command);
        while let Some(command) = next {
            match command {
                Command::Control(control) => io.write_all(&control.encode()).await?,
                Command::Reply(stream) => {
                    let headers = packer.pack(&[]).map_err(io::Error::other)?;
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
                    io.write_all(&frame::data_head(stream, if fin { frame::FIN } else { 0 }, length))
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
