//! Long bodies, recorded beside the task that passes them on.

use super::entry::Entry;
use crate::transport::Tasks;
use bytes::Bytes;
use hyper::body::Frame;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::PollSender;

/// How many pieces may wait to be written.
const WAITING: usize = 8;

/// A piece of a body, and whether and how it ended with it.
type Piece = (Option<Bytes>, Option<Option<String>>);

/// The way to the thread that writes.
pub(super) struct Pipe {
    sender: PollSender<Piece>,
    done: oneshot::Receiver<()>,
    /// All has been sent, and what was last is held until it has been written.
    pub(super) ending: bool,
    pub(super) held: Option<Frame<Bytes>>,
}

impl Pipe {
    /// Hands an entry that is open to a thread of its own.
    pub(super) fn new(mut entry: Entry, tasks: &Tasks) -> Self {
        let (sender, mut pieces) = mpsc::channel::<Piece>(WAITING);
        let (finished, done) = oneshot::channel();
        tasks.spawn_blocking(move || {
            while let Some((data, end)) = pieces.blocking_recv() {
                data.iter().for_each(|data| entry.data(data));
                if let Some(cut) = end {
                    entry.end(cut.as_deref());
                    break;
                }
            }
            // Unless it was ended, the entry notes here that nobody wanted the rest.
            drop(entry);
            // Who waited may be gone.
            let _ = finished.send(());
        });
        Self {
            sender: PollSender::new(sender),
            done,
            ending: false,
            held: None,
        }
    }

    /// Waits for room for a piece.
    pub(super) fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.sender.poll_reserve(context).map(drop)
    }

    /// Sends a piece, for which there is room.
    pub(super) fn send(&mut self, data: Option<Bytes>, end: Option<Option<String>>) {
        // The thread ends only when it was told to.
        let _ = self.sender.send_item((data, end));
    }

    /// Waits until all has been written.
    pub(super) fn poll_done(&mut self, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.done).poll(context).map(drop)
    }
}
