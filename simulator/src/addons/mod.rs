//! Add-ons: services of the system namespace, their controllers and pods, and the servers in those pods.
//!
//! - Their objects are manifests of `fixtures/addons`, created through the API and run by the cluster's controllers
//!   and kubelets.
//! - Deleted objects are created again, as by the add-on manager of v1.2.
//! - A server responds only while a pod of its image runs in the system namespace, at that pod's address.
//!
//! Source: the table of add-ons in the API documentation, and `cluster/addons` of Kubernetes v1.2 for names, labels
//! and ports.

mod choice;
mod dns;
mod manager;
mod manifest;
mod metrics;
mod page;
mod pods;
mod servers;
mod upstream;

use std::sync::Arc;

pub use choice::Addons;
pub(crate) use dns::DnsListener;
pub(crate) use servers::{Search, Servers, Settings};
pub(crate) use stuntdouble_search::Retention;
pub use upstream::SearchUpstream;

use crate::{
    api::Status,
    cluster::{Runtime, network::Backends},
    logs,
    registry::Cidr,
};

/// Name of the log collector.
const COLLECTOR: &str = "fluentd-elasticsearch";
/// Name of the DNS service.
const DNS: &str = "kube-dns";
/// Name of the metrics collector.
const METRICS: &str = "heapster";

/// Creates the add-ons, and adds their servers at the addresses of their pods.
///
/// # Errors
/// The error of a malformed manifest, or of a cache that cannot be filled.
pub(crate) async fn add(
    runtime: &Arc<Runtime>,
    addons: &Addons,
    backends: &Backends,
    servers: Servers,
    collectors: logs::Setup,
    services: Cidr,
) -> Result<(), Status> {
    if addons.is_empty() {
        return Ok(());
    }
    if addons.contains(METRICS) {
        metrics::sample(runtime, servers.samples()).await?;
    }
    pods::serve(runtime, backends.clone(), servers).await?;
    manager::add(runtime, manifest::objects(addons, services)?).await?;
    if addons.contains(COLLECTOR) {
        logs::add(runtime, manifest::collector()?, collectors).await?;
    }
    Ok(())
}
