//! What lives in a cluster that is more than an API server: nodes, containers, the scheduler, controllers, add-ons.
//!
//! Promises: everything that acts is a client of the API, sees what it has committed, and can be watched and replaced like any other client.
//! Limits: nothing runs on the host; there is no network between pods.
//! Source: Kubernetes v1.2, and the design's table of add-ons.

mod addons;
pub mod container;
mod controller;
mod kubelet;
mod nodes;
mod runtime;
mod scheduler;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use addons::{Addon, LOG_SEARCH, SYSTEM_NAMESPACE, install};
pub use controller::Controllers;
pub use nodes::{Node, named};

use crate::{
    api::{Object, Status},
    client::Client,
    registry::{Registry, RequestInfo},
};
use runtime::Runtime;

/// Registers nodes.
pub(crate) async fn join(client: &Client, nodes: &[Node]) -> Result<(), Status> {
    kubelet::register(&Runtime::new(client.clone()), nodes).await
}

/// Starts what acts in a cluster: kubelets and controllers. It acts until `closing` is cancelled.
pub(crate) async fn start(
    client: &Client,
    nodes: &[Node],
    controllers: &Controllers,
    closing: CancellationToken,
) -> Result<(), Status> {
    let runtime = Runtime::new(client.clone());
    kubelet::add(&runtime, nodes).await?;
    controller::add(&runtime, controllers).await?;
    runtime.start(closing);
    Ok(())
}

/// A place in the core group.
fn core(registry: &Registry, plural: &str, namespace: Option<&str>, name: Option<&str>) -> Result<RequestInfo, Status> {
    let resource = registry
        .scheme()
        .resource("", "v1", plural)
        .cloned()
        .ok_or_else(Status::no_such_path)?;
    Ok(RequestInfo {
        resource,
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        subresource: None,
    })
}

/// The fields of an object written out as JSON.
fn fields(value: Value) -> Object {
    match value {
        Value::Object(fields) => fields,
        _ => Object::new(),
    }
}
