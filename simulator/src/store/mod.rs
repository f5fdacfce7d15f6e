//! Storage of objects: a table per resource, one revision counter, compare-and-swap writes.
//!
//! Guarantees:
//! - Readers share the bytes of an object.
//! - Every committed change has its own revision, greater than all before.
//! - A listing is a snapshot at its revision.
//! - The [`Sink`] gets every change once, in order of revision.
//!
//! Limit: an object is opaque to the store, except for its labels and selectable fields, which are extracted when it
//! is written.

mod codec;
mod durable;
mod etcd;
mod limits;
mod memory;
mod record;
mod restored;
mod tables;

#[cfg(test)]
mod contract;

use std::{collections::HashSet, fmt, sync::Arc};

use futures::future::{BoxFuture, ready};
use parking_lot::RwLock;

use crate::{api::GroupResource, strategy::Claims};

pub(crate) use durable::Durable;
pub use durable::{DataDirectory, DataDirectoryError, DataDirectorySummary, Durability};
pub(crate) use etcd::{Election, EtcdStore, Term};
pub use etcd::{Etcd, EtcdError};
pub(crate) use limits::HistoryLimits;
pub(crate) use memory::Memory;
pub(crate) use record::{Draft, Record};
pub(crate) use restored::{RestoredResource, RestoredState};
pub(crate) use tables::Tables;

/// Key of a stored object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    /// Group and plural of the kind's storage version, shared by all versions.
    pub resource: GroupResource,
    /// Namespace. Empty for cluster-scoped kinds.
    pub namespace: Box<str>,
    /// Name of the object.
    pub name: Box<str>,
}

impl Key {
    /// Returns the key of `name` in `namespace`.
    pub(crate) fn new(resource: &GroupResource, namespace: &str, name: &str) -> Self {
        Self {
            resource: resource.clone(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.resource, self.namespace, self.name)
    }
}

/// Selectable fields with an index.
pub(crate) const INDEXED_FIELDS: [&str; 1] = ["spec.nodeName"];

/// Lookup by an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup<'a> {
    /// Object by namespace (empty for cluster-scoped kinds) and name.
    Name(&'a str, &'a str),
    /// Objects of all namespaces by name and value of an indexed field.
    Field(&'a str, &'a str),
}

/// Precondition of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// No object is stored under the key.
    Absent,
    /// The stored object has this revision.
    At(u64),
}

/// Write of one object.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    /// Stores this object.
    Put(Draft),
    /// Removes the object.
    Remove,
}

/// Committed change.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Revision of the change.
    pub revision: u64,
    /// Object before the change. `None` if it was created.
    pub before: Option<Arc<Record>>,
    /// Object after the change. `None` if it was removed.
    pub after: Option<Arc<Record>>,
}

/// Objects of a resource, or of one of its namespaces, at one revision.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// Revision of the store.
    pub revision: u64,
    /// Objects in order of namespace and name.
    pub records: Vec<Arc<Record>>,
}

/// Error of a read or a write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreError {
    /// An object is stored under the key already.
    #[error("{0} exists")]
    Exists(Key),
    /// No object is stored under the key.
    #[error("{0} does not exist")]
    Missing(Key),
    /// The stored object has another revision than expected.
    #[error("{key} is at revision {actual}, not {expected}")]
    Stale {
        /// Key of the object.
        key: Key,
        /// Revision that the write expected.
        expected: u64,
        /// Revision of the stored object.
        actual: u64,
    },
    /// Another object holds an address or a port that the write claims.
    #[error("{0} is claimed by another object")]
    Claimed(String),
    /// The store cannot be reached or has failed.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
}

/// Receiver of every change, in order of revision.
///
/// A change is passed to it before any reader can see a later one. The store is locked during the call, which must be
/// short and must not call the store.
pub(crate) trait Sink: Send + Sync {
    /// The store was opened with this state. Called before any change, and again if changes after the last one were
    /// lost.
    fn restored(&self, restored: RestoredState);

    /// The change was committed.
    fn committed(&self, change: Change);
}

/// Storage of objects. Every implementation passes the same contract tests.
pub(crate) trait Store: Send + Sync {
    /// Objects that reads return.
    fn tables(&self) -> &RwLock<Tables>;

    /// Returns the object under `key`.
    fn get(&self, key: &Key) -> Option<Arc<Record>> {
        self.tables().read().get(key)
    }

    /// Returns the object `name` of `resource` in `namespace`, which is empty for cluster-scoped kinds.
    fn named(&self, resource: &GroupResource, namespace: &str, name: &str) -> Option<Arc<Record>> {
        self.tables().read().named(resource, namespace, name)
    }

    /// Returns the objects of `resource`, in one `namespace` or in all.
    fn list(&self, resource: &GroupResource, namespace: Option<&str>) -> Listing {
        self.tables().read().list(resource, namespace)
    }

    /// Returns the objects of `resource` that a lookup finds.
    fn find(&self, resource: &GroupResource, lookup: Lookup<'_>) -> Listing {
        self.tables().read().find(resource, lookup)
    }

    /// Commits the write if `expected` holds. Returns the change.
    fn commit<'a>(
        &'a self,
        key: &'a Key,
        expected: Expected,
        write: Write,
    ) -> BoxFuture<'a, Result<Change, StoreError>> {
        self.commit_claiming(key, expected, write, Claims::none())
    }

    /// Commits the write if `expected` holds and, in a store that records claims, the claimed values are free.
    fn commit_claiming<'a>(
        &'a self,
        key: &'a Key,
        expected: Expected,
        write: Write,
        claims: &'a Claims,
    ) -> BoxFuture<'a, Result<Change, StoreError>>;

    /// Waits until reads show every write that any process had acknowledged before. `None` if they always do.
    fn sync(&self) -> Option<BoxFuture<'_, Result<(), StoreError>>> {
        None
    }

    /// Claimed values, if the store is shared between processes and records them.
    fn claims(&self) -> Option<HashSet<String>> {
        None
    }

    /// Leader election of this process, if the store is shared between processes.
    fn election(&self) -> Option<Election> {
        None
    }

    /// Returns an independent copy in memory. `sink` creates the copy's sink; it is called while no change can be
    /// committed.
    fn fork(&self, sink: &mut dyn FnMut() -> Arc<dyn Sink>) -> Memory {
        let tables = self.tables().read();
        Memory::of(tables.clone(), sink())
    }

    /// Whether a commit may wait for I/O outside this process.
    fn commits_wait(&self) -> bool {
        false
    }

    /// Makes every acknowledged write durable, then closes the store: later writes fail.
    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }
}
