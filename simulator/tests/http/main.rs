//! The HTTP layer over the loopback interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed precondition fails the test"
)]

mod answers;
mod hostile;
mod newer_clients;
mod stalled;
mod stopping;
mod swagger;
mod websockets;
mod wire;

use stuntdouble_simulator::{Limits, Profile, Simulator};
use wire::{Answer, Wire};

/// Starts a bare simulator under `profile`.
async fn start(profile: Profile) -> Simulator {
    Simulator::builder().bare(true).profile(profile).start().await.unwrap()
}

/// Starts a bare simulator with these limits.
async fn limited(limits: Limits) -> Simulator {
    Simulator::builder().bare(true).limits(limits).start().await.unwrap()
}

/// Sends one request on a new connection and returns the response.
async fn ask(simulator: &Simulator, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    Wire::open(simulator.address())
        .await
        .ask(method, path, headers, body)
        .await
}

async fn get(simulator: &Simulator, path: &str) -> Answer {
    ask(simulator, "GET", path, "", "").await
}

fn config_map(name: &str) -> String {
    format!(r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}"}},"data":{{"key":"value"}}}}"#)
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
