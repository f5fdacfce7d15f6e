//! The present objects of every kind, in memory.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use foldhash::fast::FixedState;

use crate::api::GroupResource;

use super::{Change, Expected, INDEXED_FIELDS, Key, Listing, Lookup, Record, StoreError, Write};

/// The present objects, and the revision that they are at. Stores serve reads from it.
///
/// A clone shares each namespace of each kind until one of the two changes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(super) revision: u64,
    /// By kind. The keys come from the scheme, so the hash need not withstand chosen ones.
    records: HashMap<GroupResource, Arc<Table>, FixedState>,
}

/// The objects of one namespace of a kind, by name.
type Names = BTreeMap<Box<str>, Arc<Record>>;

/// The objects of one kind.
#[derive(Clone, Debug, Default)]
struct Table {
    /// By namespace, which is empty for cluster-wide kinds, and name.
    namespaces: BTreeMap<Box<str>, Arc<Names>>,
    /// By value of each of [`INDEXED_FIELDS`].
    by_field: [HashMap<Box<str>, Arc<BTreeSet<ByKey>>>; INDEXED_FIELDS.len()],
}

/// A record, ordered by its key.
#[derive(Clone, Debug)]
struct ByKey(Arc<Record>);

impl Ord for ByKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key().cmp(other.0.key())
    }
}

impl PartialOrd for ByKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ByKey {}

impl Table {
    fn len(&self) -> usize {
        self.namespaces.values().map(|names| names.len()).sum()
    }

    fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Record>> {
        self.namespaces.get(namespace)?.get(name)
    }

    fn insert(&mut self, record: Arc<Record>) {
        let Key { namespace, name, .. } = record.key();
        if !self.namespaces.contains_key(namespace) {
            self.namespaces.insert(namespace.clone(), Arc::default());
        }
        let names = self.namespaces.get_mut(namespace).map(Arc::make_mut);
        let before = names.and_then(|names| names.insert(name.clone(), record.clone()));
        if let Some(before) = before.filter(|before| !indexed(before).eq(indexed(&record))) {
            self.forget(&before);
        }
        for (field, value) in indexed(&record) {
            let values = &mut self.by_field[field];
            if !values.contains_key(value) {
                values.insert(value.into(), Arc::default());
            }
            if let Some(records) = values.get_mut(value) {
                Arc::make_mut(records).replace(ByKey(record.clone()));
            }
        }
    }

    fn remove(&mut self, key: &Key) {
        let Some(names) = self.namespaces.get_mut(&key.namespace) else {
            return;
        };
        let removed = Arc::make_mut(names).remove(&key.name);
        if names.is_empty() {
            self.namespaces.remove(&key.namespace);
        }
        if let Some(record) = removed {
            self.forget(&record);
        }
    }

    /// Removes a record from the indices of its fields.
    fn forget(&mut self, record: &Arc<Record>) {
        for (field, value) in indexed(record) {
            let values = &mut self.by_field[field];
            let Some(records) = values.get_mut(value) else { continue };
            Arc::make_mut(records).remove(&ByKey(record.clone()));
            if records.is_empty() {
                values.remove(value);
            }
        }
    }
}

/// The indexed fields of a record, by their place in [`INDEXED_FIELDS`], and their values.
fn indexed(record: &Record) -> impl Iterator<Item = (usize, &str)> {
    let place = |name: &str| INDEXED_FIELDS.iter().position(|field| *field == name);
    let fields = record.fields().iter();
    fields.filter_map(move |(name, value)| Some((place(name)?, value)))
}

impl Tables {
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Record>> {
        self.named(&key.resource, &key.namespace, &key.name)
    }

    pub(super) fn named(&self, resource: &GroupResource, namespace: &str, name: &str) -> Option<Arc<Record>> {
        self.records.get(resource)?.get(namespace, name).cloned()
    }

    pub(super) fn list(&self, resource: &GroupResource, namespace: Option<&str>) -> Listing {
        let records = self.records.get(resource).map(|table| match namespace {
            None => {
                let mut all = Vec::with_capacity(table.len());
                let namespaces = table.namespaces.values();
                namespaces.for_each(|names| all.extend(names.values().cloned()));
                all
            }
            Some(namespace) => {
                let names = table.namespaces.get(namespace);
                names.map_or_else(Vec::new, |names| names.values().cloned().collect())
            }
        });
        Listing {
            revision: self.revision,
            records: records.unwrap_or_default(),
        }
    }

    pub(super) fn find(&self, resource: &GroupResource, lookup: Lookup<'_>) -> Listing {
        let found = self.records.get(resource).map(|table| match lookup {
            Lookup::Name(namespace, name) => table.get(namespace, name).cloned().into_iter().collect(),
            Lookup::Field(name, value) => {
                let place = INDEXED_FIELDS.iter().position(|field| *field == name);
                let records = place.and_then(|place| table.by_field[place].get(value));
                let records = records.into_iter().flat_map(|records| records.iter());
                records.map(|record| record.0.clone()).collect()
            }
        });
        Listing {
            revision: self.revision,
            records: found.unwrap_or_default(),
        }
    }

    /// The number of objects.
    pub(super) fn len(&self) -> usize {
        self.records.values().map(|table| table.len()).sum()
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
