//! State shared by the tasks and streams of a connection.

use std::collections::HashMap;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::frame::Control;

/// Maximum number of open streams of a connection.
pub(super) const MAX_STREAMS: usize = 256;

/// Maximum size in bytes of a piece of data.
pub(super) const MAX_PIECE_BYTES: usize = 16 * 1024;

/// Maximum number of unread pieces of a stream, and of unwritten frames.
pub(super) const QUEUE_CAPACITY: usize = 16;

/// Initial window of streams and connections, in bytes.
pub(super) const DEFAULT_WINDOW_BYTES: i64 = 64 * 1024;

/// A frame to write.
pub(super) enum Command {
    Control(Control),
    Reply(u32),
    Data { stream: u32, fin: bool, bytes: Bytes },
    Close,
}

/// State of one stream.
pub(super) struct Entry {
    /// Sender of the data from the peer. `None` after the peer's last frame.
    pub(super) inbox: Option<mpsc::Sender<Bytes>>,
    pub(super) window: i64,
    /// Whether the last frame has been sent.
    pub(super) done: bool,
}

/// State of a connection.
pub(super) struct State {
    pub(super) streams: HashMap<u32, Entry>,
    pub(super) window: i64,
    pub(super) initial: i64,
    /// Whether the peer uses flow control: it has sent a WINDOW_UPDATE or a setting.
    pub(super) windowed: bool,
    pub(super) closed: bool,
}

/// State shared by the tasks and streams of a connection.
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// Notified when a window opens or the connection closes.
    pub(super) opened: Notify,
}

impl Shared {
    /// Removes a stream that both sides have finished.
    pub(super) fn remove_finished(state: &mut State, stream: u32) {
        if state
            .streams
            .get(&stream)
            .is_some_and(|entry| entry.done && entry.inbox.is_none())
        {
            state.streams.remove(&stream);
        }
    }

    /// Closes the connection: pending writes fail.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.streams.clear();
        drop(state);
        self.opened.notify_waiters();
    }
}
