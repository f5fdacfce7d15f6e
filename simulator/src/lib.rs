//! A stand-in for a cluster's HTTP API (Kubernetes v1.2 era) and its logging add-ons.
//!
//! The layers, each importing only what stands to its left:
//! `api < compat < scheme < patch < strategy < store < watch < registry < cluster < logs < http`. The log search
//! backend is the crate `stuntdouble-search`, re-exported as [`search`].

pub mod api;
pub mod client;
pub mod clock;
pub mod cluster;
mod compat;
pub mod http;
pub mod patch;
pub mod profile;
pub mod registry;
pub mod rng;
pub mod scheme;
mod simulator;
pub mod store;
mod strategy;
pub mod watch;

pub use simulator::{Builder, Simulator, StartError};
pub use stuntdouble_search as search;

/// The Rust code of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
