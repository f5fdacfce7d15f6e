//! What acts in a cluster, on a clock that stands still until it is stepped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test cannot do without fails it"
)]

#[path = "../client/mod.rs"]
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
