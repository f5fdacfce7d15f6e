//! Where objects are kept: a table per resource, one revision counter over all, compare-and-swap writes.
//!
//! Promises: an object's bytes are shared by everyone who reads them; revisions only grow, and every committed change has its own;
//! a listing is a snapshot, true at its revision; the [`Sink`] hears of every change once, in order of revision.
//! Limits: what is stored is opaque here but for its labels and selectable fields, which are extracted when it is written.

mod memory;
mod record;

#[cfg(test)]
mod contract;

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;

use crate::api::GroupResource;

pub use memory::Memory;
pub use record::{Draft, Pairs, Record};

/// Where an object is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Group and plural of its kind's storage version; all versions of a kind share it.
    pub resource: GroupResource,
    /// The namespace; empty for cluster-wide kinds.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
}

impl Key {
    /// The key of `name` in `namespace`.
    pub fn new(resource: &GroupResource, namespace: &str, name: &str) -> Self {
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

/// What a write takes for granted, and fails without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing is stored under the key.
    Absent,
    /// The object is stored at this very revision.
    At(u64),
}

/// What a write does.
#[derive(Clone, Debug)]
pub enum Write {
    /// Stores this object.
    Put(Draft),
    /// Removes what is there.
    Remove,
}

/// One committed change.
#[derive(Clone, Debug)]
pub struct Change {
    /// The revision it was given.
    pub revision: u64,
    /// The object before; `None` where it was created.
    pub before: Option<Arc<Record>>,
    /// The object after; `None` where it was removed.
    pub after: Option<Arc<Record>>,
}

/// The objects of a resource, or of one namespace of it, as they were at one revision.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The store's revision.
    pub revision: u64,
    /// In order of namespace and name.
    pub records: Vec<Arc<Record>>,
}

/// Why a write was not made, or a read not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Something is stored under the key already.
    #[error("{0} exists")]
    Exists(Key),
    /// Nothing is stored under the key.
    #[error("{0} does not exist")]
    Missing(Key),
    /// What is stored has another revision than expected.
    #[error("{key} is at revision {actual}, not {expected}")]
    Stale {
        /// The key.
        key: Key,
        /// The revision that the write expected.
        expected: u64,
        /// The revision that is stored.
        actual: u64,
    },
    /// The store cannot be reached or has failed.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
}

/// Hears of every change, in order of revision, before any reader can see a later one.
///
/// It is called with the store locked: it must be quick and must not call back.
pub trait Sink: Send + Sync {
    /// The change was committed.
    fn committed(&self, change: Change);
}

/// A store. Every implementation passes the same contract tests.
pub trait Store: Send + Sync {
    /// The object under `key`.
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Arc<Record>>, StoreError>>;

    /// The objects of `resource`, of one `namespace` or of all.
    fn list<'a>(
        &'a self,
        resource: &'a GroupResource,
        namespace: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing, StoreError>>;

    /// Makes the write if `expected` holds, and answers the change that it made.
    fn commit<'a>(
        &'a self,
        key: &'a Key,
        expected: Expected,
        write: Write,
    ) -> BoxFuture<'a, Result<Change, StoreError>>;
}
