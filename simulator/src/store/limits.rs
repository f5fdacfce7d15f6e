//! Limits of the history.

use std::collections::HashMap;

use crate::api::GroupResource;

/// Default limit of the changes kept per kind, in bytes.
const DEFAULT_KIND_BYTES: usize = 64 << 20;

/// Limits of the changes kept per kind.
#[derive(Clone, Debug)]
pub(crate) struct HistoryLimits {
    default: usize,
    bytes: usize,
    by_resource: HashMap<GroupResource, usize>,
}

impl HistoryLimits {
    /// Returns limits with `default` changes for every kind.
    pub(crate) fn new(default: usize) -> Self {
        Self {
            default,
            bytes: DEFAULT_KIND_BYTES,
            by_resource: HashMap::new(),
        }
    }

    /// Sets the number of changes for one kind.
    pub(crate) fn set(&mut self, resource: &GroupResource, limit: usize) {
        self.by_resource.insert(resource.clone(), limit);
    }

    /// Sets the limit of each kind in bytes. Default: 64 MiB.
    pub(crate) fn set_bytes(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// Limit of each kind in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Limit of all kinds together in bytes: four times that of a kind.
    pub(crate) fn total_bytes(&self) -> usize {
        self.bytes.saturating_mul(4)
    }

    /// Number of changes kept for a kind.
    pub(crate) fn of(&self, resource: &GroupResource) -> usize {
        self.by_resource.get(resource).copied().unwrap_or(self.default)
    }
}
