//! Storage of objects: a table per resource, one revision counter, compare-and-swap writes.
//!
//! Guarantees: readers share the bytes of an object; every committed change has its own revision, which is greater than all before; a listing is a snapshot at its
//! revision; the [`Sink`] gets every change once, in order of revision.
//! Limits: an object is opaque to the store, except for its labels and selectable fields, which are extracted when it is written.

mod codec;
mod durable;
mod etcd;
mod limits;
mod memory;
mod past;
mod record;
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
pub(crate) use past::{Past, ResourcePast};
pub(crate) use record::{Draft, Record};
pub(crate) use tables::Tables;

/// Key of a stored object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    /// Group and plural of its kind's storage version; all versions of a kind share it.
    pub resource: GroupResource,
    /// The namespace; empty for cluster-wide kinds.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
}

impl Key {
    /// The key of `name` in `namespace`.
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

/// Selectable fields by which objects are found without visiting the others.
pub(crate) const INDEXED_FIELDS: [&str; 1] = ["spec.nodeName"];

/// Objects that are found without visiting the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup<'a> {
    /// The object of this name in this namespace, which is empty for cluster-wide kinds.
    Name(&'a str, &'a str),
    /// The objects of any namespace with this value of an indexed field.
    Field(&'a str, &'a str),
}

/// Precondition of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Nothing is stored under the key.
    Absent,
    /// The stored object has this revision.
    At(u64),
}

/// A write.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    /// Stores this object.
    Put(Draft),
    /// Removes the object.
    Remove,
}

/// One committed change.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Its revision.
    pub revision: u64,
    /// The object before; `None` if it was created.
    pub before: Option<Arc<Record>>,
    /// The object after; `None` if it was removed.
    pub after: Option<Arc<Record>>,
}

/// The objects of a resource, or of one namespace of it, as they were at one revision.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// The store's revision.
    pub revision: u64,
    /// In order of namespace and name.
    pub records: Vec<Arc<Record>>,
}

/// Why a read or a write failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreError {
    /// Something is stored under the key already.
    #[error("{0} exists")]
    Exists(Key),
    /// Nothing is stored under the key.
    #[error("{0} does not exist")]
    Missing(Key),
    /// The stored object has another revision than expected.
    #[error("{key} is at revision {actual}, not {expected}")]
    Stale {
        /// The key.
        key: Key,
        /// The revision that the write expected.
        expected: u64,
        /// The revision that is stored.
        actual: u64,
    },
    /// Another object has an address or a port that the write claims.
    #[error("{0} is claimed by another object")]
    Claimed(String),
    /// The store cannot be reached or has failed.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
}

/// Receiver of every change, in order of revision.
///
/// A change is passed to it before any reader can see a later one. The store is locked during the call, which must be short and must not call the store.
pub(crate) trait Sink: Send + Sync {
    /// The store was opened with this state. Called before any change, and again if changes after the last one were lost.
    fn restored(&self, past: Past);

    /// The change was committed.
    fn committed(&self, change: Change);
}

/// A store. Every implementation passes the same contract tests.
pub(crate) trait Store: Send + Sync {
    /// The objects, as reads show them.
    fn tables(&self) -> &RwLock<Tables>;

    /// The object under `key`.
    fn get(&self, key: &Key) -> Option<Arc<Record>> {
        self.tables().read().get(key)
    }

    /// The object `name` of `resource` in `namespace`, which is empty for cluster-wide kinds.
    fn named(&self, resource: &GroupResource, namespace: &str, name: &str) -> Option<Arc<Record>> {
        self.tables().read().named(resource, namespace, name)
    }

    /// The objects of `resource`, of one `namespace` or of all.
    fn list(&self, resource: &GroupResource, namespace: Option<&str>) -> Listing {
        self.tables().read().list(resource, namespace)
    }

    /// The objects of `resource` that a lookup is for.
    fn find(&self, resource: &GroupResource, lookup: Lookup<'_>) -> Listing {
        self.tables().read().find(resource, lookup)
    }

    /// Commits the write if `expected` holds; returns the change.
    fn commit<'a>(
        &'a self,
        key: &'a Key,
        expected: Expected,
        write: Write,
    ) -> BoxFuture<'a, Result<Change, StoreError>> {
        self.commit_claiming(key, expected, write, Claims::none())
    }

    /// The same if what is claimed is free, in a store that keeps claims.
    fn commit_claiming<'a>(
        &'a self,
        key: &'a Key,
        expected: Expected,
        write: Write,
        claims: &'a Claims,
    ) -> BoxFuture<'a, Result<Change, StoreError>>;

    /// Waits until reads show every write that was acknowledged before, by any process. `None` if they always do.
    fn sync(&self) -> Option<BoxFuture<'_, Result<(), StoreError>>> {
        None
    }

    /// What is claimed, if the store is shared by processes and keeps it.
    fn claims(&self) -> Option<HashSet<String>> {
        None
    }

    /// The election of the process that acts, if the store is shared by processes.
    fn election(&self) -> Option<Election> {
        None
    }

    /// A copy in memory that is independent from now on. `sink` is called while no change is committed; it makes the copy's sink.
    fn fork(&self, sink: &mut dyn FnMut() -> Arc<dyn Sink>) -> Memory {
        let tables = self.tables().read();
        Memory::of(tables.clone(), sink())
    }

    /// Whether a commit may wait for something other than this process.
    fn commits_wait(&self) -> bool {
        false
    }

    /// Keeps what was acknowledged as safely as the store keeps anything, then ends: later writes fail.
    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }
}
