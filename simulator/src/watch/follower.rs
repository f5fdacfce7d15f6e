//! One who follows a kind.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    vec::IntoIter,
};

use bytes::Bytes;

use super::{
    Event, EventType, Face,
    event::frame,
    hub::{Channel, Place},
};
use crate::store::Record;

/// How many events are taken from the log at a time.
const BATCH: usize = 64;

/// What a follower wants to hear of, and in which form.
pub struct Interest {
    /// Which objects it sees.
    pub sees: Box<dyn Fn(&Record) -> bool + Send + Sync>,
    /// In which version of the kind.
    pub face: Face,
    /// Changes up to this revision are passed over; 0 for none.
    pub after: u64,
}

/// Reads a kind's changes at its own pace.
pub struct Follower {
    channel: Arc<Channel>,
    place: Arc<Place>,
    first: IntoIter<Arc<Record>>,
    taken: VecDeque<Arc<Event>>,
    interest: Interest,
}

impl Follower {
    pub(super) fn new(channel: Arc<Channel>, place: Arc<Place>, first: Vec<Arc<Record>>, interest: Interest) -> Self {
        Self { channel, place, first: first.into_iter(), taken: VecDeque::new(), interest }
    }

    /// The next frame; `None` when the follower has fallen too far behind. Safe to drop while it waits.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            for record in self.first.by_ref() {
                if (self.interest.sees)(&record) {
                    return Some(frame(EventType::Added, self.interest.face.of(&record)));
                }
            }
            while let Some(event) = self.taken.pop_front() {
                if event.revision() > self.interest.after
                    && let Some(kind) = event.seen_by(&self.interest.sees)
                {
                    return Some(event.frame(kind, self.interest.face));
                }
            }
            let channel = self.channel.clone();
            let mut grown = std::pin::pin!(channel.grown.notified());
            grown.as_mut().enable();
            if !self.take()? {
                grown.await;
            }
        }
    }

    /// Takes what has come since; whether there was anything. `None` where it is no longer kept.
    fn take(&mut self) -> Option<bool> {
        let position = self.place.position.load(Ordering::Acquire);
        self.taken.extend(self.channel.log.read().read(position, BATCH)?);
        self.place.position.store(position + self.taken.len() as u64, Ordering::Release);
        Some(!self.taken.is_empty())
    }
}
