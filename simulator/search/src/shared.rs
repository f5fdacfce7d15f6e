//! What all requests of a server share.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::cluster::Cluster;
use crate::ids::IdSource;
use crate::scroll::Scrolls;

/// Unit in which the memory of uploads is counted, in bytes.
pub(crate) const UPLOAD_UNIT: usize = 64 << 10;

/// What the handlers share.
pub(crate) struct Shared {
    pub(crate) cluster: Cluster,
    pub(crate) ids: IdSource,
    pub(crate) scrolls: Scrolls,
    /// Memory for the bodies of requests, in units of [`UPLOAD_UNIT`].
    pub(crate) uploads: Arc<Semaphore>,
}
