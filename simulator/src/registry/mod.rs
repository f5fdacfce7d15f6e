//! The generic verbs over every kind: create, get, list, update, patch, delete, watch.
//!
//! - An object is validated before it is stored, stored before it is returned, and encoded once.
//! - No write overwrites a concurrent change that its writer has not read. Nothing else writes to the store.
//! - Behaviour that is special to a kind is in its strategy. No file here names a kind.
//!
//! Limits:
//! - Writes of another process over the same store are visible after [`Registry::sync`], with which every request
//!   begins.
//! - Kinds that are added at run time exist in this process only.
//! - If the process that wrote an event is killed, the event expires once another process starts or is elected.
//!
//! Source of the semantics: Kubernetes v1.2's generic registry and REST handlers, as recorded.

mod action;
mod admission;
mod bookmark;
mod bootstrap;
mod codec;
mod create;
mod delete;
mod encoded_list;
mod errors;
mod expiry;
mod get;
mod kinds;
mod list_cache;
mod objects;
mod page;
mod patch;
mod request;
mod revision;
mod scale;
mod selection;
mod snapshot;
mod state;
mod update;
mod watch;
mod write;

#[cfg(test)]
mod tests;

pub use crate::strategy::Cidr;
pub(crate) use crate::strategy::Component;
pub use request::ListOptions;
pub(crate) use request::{GetOptions, RequestBody, RequestInfo, Response};
pub use snapshot::{Snapshot, SnapshotError};
pub(crate) use state::{Registry, RestoreError, Settings};
pub(crate) use watch::WatchStream;

pub(crate) use admission::quota_total;
