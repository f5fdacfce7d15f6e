//! Which watchers a change concerns.
//!
//! Watchers are indexed by namespace, by name and by the indexed fields, so that a change wakes a few of thousands. What a watcher is woken for may still fail
//! its filter.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Event;
use crate::store::{INDEXED_FIELDS, Record};

/// What the objects of a watcher have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Interest {
    /// Nothing: any object of the kind.
    All,
    /// The namespace.
    Namespace(Box<str>),
    /// The name, and the namespace if it is not any.
    Name(Option<Box<str>>, Box<str>),
    /// The value of an indexed field.
    Field(Box<str>, Box<str>),
}

/// Most watchers of a piece: those that are woken together.
const PIECE: usize = 64;

/// The watchers of a kind that wait, by interest, in pieces.
#[derive(Default)]
pub(super) struct Groups(Mutex<HashMap<Interest, Vec<Weak<Notify>>>>);

impl Groups {
    /// What wakes a watcher of an interest: that of a piece with room.
    pub(super) fn join(&self, interest: Interest) -> Arc<Notify> {
        let mut groups = self.0.lock();
        let pieces = groups.entry(interest).or_default();
        let mut free = pieces.iter().rev().filter(|piece| piece.strong_count() < PIECE);
        if let Some(notify) = free.find_map(Weak::upgrade) {
            return notify;
        }
        let notify = Arc::new(Notify::new());
        pieces.retain(|piece| piece.strong_count() > 0);
        pieces.push(Arc::downgrade(&notify));
        if pieces.len() == 1 {
            groups.retain(|_, pieces| pieces.iter().any(|piece| piece.strong_count() > 0));
        }
        notify
    }

    /// What wakes all watchers, piece by piece.
    pub(super) fn all(&self) -> Vec<Arc<Notify>> {
        self.0.lock().values().flatten().filter_map(Weak::upgrade).collect()
    }

    /// What wakes the watchers that these events concern, piece by piece.
    pub(super) fn concerned(&self, events: &[Arc<Event>]) -> Vec<Arc<Notify>> {
        let groups = self.0.lock();
        if groups.len() <= 1 {
            return groups.values().flatten().filter_map(Weak::upgrade).collect();
        }
        let mut concerned = HashSet::from([Interest::All]);
        for event in events {
            event.states().for_each(|record| concerned.extend(interests(record)));
        }
        let pieces = concerned.iter().filter_map(|interest| groups.get(interest)).flatten();
        pieces.filter_map(Weak::upgrade).collect()
    }
}

/// The interests of watchers that may get a record, besides [`Interest::All`].
fn interests(record: &Record) -> impl Iterator<Item = Interest> {
    let key = record.key();
    let fields = record.fields().iter().filter(|(name, _)| INDEXED_FIELDS.contains(name));
    [
        Interest::Namespace(key.namespace.clone()),
        Interest::Name(Some(key.namespace.clone()), key.name.clone()),
        Interest::Name(None, key.name.clone()),
    ]
    .into_iter()
    .chain(fields.map(|(name, value)| Interest::Field(name.into(), value.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_watchers_are_woken_in_pieces() {
        let groups = Groups::default();
        let mut watchers: Vec<_> = (0..2 * PIECE + 1).map(|_| groups.join(Interest::All)).collect();
        assert_eq!(groups.all().len(), 3);
        watchers.truncate(PIECE);
        assert_eq!(groups.all().len(), 1);
        watchers.pop();
        let next = groups.join(Interest::All);
        assert!(
            watchers.iter().all(|other| Arc::ptr_eq(other, &next)),
            "a piece with room is filled"
        );
    }
}
