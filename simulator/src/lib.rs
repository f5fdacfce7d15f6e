//! A simulator of a cluster's HTTP API (Kubernetes v1.2 era) and its logging add-ons.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use stuntdouble_simulator::{Profile, Simulator};
//!
//! let cluster = Simulator::builder().profile(Profile::Documented).seed(7).start().await?;
//! println!("a cluster at {}", cluster.url());
//! # Ok(())
//! # }
//! ```
//!
//! The layers; each imports only those to its left:
//! `api < compat < scheme < patch < strategy < store < watch < registry < client < cluster < logs < addons < http`.
//! The log search backend is the crate `stuntdouble-search`, re-exported as [`search`].

mod addons;
mod api;
mod client;
mod clock;
mod cluster;
mod compat;
mod http;
mod logs;
mod patch;
mod profile;
mod registry;
mod rng;
mod scheme;
mod simulator;
mod store;
mod strategy;
mod watch;

pub use addons::{Addons, SearchUpstream};
pub use api::{Reason, Status};
pub use client::{
    Api, Change, Client, EventRecorder, EventType, Informer, ObjectKey, ObjectList, Watch, WatchEvent, WorkQueue,
    reference,
};
pub use clock::Clock;
pub use cluster::{
    Controllers,
    container::{Behaviour, ContainerContext, ImageError},
    network::{Backend, Backends, Body as ProxiedBody},
};
#[cfg(any(test, fuzzing))]
pub use http::fuzzing;
pub use http::{
    ClientCertificate, Credentials, CredentialsError, DialOverride, Identity, Limits, Secret, Tls, TlsError, User,
    kubeconfig,
};
pub use profile::Profile;
pub use registry::{Cidr, ListOptions, Snapshot, SnapshotError};
pub use scheme::{Conversion, Kinds, LoadError};
pub use simulator::{Builder, Simulator, StartError};
pub use store::{DataDirectory, DataDirectoryError, DataDirectorySummary, Durability, Etcd, EtcdError};
pub use stuntdouble_search as search;
pub use stuntdouble_server::{Origin, Origins};
pub use stuntdouble_shell::FileError;

/// Compiles the Rust code of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
