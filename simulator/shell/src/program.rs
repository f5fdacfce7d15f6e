//! Programs that a machine has besides those of this crate.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::machine::Machine;
use crate::process::Environment;
use crate::streams::{Input, Output};

/// Finds the programs of a machine.
pub trait Programs: Send + Sync {
    /// The program of this name or path; `None` if there is none.
    fn find(&self, name: &str) -> Option<Arc<dyn Program>>;
}

/// A program. Dropping its future kills it.
pub trait Program: Send + Sync {
    /// Runs it to its end; its exit status.
    fn run(&self, call: Call) -> BoxFuture<'static, i32>;
}

/// What a program is called with.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name as called, and its arguments.
    pub command: Vec<String>,
    /// The environment.
    pub environment: Environment,
    /// The working directory.
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
