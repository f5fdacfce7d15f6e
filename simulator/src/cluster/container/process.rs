//! The interface between containers and the servers that reach them.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{broadcast, mpsc, oneshot};

/// Size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// The end of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It exited with this code.
    Code(i32),
    /// It could not be run, or was lost, for this reason.
    Failed(String),
}

/// The stream of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A line of a container's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Time at which it was written.
    pub at: Timestamp,
    /// Stream that it was written to.
    pub output: Output,
    /// Text, with the end of the line.
    pub text: Bytes,
}

/// A part of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogPage {
    /// Position of the first line, counted from 0 at the start of the container. It is greater than the requested
    /// position if lines
    /// before it have been dropped.
    pub first: u64,
    /// The lines.
    pub lines: Vec<Line>,
}

/// The streams of an attach or exec request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// Whether the client sends input.
    pub stdin: bool,
    /// Whether the client receives standard output.
    pub stdout: bool,
    /// Whether the client receives standard error.
    pub stderr: bool,
    /// Whether the process has a terminal.
    pub tty: bool,
}

/// The streams of an attached process. Dropping it detaches.
#[derive(Debug)]
pub(crate) struct Process {
    /// Standard input; closed when this is dropped.
    pub stdin: mpsc::Sender<Bytes>,
    /// Standard output.
    pub stdout: mpsc::Receiver<Bytes>,
    /// Standard error.
    pub stderr: mpsc::Receiver<Bytes>,
    /// Sizes of the terminal.
    pub resize: mpsc::Sender<Size>,
    /// End of the process.
    pub exit: oneshot::Receiver<Exit>,
}

/// A container.
pub(crate) trait Container: Send + Sync {
    /// Attaches to the container's process. Fails with the reason.
    fn attach(&self, attachment: Attachment) -> Result<Process, String>;

    /// Runs a command in the container. Fails with the reason.
    fn exec(&self, command: &[String], attachment: Attachment) -> Result<Process, String>;

    /// Returns the log so far, oldest line first, and a receiver of the lines to come.
    fn log(&self) -> (Vec<Line>, broadcast::Receiver<Line>);
}

/// The log of a container across its runs.
pub(crate) trait LogPages: Send + Sync {
    /// Returns at most `limit` lines from `position` on.
    fn page(&self, position: u64, limit: usize) -> LogPage;
}

/// The containers of pods.
pub(crate) trait Containers: Send + Sync {
    /// Returns the container `name` of `pod`, or `None` if it is not running.
    fn running(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn Container>>;

    /// Returns the log so far of a container and a receiver of the lines to come; those of the previous run if
    /// `previous`. Fails with the reason why there is no log.
    fn log(
        &self,
        pod: &Map<String, Value>,
        name: &str,
        previous: bool,
    ) -> Result<(Vec<Line>, broadcast::Receiver<Line>), String>;

    /// Returns the log of a container across its runs, or `None` if it has not run.
    fn pages(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn LogPages>>;
}
