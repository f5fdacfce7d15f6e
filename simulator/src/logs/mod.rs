//! Log collectors: they gather what the containers of a node write, and send it to the search backend.
//!
//! - There is one pod per node, named after the node, in the system namespace. A deleted one comes back.
//! - A line is sent until the backend has taken it, with an id of its own: it is neither lost nor stored twice while search pods come and go.
//! - Positions survive the collector's pod: its successor goes on where it stopped.
//! - Logs are read every second of the cluster's clock. Lines wait in a bounded buffer. When that is full, they stay in the containers' logs,
//!   which are bounded, too: what goes there before it was read is lost, and the collector logs how many lines.
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

/// The service of the search backend.
const SEARCH_SERVICE: &str = "elasticsearch-logging";

/// Adds a collector for each node: its pod, made of `pod`, and what runs in it.
///
/// # Errors
/// A cache that cannot be filled.
pub(crate) async fn add(runtime: &Arc<Runtime>, pod: Object, setup: Setup) -> Result<(), Status> {
    collector_pods::add(runtime, &pod, &setup.nodes).await?;
    collector::add(runtime, &pod, setup).await
}
