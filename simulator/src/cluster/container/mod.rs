//! Containers: what they run, what they write, what they serve, and their streams.
//!
//! - A container runs image data (`fixtures/images`), a shell script, or a [`Behaviour`] registered by a Rust
//!   program. Nothing runs on the host.
//! - Containers sleep on the cluster's clock. Their processes end with them.
//! - Logs are bounded in bytes. A slow peer blocks its container: at most [`STREAM_CAPACITY`] pieces of a stream are
//!   queued.
//! - [`Containers`] gives a server access to the containers of pods. A pod that no simulated kubelet runs has a fake
//!   container that echoes.
//!
//! Limits: SIGTERM ends a process without a handler at once; on Linux the first process of a container would ignore
//! it. A program that is not
//! simulated runs until it is stopped, and passes every probe.
//! Source: docker 1.9 as Kubernetes v1.2 uses it.

mod behaviour;
mod engine;
mod executor;
mod fake_container;
mod image;
mod log_buffer;
mod name_programs;
mod net_programs;
mod network;
pub(crate) mod process;
mod program;
mod route;
mod running;
mod terminal;

pub use behaviour::{Behaviour, ContainerContext};
pub(crate) use engine::{ContainerSpec, Engine};
pub use image::ImageError;
pub(crate) use image::Images;
pub(crate) use network::{Host, Resolve};
#[cfg(test)]
pub(crate) use process::LogPage;
pub(crate) use process::{Attachment, Container, Containers, Exit, Line, LogPages, Output, Process, Size};
pub(crate) use running::{Ended, RunningContainer};

/// Maximum number of queued pieces of a stream.
pub(crate) const STREAM_CAPACITY: usize = 16;
