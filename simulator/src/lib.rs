//! A stand-in for a cluster's HTTP API (Kubernetes v1.2 era) and its logging add-ons.
//!
//! The layers, each importing only what stands to its left:
//! `api < scheme < patch < store < watch < registry < cluster < logs < http`. `search` and `viewer` are servers of their own.

pub mod api;
pub mod clock;
pub mod cluster;
pub mod http;
pub mod patch;
pub mod profile;
pub mod registry;
pub mod scheme;
pub mod search;
mod simulator;
pub mod store;
pub mod watch;

pub use simulator::{Builder, Simulator, StartError};
