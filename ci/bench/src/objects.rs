//! Objects for the measurements.

use std::sync::Arc;

use crate::client::{Client, Outcome, Requests, request, throughput};

pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Options of an immediate deletion.
pub(crate) const AT_ONCE: &str = r#"{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}"#;

/// Number of connections used to fill a server.
const CONNECTIONS: usize = 16;
/// Number of nodes of the pods.
pub(crate) const NODES: usize = 100;

/// Returns a pod on one of a hundred nodes.
pub(crate) fn pod(prefix: &str, n: usize) -> String {
    let node = n % NODES;
    let tier = if n.is_multiple_of(2) { "front" } else { "back" };
    let container = concat!(
        r#"{"name":"main","image":"nginx:1.9","ports":[{"containerPort":80}],"#,
        r#""resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}"#
    );
    format!(
        "{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"{prefix}-{n:06}\",\
         \"labels\":{{\"app\":\"web\",\"tier\":\"{tier}\"}}}},\
         \"spec\":{{\"nodeName\":\"node-{node:03}\",\"containers\":[{container}]}}}}"
    )
}

pub(crate) fn config_map(name: &str, count: usize) -> String {
    format!(
        "{{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"{name}\"}},\
         \"data\":{{\"count\":\"{count}\",\"colour\":\"blue\"}}}}"
    )
}

/// Returns requests that create pods.
pub(crate) fn creates(prefix: &str, range: std::ops::Range<usize>) -> Requests {
    Arc::new(range.map(|n| request("POST", PODS, &pod(prefix, n))).collect())
}

/// Creates pods. Returns pods per second.
pub(crate) async fn fill(address: &str, count: usize) -> Outcome<f64> {
    throughput(address, CONNECTIONS, &creates("pod", 0..count)).await
}

/// Counts the items of a list.
pub(crate) async fn count(client: &mut Client, path: &str) -> Outcome<usize> {
    let list: serde_json::Value = serde_json::from_slice(&client.ask("GET", path, "").await?)?;
    Ok(list["items"].as_array().map_or(0, Vec::len))
}
