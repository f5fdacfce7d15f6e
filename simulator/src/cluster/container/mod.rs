//! Containers: what they run, what they write, what they serve, and their streams.
//!
//! - What a container does is data (`fixtures/images`), a shell script, or a [`Behaviour`] that a Rust program registers. Nothing runs on the host.
//! - Time is the cluster's: a container that sleeps waits for that clock. Processes end with their container.
//! - A log is bounded in bytes; a slow peer makes its container wait; at most `QUEUE` pieces of a stream are under way.
//! - [`Containers`] is what a server needs to reach the containers of pods. A pod that no kubelet here runs has a fake container that echoes.
//!
//! Limits: SIGTERM ends a process without a handler at once, where Linux has the first process of a container ignore it. A program that is not
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

/// How many pieces of a stream are under way at most.
pub(crate) const QUEUE: usize = 16;
