//! A process: its command, environment and streams.

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::streams::{Input, Output};

/// How many pieces of output may wait to be read.
const QUEUE: usize = 16;

/// A signal to a process. It ends a script that has no trap for it; an interrupt ends only what an interactive shell runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// SIGHUP.
    Hangup,
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Signal {
    /// The status of a process that it ends: 128 and its number.
    pub(crate) fn status(self) -> i32 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }

    /// The name that `trap` takes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hangup => "HUP",
            Self::Interrupt => "INT",
            Self::Terminate => "TERM",
        }
    }
}

/// A command to run, and the ends of its streams.
#[derive(Debug)]
pub struct Process {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The environment.
    pub environment: Vec<(String, String)>,
    /// The working directory.
    pub directory: String,
    /// Standard input.
    pub stdin: Input,
    /// Standard output. A slow reader holds the script up.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// Whether it has a terminal, so that a shell without a script prompts.
    pub terminal: bool,
    /// Signals.
    pub signals: mpsc::Receiver<Signal>,
}

/// The output of a process that nothing else reads.
#[derive(Debug)]
pub struct Captured {
    stdout: mpsc::Receiver<Bytes>,
    stderr: mpsc::Receiver<Bytes>,
}

impl Process {
    /// A process with empty input and no signals, and its output. The output waits in a long queue, so that a short
    /// command can run to its end before it is read.
    pub fn captured<S: Into<String>>(command: impl IntoIterator<Item = S>) -> (Self, Captured) {
        let (stdout, out) = mpsc::channel(QUEUE * 1024);
        let (stderr, err) = mpsc::channel(QUEUE * 1024);
        let process = Self {
            command: command.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            directory: "/".to_owned(),
            stdin: Input::bytes(""),
            stdout: stdout.into(),
            stderr: stderr.into(),
            terminal: false,
            signals: mpsc::channel(1).1,
        };
        (
            process,
            Captured {
                stdout: out,
                stderr: err,
            },
        )
    }
}

impl Captured {
    /// All of standard output, once the process has ended.
    pub async fn stdout(&mut self) -> String {
        text(&mut self.stdout).await
    }

    /// All of standard error, once the process has ended.
    pub async fn stderr(&mut self) -> String {
        text(&mut self.stderr).await
    }
}

async fn text(pieces: &mut mpsc::Receiver<Bytes>) -> String {
    let mut all = Vec::new();
    while let Some(piece) = pieces.recv().await {
        all.extend_from_slice(&piece);
    }
    String::from_utf8_lossy(&all).into_owned()
}
