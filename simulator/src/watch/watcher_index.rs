//! Index of the watchers of a kind.
//!
//! Watchers are indexed by namespace, name and indexed fields, so that a change wakes a few of thousands. Their
//! filters still decide whether they get the change.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Event;
use crate::store::{INDEXED_FIELDS, Record};

/// Index value of a watcher: what all objects that it gets have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WatchIndexKey {
    /// Any object of the kind.
    All,
    /// Namespace.
    Namespace(Box<str>),
    /// Name, in a namespace or in any.
    Name(Option<Box<str>>, Box<str>),
    /// Name and value of an indexed field.
    Field(Box<str>, Box<str>),
}

/// Maximum number of watchers in a group.
pub(super) const GROUP_SIZE: usize = 64;

/// Waiting watchers of a kind by index value, in groups.
#[derive(Default)]
pub(super) struct WatcherIndex(Mutex<HashMap<WatchIndexKey, Vec<Weak<Notify>>>>);

impl WatcherIndex {
    /// Returns the notification of a group with free capacity.
    pub(super) fn join(&self, index_key: WatchIndexKey) -> Arc<Notify> {
        let mut index = self.0.lock();
        let groups = index.entry(index_key).or_default();
        let mut free = groups.iter().rev().filter(|group| group.strong_count() < GROUP_SIZE);
        if let Some(notify) = free.find_map(Weak::upgrade) {
            return notify;
        }
        let notify = Arc::new(Notify::new());
        groups.retain(|group| group.strong_count() > 0);
        groups.push(Arc::downgrade(&notify));
        if groups.len() == 1 {
            index.retain(|_, groups| groups.iter().any(|group| group.strong_count() > 0));
        }
        notify
    }

    /// Notifications of all groups.
    pub(super) fn all(&self) -> Vec<Arc<Notify>> {
        self.0.lock().values().flatten().filter_map(Weak::upgrade).collect()
    }

    /// Notifications of the groups that these events may concern.
    pub(super) fn woken_by(&self, events: &[Arc<Event>]) -> Vec<Arc<Notify>> {
        let index = self.0.lock();
        if index.len() <= 1 {
            return index.values().flatten().filter_map(Weak::upgrade).collect();
        }
        let mut keys = HashSet::from([WatchIndexKey::All]);
        for event in events {
            event.states().for_each(|record| keys.extend(index_keys(record)));
        }
        let groups = keys.iter().filter_map(|key| index.get(key)).flatten();
        groups.filter_map(Weak::upgrade).collect()
    }
}

/// Index values of the watchers that may get a record, besides [`WatchIndexKey::All`].
fn index_keys(record: &Record) -> impl Iterator<Item = WatchIndexKey> {
    let key = record.key();
    let fields = record.fields().iter().filter(|(name, _)| INDEXED_FIELDS.contains(name));
    [
        WatchIndexKey::Namespace(key.namespace.clone()),
        WatchIndexKey::Name(Some(key.namespace.clone()), key.name.clone()),
        WatchIndexKey::Name(None, key.name.clone()),
    ]
    .into_iter()
    .chain(fields.map(|(name, value)| WatchIndexKey::Field(name.into(), value.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_watchers_are_woken_in_groups() {
        let index = WatcherIndex::default();
        let mut watchers: Vec<_> = (0..2 * GROUP_SIZE + 1)
            .map(|_| index.join(WatchIndexKey::All))
            .collect();
        assert_eq!(index.all().len(), 3);
        watchers.truncate(GROUP_SIZE);
        assert_eq!(index.all().len(), 1);
        watchers.pop();
        let next = index.join(WatchIndexKey::All);
        assert!(
            watchers.iter().all(|other| Arc::ptr_eq(other, &next)),
            "a group with free capacity is filled"
        );
    }
}
