//! Log collectors: they send the container logs of each node to the search backend.
//!
//! - There is one pod per node, named after the node, in the system namespace. A deleted pod is created again.
//! - A line is sent with a unique id until the backend has accepted it: it is neither lost nor stored twice while
//!   search pods restart.
//! - Positions outlive the collector's pod: a new pod continues where the old one stopped.
//! - Logs are read every second of the cluster's clock into a bounded buffer. While the buffer is full, lines remain
//!   in the containers' logs,
//!   which are bounded as well: lines dropped before they are read are lost, and the collector logs their number.
//!
//! Source: the documented log record, and the collector of Kubernetes v1.2 (`cluster/addons/fluentd-elasticsearch`).

mod buffer;
mod collector;
mod collector_pods;
mod record;
mod sender;
mod tail;

use std::sync::Arc;

pub(crate) use collector::Setup;

use crate::{
    api::{Object, Status},
    cluster::Runtime,
};

/// Name of the search backend's service.
const SEARCH_SERVICE: &str = "elasticsearch-logging";

/// Adds a collector on each node: its pod, created from `pod`, and its log reader.
///
/// # Errors
/// The error of a cache that cannot be filled.
pub(crate) async fn add(runtime: &Arc<Runtime>, pod: Object, setup: Setup) -> Result<(), Status> {
    collector_pods::add(runtime, &pod, &setup.nodes).await?;
    collector::add(runtime, &pod, setup).await
}
