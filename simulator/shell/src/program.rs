//! Programs that a machine provides in addition to those of this crate.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::machine::Machine;
use crate::process::Environment;
use crate::streams::{Input, Output};

/// The programs of a machine.
pub trait Programs: Send + Sync {
    /// Returns the program of this name or path, or `None` if there is none.
    fn find(&self, name: &str) -> Option<Arc<dyn Program>>;
}

/// A program. Dropping its future kills it.
pub trait Program: Send + Sync {
    /// Runs the program and returns its exit status.
    fn run(&self, call: Call) -> BoxFuture<'static, i32>;
}

/// A call of a program.
#[derive(Clone, Debug)]
pub struct Call {
    /// Name as called, and arguments.
    pub command: Vec<String>,
    /// Environment variables.
    pub environment: Environment,
    /// Working directory.
    pub directory: String,
    /// Standard input.
    pub stdin: Input,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// The machine that it runs on.
    pub machine: Arc<Machine>,
}
