//! Metrics: the collector, the time-series database and the dashboard's data.
//!
//! - A pod's usage is simulated: it is the value of its annotations `stuntdouble/cpu-usage` (`250m`) and
//!   `stuntdouble/memory-usage` (`64Mi`).
//! - Usage is sampled each minute of the cluster's clock. A pod without an annotation has no samples.
//! - Limits: only CPU and memory of pods, and their sums by namespace, node and cluster.
//!
//! Source: Heapster v1.0 (model API) and InfluxDB 0.9 (`/query`), as the dashboards and the autoscaler of Kubernetes
//! v1.2 use them.

mod heapster;
mod influx;
mod samples;

use std::sync::Arc;

pub(super) use heapster::Heapster;
use hyper::{
    Response, StatusCode,
    header::{self, HeaderValue},
};
pub(super) use influx::Influx;
pub(super) use samples::Samples;
use serde_json::Value;

use crate::{
    api::{Status, meta},
    cluster::{
        Runtime, cpu_usage,
        network::{Body, full_body},
    },
};

/// Samples the running pods until the runtime stops.
///
/// # Errors
/// The error of a cache that cannot be filled.
pub(super) async fn sample(runtime: &Arc<Runtime>, samples: Arc<Samples>) -> Result<(), Status> {
    let (pods, clock) = (runtime.informer("v1", "pods").await?, runtime.clock().clone());
    runtime.spawn(async move {
        loop {
            pods.catch_up().await;
            let now = clock.now();
            for pod in pods.list() {
                if meta::text(&pod, "status.phase") == "Running" {
                    samples.add(&pod, cpu_usage(&pod), now);
                }
            }
            samples.remove_expired(now);
            clock.sleep(samples::SAMPLE_PERIOD).await;
        }
    });
    Ok(())
}

fn json(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(full_body(format!("{value}\n")));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
