//! State that the tasks and the streams of a connection share.

use std::collections::HashMap;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::frame::Control;

/// Most open streams of a connection.
pub(super) const STREAMS: usize = 256;

/// Most bytes of data in one piece.
pub(super) const PIECE: usize = 16 * 1024;

/// Most pieces of a stream that wait to be read, and most frames that wait to be written.
pub(super) const QUEUE: usize = 16;

/// Initial window of streams and connections, in bytes.
pub(super) const WINDOW: i64 = 64 * 1024;

/// A frame to write.
pub(super) enum Command {
    Control(Control),
    Reply(u32),
    Data { stream: u32, fin: bool, bytes: Bytes },
    Close,
}

/// State of one stream.
pub(super) struct Entry {
    /// Data for the reader. `None` after the last frame of the peer.
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
    /// Whether the peer uses flow control: it has sent a window or a setting.
    pub(super) windowed: bool,
    pub(super) closed: bool,
}

/// State that the tasks and the streams of a connection share.
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
