//! Store in memory.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use parking_lot::RwLock;

use crate::strategy::Claims;

use super::{
    Change, Expected, Key, Sink, Store, StoreError, Write,
    tables::{Tables, plan},
};

/// Store in memory.
pub(crate) struct Memory {
    tables: RwLock<Tables>,
    sink: Arc<dyn Sink>,
}

impl Memory {
    /// Creates an empty store that passes every change to `sink`.
    pub(crate) fn new(sink: Arc<dyn Sink>) -> Self {
        Self {
            tables: RwLock::default(),
            sink,
        }
    }

    /// Creates a store with the objects of `tables`.
    pub(super) fn of(tables: Tables, sink: Arc<dyn Sink>) -> Self {
        Self {
            tables: RwLock::new(tables),
            sink,
        }
    }

    fn write(&self, key: &Key, expected: Expected, write: Write) -> Result<Change, StoreError> {
        let mut tables = self.tables.write();
        let change = plan(tables.get(key), tables.revision + 1, key, expected, write)?;
        tables.apply(&change);
        self.sink.committed(change.clone());
        Ok(change)
    }
}

impl Store for Memory {
    fn tables(&self) -> &RwLock<Tables> {
        &self.tables
    }

    fn commit_claiming<'a>(
        &'a self,
        key: &'a Key,
        expected: Expected,
        write: Write,
        _: &'a Claims,
    ) -> BoxFuture<'a, Result<Change, StoreError>> {
        Box::pin(ready(self.write(key, expected, write)))
    }
}
