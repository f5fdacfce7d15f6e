//! How much history is kept.

use std::collections::HashMap;

use crate::api::GroupResource;

/// Bytes of changes that are kept of one kind, unless set otherwise.
const KIND_BYTES: usize = 64 << 20;

/// How many changes of each kind are kept.
#[derive(Clone, Debug)]
pub(crate) struct HistoryLimits {
    default: usize,
    bytes: usize,
    by_resource: HashMap<GroupResource, usize>,
}

impl HistoryLimits {
    /// The same limit for all kinds.
    pub(crate) fn new(default: usize) -> Self {
        Self {
            default,
            bytes: KIND_BYTES,
            by_resource: HashMap::new(),
        }
    }

    /// Sets the limit of one kind.
    pub(crate) fn set(&mut self, resource: &GroupResource, limit: usize) {
        self.by_resource.insert(resource.clone(), limit);
    }

    /// Sets the limit of the bytes of each kind. Default: 64 MiB.
    pub(crate) fn set_bytes(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// The limit of the bytes of a kind.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The limit of the bytes of all kinds together: four times that of a kind.
    pub(crate) fn total_bytes(&self) -> usize {
        self.bytes.saturating_mul(4)
    }

    /// The limit of a kind.
    pub(crate) fn of(&self, resource: &GroupResource) -> usize {
        self.by_resource.get(resource).copied().unwrap_or(self.default)
    }
}
