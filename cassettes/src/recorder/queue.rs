//! Long bodies, recorded on a thread of their own while they are passed on.

use super::pending::PendingInteraction;
use crate::interaction::Headers;
use crate::transport::Tasks;
use bytes::Bytes;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::PollSemaphore;

/// How many pieces may wait to be written.
const WAITING: usize = 48;

/// A piece of a body with its permit, and whether and how the body ended with it.
type Piece = (
    Option<Bytes>,
    Option<tokio::sync::OwnedSemaphorePermit>,
    Option<BodyEnd>,
);

/// How a body ended.
pub(super) struct BodyEnd {
    /// The fields after it.
    pub(super) trailers: Headers,
    /// What cut it short.
    pub(super) cut: Option<String>,
}

/// The way to the thread that writes.
pub(super) struct PieceQueue {
    sender: UnboundedSender<Piece>,
    permits: PollSemaphore,
    permit: Option<tokio::sync::OwnedSemaphorePermit>,
}

impl PieceQueue {
    /// Hands an open interaction, and the pieces received so far, to a thread of its own.
    pub(super) fn new(mut interaction: PendingInteraction, begun: Vec<Bytes>, tasks: &Tasks) -> Self {
        let (sender, mut pieces) = unbounded_channel::<Piece>();
        tasks.spawn_blocking(move || {
            begun.iter().for_each(|data| interaction.data(data));
            while let Some((data, permit, end)) = pieces.blocking_recv() {
                data.iter().for_each(|data| interaction.data(data));
                drop(permit);
                if let Some(BodyEnd { trailers, cut }) = end {
                    interaction.trailers(trailers);
                    interaction.end(cut.as_deref());
                    break;
                }
            }
            // Unless it was ended, the interaction notes here that the client went away.
            drop(interaction);
        });
        Self {
            sender,
            permits: PollSemaphore::new(std::sync::Arc::new(tokio::sync::Semaphore::new(WAITING))),
            permit: None,
        }
    }

    /// Waits until one more piece may wait.
    pub(super) fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.permit.is_none() {
            self.permit = std::task::ready!(self.permits.poll_acquire(context));
        }
        Poll::Ready(())
    }

    /// Sends a piece, and how the body ended if it did.
    pub(super) fn send(&mut self, data: Option<Bytes>, end: Option<BodyEnd>) {
        // The thread ends only after a request to stop.
        let _ = self.sender.send((data, self.permit.take(), end));
    }

    /// Sends the end.
    pub(super) fn end(mut self, end: BodyEnd) {
        self.send(None, Some(end));
    }
}
