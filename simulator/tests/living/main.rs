//! The components of a cluster, on a frozen clock.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed precondition fails the test"
)]

#[path = "../integration/client.rs"]
mod client;
mod cluster;
mod deployments;
mod images;
mod namespaces;
mod nodes;
mod pods;
mod resync;
mod time;
mod volumes;
mod workloads;
