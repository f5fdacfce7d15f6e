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
