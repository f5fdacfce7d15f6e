//! State that all requests of a server share.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::cluster::Cluster;
use crate::ids::IdSource;
use crate::scroll::Scrolls;

/// Unit of the semaphore for request bodies, in bytes.
pub(crate) const UPLOAD_UNIT: usize = 64 << 10;

/// State that the request handlers share.
pub(crate) struct Shared {
    pub(crate) cluster: Cluster,
    pub(crate) ids: IdSource,
    pub(crate) scrolls: Scrolls,
    /// Free memory for request bodies, in units of [`UPLOAD_UNIT`].
    pub(crate) uploads: Arc<Semaphore>,
}
