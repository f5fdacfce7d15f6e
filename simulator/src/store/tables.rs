//! The present objects of every kind, in memory.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Bound,
    sync::Arc,
};

use crate::api::GroupResource;

use super::{Change, Expected, INDEXED_FIELDS, Key, Listing, Lookup, Record, StoreError, Write};

/// The present objects, and the revision that they are at. Stores serve reads from it.
///
/// A clone shares each kind's table until one of the two changes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(super) revision: u64,
    records: HashMap<GroupResource, Arc<Table>>,
}

/// The objects of one kind.
#[derive(Clone, Debug, Default)]
struct Table {
    by_key: BTreeMap<Key, Arc<Record>>,
    /// Keys by the value of each of [`INDEXED_FIELDS`] that the kind has.
    by_field: HashMap<(usize, Box<str>), BTreeSet<Key>>,
}

impl Table {
    fn insert(&mut self, record: Arc<Record>) {
        let key = record.key().clone();
        let before = self.by_key.insert(key.clone(), record.clone());
        let (old, new) = (before.iter().flat_map(|r| indexed(r)), indexed(&record));
        if old.clone().eq(new.clone()) {
            return;
        }
        for field in old {
            forget(&mut self.by_field, field, &key);
        }
        for (field, value) in new {
            self.by_field
                .entry((field, value.into()))
                .or_default()
                .insert(key.clone());
        }
    }

    fn remove(&mut self, key: &Key) {
        let Some(record) = self.by_key.remove(key) else { return };
        for field in indexed(&record) {
            forget(&mut self.by_field, field, key);
        }
    }
}

/// Removes a key from the index.
fn forget(by_field: &mut HashMap<(usize, Box<str>), BTreeSet<Key>>, (field, value): (usize, &str), key: &Key) {
    let place = (field, value.into());
    if let Some(keys) = by_field.get_mut(&place) {
        keys.remove(key);
        if keys.is_empty() {
            by_field.remove(&place);
        }
    }
}

/// The indexed fields of a record, by their place in [`INDEXED_FIELDS`], and their values.
fn indexed(record: &Record) -> impl Iterator<Item = (usize, &str)> + Clone {
    let place = |name: &str| INDEXED_FIELDS.iter().position(|field| *field == name);
    let fields = record.fields().iter();
    fields.filter_map(move |(name, value)| Some((place(name)?, &**value)))
}

impl Tables {
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Record>> {
        self.records.get(&key.resource)?.by_key.get(key).cloned()
    }

    pub(super) fn list(&self, resource: &GroupResource, namespace: Option<&str>) -> Listing {
        let records = match (self.records.get(resource), namespace) {
            (None, _) => Vec::new(),
            (Some(table), None) => table.by_key.values().cloned().collect(),
            (Some(table), Some(namespace)) => {
                let first = Key::new(resource, namespace, "");
                table
                    .by_key
                    .range((Bound::Included(&first), Bound::Unbounded))
                    .take_while(|(k, _)| *k.namespace == *namespace)
                    .map(|(_, r)| r.clone())
                    .collect()
            }
        };
        Listing {
            revision: self.revision,
            records,
        }
    }

    pub(super) fn find(&self, resource: &GroupResource, lookup: Lookup<'_>) -> Listing {
        let found = self.records.get(resource).map(|table| match lookup {
            Lookup::Name(namespace, name) => {
                let record = table.by_key.get(&Key::new(resource, namespace, name));
                record.cloned().into_iter().collect()
            }
            Lookup::Field(name, value) => {
                let place = INDEXED_FIELDS.iter().position(|field| *field == name);
                let keys = place.and_then(|place| table.by_field.get(&(place, value.into())));
                let keys = keys.into_iter().flatten();
                keys.filter_map(|key| table.by_key.get(key).cloned()).collect()
            }
        });
        Listing {
            revision: self.revision,
            records: found.unwrap_or_default(),
        }
    }

    /// The number of objects.
    pub(super) fn len(&self) -> usize {
        self.records.values().map(|table| table.by_key.len()).sum()
    }

    /// Puts an object in place, without a change of the revision.
    pub(super) fn put(&mut self, record: Arc<Record>) {
        self.table(&record.key().resource).insert(record);
    }

    /// Makes a change.
    pub(super) fn apply(&mut self, change: &Change) {
        match (&change.after, &change.before) {
            (Some(record), _) => self.put(record.clone()),
            (None, Some(record)) => self.table(&record.key().resource).remove(record.key()),
            (None, None) => {}
        }
        self.revision = change.revision;
    }

    fn table(&mut self, resource: &GroupResource) -> &mut Table {
        Arc::make_mut(self.records.entry(resource.clone()).or_default())
    }
}

/// The change at `revision` that a write makes to `before`, the object under its key.
pub(super) fn plan(
    before: Option<Arc<Record>>,
    revision: u64,
    key: &Key,
    expected: Expected,
    write: Write,
) -> Result<Change, StoreError> {
    match (&before, expected) {
        (None, Expected::Absent) => {}
        (Some(_), Expected::Absent) => return Err(StoreError::Exists(key.clone())),
        (None, Expected::At(_)) => return Err(StoreError::Missing(key.clone())),
        (Some(record), Expected::At(at)) if record.revision() == at => {}
        (Some(record), Expected::At(at)) => {
            return Err(StoreError::Stale {
                key: key.clone(),
                expected: at,
                actual: record.revision(),
            });
        }
    }
    let after = match write {
        Write::Put(draft) => Some(Arc::new(draft.into_record(key.clone(), revision))),
        Write::Remove if before.is_none() => return Err(StoreError::Missing(key.clone())),
        Write::Remove => None,
    };
    Ok(Change {
        revision,
        before,
        after,
    })
}
