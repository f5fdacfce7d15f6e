//! State that a store restores when it is opened.

use std::sync::Arc;

use super::{Change, Record};
use crate::api::GroupResource;

/// State that a store was opened with.
#[derive(Clone, Debug, Default)]
pub(crate) struct RestoredState {
    /// Revision of the store.
    pub(crate) revision: u64,
    /// Watches cannot be resumed from a revision below this one, whatever history is kept: changes after it may be
    /// lost. Usually 0.
    pub(crate) floor: u64,
    /// Every kind with objects or history.
    pub(crate) resources: Vec<RestoredResource>,
}

/// History of one kind. Applying `changes` to `base` results in its current objects.
#[derive(Clone, Debug)]
pub(crate) struct RestoredResource {
    /// Kind of the objects.
    pub(crate) resource: GroupResource,
    /// Revision of the last change that is no longer kept. 0 if all are.
    pub(crate) trimmed: u64,
    /// Objects before the first kept change.
    pub(crate) base: Vec<Arc<Record>>,
    /// Kept changes, oldest first.
    pub(crate) changes: Vec<Change>,
}

impl RestoredResource {
    /// Returns the history of a kind without objects or changes.
    pub(crate) fn new(resource: GroupResource) -> Self {
        Self {
            resource,
            trimmed: 0,
            base: Vec::new(),
            changes: Vec::new(),
        }
    }
}
