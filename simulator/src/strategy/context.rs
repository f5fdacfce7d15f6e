//! State shared by strategies.

use std::sync::Arc;

use super::{allocation::Allocator, component::Component};
use crate::rng::Rng;

/// Shared state and settings of a cluster.
pub(crate) struct Context {
    /// Random number generator.
    pub(crate) rng: Arc<Rng>,
    /// Allocator of cluster IPs and node ports.
    pub(crate) allocator: Allocator,
    /// Components of the control plane.
    pub(crate) components: Vec<Component>,
}

impl Context {
    /// Returns the context of a copy of the cluster made at `revision`.
    pub(crate) fn fork(&self, revision: u64) -> Self {
        let rng = Arc::new(self.rng.fork(revision));
        Self {
            allocator: self.allocator.fork(rng.clone()),
            rng,
            components: self.components.clone(),
        }
    }
}
