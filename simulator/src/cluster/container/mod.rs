//! Containers as their streams see them: logs, attach, exec, standard input, terminals.
//!
//! - [`Containers`] is what a server needs to reach the containers of pods; `FakeContainers` is the one inside this process.
//! - A slow peer makes its container wait; at most `QUEUE` pieces of a stream are under way.

mod fake_container;
mod process;
mod program;

pub(crate) use fake_container::FakeContainers;
pub use process::{Attachment, Container, Containers, Exit, Line, Output, Process, Size};
pub(crate) use program::Program;

/// How many pieces of a stream are under way at most.
pub(crate) const QUEUE: usize = 16;
