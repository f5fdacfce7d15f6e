//! An interpreter of a POSIX shell subset, for simulated containers.
//!
//! ```
//! use std::sync::Arc;
//! use stuntdouble_shell::{Machine, Process, RealTime, run};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let machine = Arc::new(Machine::new("web-1", Arc::new(RealTime)));
//! let (process, mut output) = Process::captured(["sh", "-c", "for i in $(seq 3); do echo line $i; done"]);
//! assert_eq!(run(machine, process).await, Ok(0));
//! assert_eq!(output.stdout().await, "line 1\nline 2\nline 3\n");
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Guarantees:
//! - A script accesses only its [`Machine`] and the streams of its [`Process`], never the host.
//! - Script length, nesting, size of variables and files, and commands per second are bounded ([`LIMITS`]). An
//!   endless script uses little CPU and ends when its future is dropped.
//! - Scripts sleep on the machine's clock.
//!
//! Limits: the commands listed in the README; any other is `not found` and exits with 127. No arrays, no job control.
//! Source of the semantics: POSIX.1-2008, Shell and Utilities; messages are those of BusyBox 1.22, the usual image of
//! Kubernetes v1.2 examples.
//! Kubernetes v1.2 examples.

mod arithmetic;
mod awk;
mod awk_syntax;
mod builtins;
mod date;
mod execute;
mod expand;
mod file_programs;
mod files;
mod filters;
mod hosts;
mod limits;
mod machine;
mod parse;
mod pattern;
mod printf;
mod process;
mod program;
mod programs;
mod redirect;
mod run;
mod sed;
mod sh;
mod shell;
mod streams;
mod test_command;
mod text_programs;

pub use files::{FileError, Files, absolute};
pub use hosts::hosts_with;
pub use limits::{LIMITS, Limits};
pub use machine::{Machine, RealTime, Time};
pub use process::{Captured, Environment, Process, Signal, complete};
pub use program::{Call, Program, Programs};
pub use run::{NotFound, is_known, run};
pub use streams::{Input, Output, WriteError};
