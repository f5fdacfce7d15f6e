//! One who follows a kind.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    vec::IntoIter,
};

use bytes::Bytes;

use super::{
    Event, EventType, LAG,
    event::frame,
    hub::{Channel, Place},
};
use crate::{scheme::Resource, store::Record};

/// How many events are taken from the log at a time.
const BATCH: usize = 64;

/// What a follower wants to hear of, and in which form.
pub struct Interest {
    /// Which objects it sees.
    pub sees: Box<dyn Fn(&Record) -> bool + Send + Sync>,
    /// In which version of the kind.
    pub version: Arc<Resource>,
    /// Changes up to this revision are passed over; 0 for none.
    pub after: u64,
}

/// Reads a kind's changes at its own pace.
pub struct Follower {
    channel: Arc<Channel>,
    place: Arc<Place>,
    position: u64,
    /// How far behind it has been when it was least so.
    best: u64,
    first: IntoIter<Arc<Record>>,
    taken: VecDeque<Arc<Event>>,
    interest: Interest,
}

impl Follower {
    pub(super) fn new(
        channel: Arc<Channel>,
        place: Arc<Place>,
        position: u64,
        first: Vec<Arc<Record>>,
        interest: Interest,
    ) -> Self {
        Self {
            channel,
            place,
            position,
            best: u64::MAX,
            first: first.into_iter(),
            taken: VecDeque::new(),
            interest,
        }
    }

    /// The next frame; `None` when the follower has fallen too far behind. Safe to drop while it waits.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.at_hand() {
                return Some(frame);
            }
            let channel = self.channel.clone();
            let mut grown = std::pin::pin!(channel.grown.notified());
            grown.as_mut().enable();
            if !self.take()? {
                grown.await;
            }
        }
    }

    /// The next frame, if there is one already.
    pub fn ready(&mut self) -> Option<Bytes> {
        loop {
            let frame = self.at_hand();
            if frame.is_some() || !self.take()? {
                return frame;
            }
        }
    }

    /// The next frame of what was taken.
    fn at_hand(&mut self) -> Option<Bytes> {
        for record in self.first.by_ref() {
            if (self.interest.sees)(&record) {
                return Some(frame(EventType::Added, record.bytes_in(&self.interest.version)));
            }
        }
        while let Some(event) = self.taken.pop_front() {
            if event.revision() > self.interest.after
                && let Some(kind) = event.seen_by(&self.interest.sees)
            {
                return Some(event.frame(kind, &self.interest.version));
            }
        }
        None
    }

    /// Takes what has come since; whether there was anything. `None` where the follower has been too far behind.
    fn take(&mut self) -> Option<bool> {
        let log = self.channel.log.read();
        let end = log.end();
        if end > self.place.limit.load(Ordering::Acquire) {
            return None;
        }
        self.taken.extend(log.read(self.position, BATCH)?);
        drop(log);
        self.position += self.taken.len() as u64;
        self.best = self.best.min(end.saturating_sub(self.position));
        self.place
            .limit
            .store(limit(self.position, self.best), Ordering::Release);
        Some(!self.taken.is_empty())
    }
}

/// How far the log may grow before a follower at `position` is ended that has once been no more than `best` changes behind.
pub(super) fn limit(position: u64, best: u64) -> u64 {
    position.saturating_add(best).saturating_add(LAG as u64)
}
