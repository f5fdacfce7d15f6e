//! What a store remembers of the time before it was opened.

use std::sync::Arc;

use super::{Change, Record};
use crate::api::GroupResource;

/// The state that a store was opened with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    /// The store's revision.
    pub(crate) revision: u64,
    /// Watches from a revision below this one cannot be resumed, whatever history is kept: changes after it may be lost. Usually 0.
    pub(crate) floor: u64,
    /// Every kind that has objects or history.
    pub(crate) resources: Vec<ResourcePast>,
}

/// The history of one kind. `base` and then `changes` add up to its present objects.
#[derive(Clone, Debug)]
pub(crate) struct ResourcePast {
    /// The kind.
    pub(crate) resource: GroupResource,
    /// The revision of the last change that is no longer kept; 0 if all are.
    pub(crate) trimmed: u64,
    /// The objects as they were before the first change that is kept.
    pub(crate) base: Vec<Arc<Record>>,
    /// The changes that are kept, oldest first.
    pub(crate) changes: Vec<Change>,
}

impl ResourcePast {
    /// A kind without objects or history.
    pub(crate) fn new(resource: GroupResource) -> Self {
        Self {
            resource,
            trimmed: 0,
            base: Vec::new(),
            changes: Vec::new(),
        }
    }
}
