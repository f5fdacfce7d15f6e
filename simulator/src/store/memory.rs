//! A store in memory.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::Arc,
};

use futures::future::{BoxFuture, ready};
use parking_lot::RwLock;

use crate::api::GroupResource;

use super::{Change, Expected, Key, Listing, Record, Sink, Store, StoreError, Write};

/// Tables in memory.
pub struct Memory {
    tables: RwLock<Tables>,
    sink: Arc<dyn Sink>,
}

#[derive(Default)]
struct Tables {
    revision: u64,
    records: HashMap<GroupResource, BTreeMap<Key, Arc<Record>>>,
}

impl Memory {
    /// An empty store that passes every change to `sink`.
    pub fn new(sink: Arc<dyn Sink>) -> Self {
        Self {
            tables: RwLock::default(),
            sink,
        }
    }

    fn read(&self, key: &Key) -> Option<Arc<Record>> {
        self.tables.read().records.get(&key.resource)?.get(key).cloned()
    }

    fn snapshot(&self, resource: &GroupResource, namespace: Option<&str>) -> Listing {
        let tables = self.tables.read();
        let records = match (tables.records.get(resource), namespace) {
            (None, _) => Vec::new(),
            (Some(records), None) => records.values().cloned().collect(),
            (Some(records), Some(namespace)) => {
                let first = Key::new(resource, namespace, "");
                records
                    .range((Bound::Included(&first), Bound::Unbounded))
                    .take_while(|(k, _)| *k.namespace == *namespace)
                    .map(|(_, r)| r.clone())
                    .collect()
            }
        };
        Listing {
            revision: tables.revision,
            records,
        }
    }

    fn write(&self, key: &Key, expected: Expected, write: Write) -> Result<Change, StoreError> {
        let mut tables = self.tables.write();
        let revision = tables.revision + 1;
        let table = tables.records.entry(key.resource.clone()).or_default();
        let before = table.get(key).cloned();
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
            Write::Put(draft) => {
                let record = Arc::new(draft.into_record(key.clone(), revision));
                table.insert(key.clone(), record.clone());
                Some(record)
            }
            Write::Remove if before.is_none() => return Err(StoreError::Missing(key.clone())),
            Write::Remove => {
                table.remove(key);
                None
            }
        };
        tables.revision = revision;
        let change = Change {
            revision,
            before,
            after,
        };
        self.sink.committed(change.clone());
        Ok(change)
    }
}

impl Store for Memory {
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Arc<Record>>, StoreError>> {
        Box::pin(ready(Ok(self.read(key))))
    }

    fn list<'a>(
        &'a self,
        resource: &'a GroupResource,
        namespace: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing, StoreError>> {
        Box::pin(ready(Ok(self.snapshot(resource, namespace))))
    }

    fn commit<'a>(
        &'a self,
        key: &'a Key,
        expected: Expected,
        write: Write,
    ) -> BoxFuture<'a, Result<Change, StoreError>> {
        Box::pin(ready(self.write(key, expected, write)))
    }
}
