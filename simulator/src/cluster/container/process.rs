//! A container as its streams see it.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{broadcast, mpsc, oneshot};

/// A size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// It could not be run, or was lost: why.
    Failed(String),
}

/// Where a line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A line that a container has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// When.
    pub at: Timestamp,
    /// Where.
    pub output: Output,
    /// What, with its line's end.
    pub text: Bytes,
}

/// A part of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogPage {
    /// Position of the first line, counted from 0 at the start of the container. It is greater than what was asked for if lines before it are no
    /// longer kept.
    pub first: u64,
    /// The lines.
    pub lines: Vec<Line>,
}

/// Which streams are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// Whether the process is to be sent input.
    pub stdin: bool,
    /// Whether its output is wanted.
    pub stdout: bool,
    /// Whether its errors are wanted.
    pub stderr: bool,
    /// Whether it has a terminal.
    pub tty: bool,
}

/// A process that is attached to. Dropping it detaches.
#[derive(Debug)]
pub(crate) struct Process {
    /// What it reads; closed when this is dropped.
    pub stdin: mpsc::Sender<Bytes>,
    /// What it writes.
    pub stdout: mpsc::Receiver<Bytes>,
    /// What it writes as errors.
    pub stderr: mpsc::Receiver<Bytes>,
    /// The sizes of its terminal.
    pub resize: mpsc::Sender<Size>,
    /// How it ends.
    pub exit: oneshot::Receiver<Exit>,
}

/// A container.
pub(crate) trait Container: Send + Sync {
    /// Attaches to the container's process; an error says why not.
    fn attach(&self, attachment: Attachment) -> Result<Process, String>;

    /// Runs a command beside it; an error says why not.
    fn exec(&self, command: &[String], attachment: Attachment) -> Result<Process, String>;

    /// What it has written, oldest first, and what it will write.
    fn log(&self) -> (Vec<Line>, broadcast::Receiver<Line>);
}

/// The log of a container, through all its runs.
pub(crate) trait LogPages: Send + Sync {
    /// The lines from `position` on that it has written, at most `most`.
    fn page(&self, position: u64, most: usize) -> LogPage;
}

/// What runs in pods.
pub(crate) trait Containers: Send + Sync {
    /// The container `name` of a pod, given as its fields; `None` where it does not run.
    fn running(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn Container>>;

    /// What a container has written, and what it will write; of the run before this one if `previous`. An error says why there is no log.
    fn log(
        &self,
        pod: &Map<String, Value>,
        name: &str,
        previous: bool,
    ) -> Result<(Vec<Line>, broadcast::Receiver<Line>), String>;

    /// The log of a container through all its runs; `None` if it has not run.
    fn pages(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn LogPages>>;
}
