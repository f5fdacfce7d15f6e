//! Which watchers a change concerns.
//!
//! Watchers are told apart by namespace, by name and by the indexed fields, so that a change wakes a few of thousands. What a watcher is woken for may still fail
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

/// The watchers of a kind that wait, by interest.
#[derive(Default)]
pub(super) struct Groups(Mutex<HashMap<Interest, Weak<Notify>>>);

impl Groups {
    /// What wakes the watchers of an interest.
    pub(super) fn join(&self, interest: Interest) -> Arc<Notify> {
        let mut groups = self.0.lock();
        if let Some(notify) = groups.get(&interest).and_then(Weak::upgrade) {
            return notify;
        }
        groups.retain(|_, notify| notify.strong_count() > 0);
        let notify = Arc::new(Notify::new());
        groups.insert(interest, Arc::downgrade(&notify));
        notify
    }

    /// Wakes all watchers; returns how many there are.
    pub(super) fn wake_all(&self) -> usize {
        self.0.lock().values().map(wake).sum()
    }

    /// Wakes the watchers that these events concern; returns how many there are.
    pub(super) fn wake(&self, events: &[Arc<Event>]) -> usize {
        let groups = self.0.lock();
        if groups.len() <= 1 {
            return groups.values().map(wake).sum();
        }
        let mut concerned = HashSet::from([Interest::All]);
        for event in events {
            event.states().for_each(|record| concerned.extend(interests(record)));
        }
        concerned
            .iter()
            .filter_map(|interest| groups.get(interest))
            .map(wake)
            .sum()
    }
}

/// Wakes a group; returns how many watchers are in it.
fn wake(group: &Weak<Notify>) -> usize {
    let Some(notify) = group.upgrade() else { return 0 };
    notify.notify_waiters();
    Arc::strong_count(&notify) - 1
}

/// The interests of watchers that may get a record, besides [`Interest::All`].
fn interests(record: &Record) -> impl Iterator<Item = Interest> {
    let key = record.key();
    let fields = record
        .fields()
        .iter()
        .filter(|(name, _)| INDEXED_FIELDS.contains(&&**name));
    [
        Interest::Namespace(key.namespace.clone()),
        Interest::Name(Some(key.namespace.clone()), key.name.clone()),
        Interest::Name(None, key.name.clone()),
    ]
    .into_iter()
    .chain(fields.map(|(name, value)| Interest::Field(name.clone(), value.clone())))
}
