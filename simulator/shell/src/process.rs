//! A process: its command, environment and streams.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::streams::{Input, Output};

/// Variables and their values, shared by the processes that have them. Of two of a name the later one counts.
pub type Environment = Arc<[(String, String)]>;

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
    pub environment: Environment,
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

/// `environment` with the variables that every process has: the same one if it has them.
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
    fn an_environment_that_is_complete_is_shared() {
        let own: Environment = Arc::new([("HOME".to_owned(), "/home".to_owned())]);
        let whole = complete(own, "web-1");
        let value = |name: &str| {
            whole
                .iter()
                .find(|(set, _)| set == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!((value("HOME"), value("HOSTNAME")), (Some("/home"), Some("web-1")));
        assert_eq!(whole.len(), 3);
        assert!(Arc::ptr_eq(&complete(whole.clone(), "web-1"), &whole));
    }
}
