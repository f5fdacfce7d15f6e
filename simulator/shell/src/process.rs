//! A process: its command, environment and streams.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::streams::{Input, Output};

/// Environment variables, shared by processes. The last of several variables with the same name counts.
pub type Environment = Arc<[(String, String)]>;

/// Maximum number of unread pieces of output.
const CAPTURE_CAPACITY: usize = 16;

/// A signal to a process. It ends a script without a trap for it. An interrupt only ends the current command of an
/// interactive shell.
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
    /// Returns the exit status of a process ended by it: 128 plus its number.
    pub(crate) fn status(self) -> i32 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }

    /// Returns its name in `trap`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hangup => "HUP",
            Self::Interrupt => "INT",
            Self::Terminate => "TERM",
        }
    }
}

/// A command to run, and its streams.
#[derive(Debug)]
pub struct Process {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Environment variables.
    pub environment: Environment,
    /// Working directory.
    pub directory: String,
    /// Standard input.
    pub stdin: Input,
    /// Standard output. A slow reader blocks the script.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// Whether it has a terminal. A shell with a terminal and without a script prints prompts.
    pub terminal: bool,
    /// Signals.
    pub signals: mpsc::Receiver<Signal>,
}

/// The captured output of a process.
#[derive(Debug)]
pub struct Captured {
    stdout: mpsc::Receiver<Bytes>,
    stderr: mpsc::Receiver<Bytes>,
}

impl Process {
    /// Creates a process with empty input and no signals, and its output. The output is queued, so that a short
    /// command can end before its output is read.
    pub fn captured<S: Into<String>>(command: impl IntoIterator<Item = S>) -> (Self, Captured) {
        let (stdout, out) = mpsc::channel(CAPTURE_CAPACITY * 1024);
        let (stderr, err) = mpsc::channel(CAPTURE_CAPACITY * 1024);
        let process = Self {
            command: command.into_iter().map(Into::into).collect(),
            environment: Environment::default(),
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
    /// Returns all of standard output. Waits for the end of the process.
    pub async fn stdout(&mut self) -> String {
        text(&mut self.stdout).await
    }

    /// Returns all of standard error. Waits for the end of the process.
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

/// Adds the variables that every process has. Returns the same allocation if none is missing.
pub fn complete(environment: Environment, hostname: &str) -> Environment {
    let defaults = [
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        ("HOME", "/root"),
        ("HOSTNAME", hostname),
    ];
    let is_set = |name: &str| environment.iter().any(|(set, _)| set == name);
    if defaults.iter().all(|(name, _)| is_set(name)) {
        return environment;
    }
    let missing = defaults.iter().filter(|(name, _)| !is_set(name));
    let missing = missing.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    missing.chain(environment.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_environment_is_not_copied() {
        let own: Environment = Arc::new([("HOME".to_owned(), "/home".to_owned())]);
        let completed = complete(own, "web-1");
        let value = |name: &str| {
            completed
                .iter()
                .find(|(set, _)| set == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!((value("HOME"), value("HOSTNAME")), (Some("/home"), Some("web-1")));
        assert_eq!(completed.len(), 3);
        assert!(Arc::ptr_eq(&complete(completed.clone(), "web-1"), &completed));
    }
}
