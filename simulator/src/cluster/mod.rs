//! The parts of a cluster besides the API server: nodes, containers, the scheduler, controllers.
//!
//! - Every component is a client of the API: it sees what is committed, and can be observed and replaced like any
//!   other client.
//! - Limits: nothing runs on the host; the only network between pods is HTTP between simulated containers.
//! - Source: Kubernetes v1.2, and the add-ons of its `cluster/addons`.

pub(crate) mod container;
mod controller;
mod kubelet;
mod names;
pub(crate) mod network;
mod nodes;
mod runtime;
mod scheduler;

use std::sync::Arc;

pub use controller::Controllers;
pub(crate) use controller::cpu_usage;
pub(crate) use names::{NAME_SERVER, Names, Resolution, ServicePort};
pub(crate) use nodes::{Node, named, stored};
pub(crate) use runtime::{Reconcile, Runtime};

use crate::{api::Status, client::Client};
use container::Engine;

/// The namespace of the cluster's own pods and services.
pub(crate) const SYSTEM_NAMESPACE: &str = "kube-system";

/// Registers nodes.
pub(crate) async fn join(client: &Client, nodes: &[Node]) -> Result<(), Status> {
    kubelet::register(&Runtime::new(client.clone()), nodes).await
}

/// Adds the kubelets and controllers of a cluster. Token secrets have the API server's CA certificate `authority`
/// (PEM).
pub(crate) async fn assemble(
    client: &Client,
    nodes: &[Node],
    controllers: &Controllers,
    engine: &Arc<Engine>,
    authority: Option<&str>,
) -> Result<Arc<Runtime>, Status> {
    let runtime = Runtime::new(client.clone());
    kubelet::add(&runtime, nodes, engine).await?;
    controller::add(&runtime, controllers, authority).await?;
    Ok(runtime)
}
