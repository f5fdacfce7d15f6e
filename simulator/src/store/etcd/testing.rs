//! Etcd cluster of the unit tests: one for all tests, with a prefix for each store.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};

use stuntdouble_etcd::Cluster;

/// Returns a cluster of one member. `None` if etcd is not installed.
pub(crate) fn etcd_cluster() -> Option<&'static Cluster> {
    static CLUSTER: OnceLock<Option<Cluster>> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(1)).as_ref()
}

/// Returns an unused prefix.
pub(crate) fn new_prefix() -> String {
    static STORES: AtomicU64 = AtomicU64::new(0);
    format!("/test-{}", STORES.fetch_add(1, Ordering::Relaxed))
}
