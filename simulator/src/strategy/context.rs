//! What strategies share.

use std::sync::Arc;

use super::{allocation::Allocator, component::Component};
use crate::rng::Rng;

/// Shared state and settings of a cluster.
pub(crate) struct Context {
    /// Random numbers.
    pub(crate) rng: Arc<Rng>,
    /// Addresses and node ports of services.
    pub(crate) allocator: Allocator,
    /// Components of the control plane.
    pub(crate) components: Vec<Component>,
}

impl Context {
    /// The context of a copy of the cluster made at `revision`.
    pub(crate) fn fork(&self, revision: u64) -> Self {
        let rng = Arc::new(self.rng.fork(revision));
        Self {
            allocator: self.allocator.fork(rng.clone()),
            rng,
            components: self.components.clone(),
        }
    }
}
