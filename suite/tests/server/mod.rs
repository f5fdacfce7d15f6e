//! A server of the program, started by a test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A process that serves. Dropping it ends it.
pub(crate) struct Server {
    pub(crate) process: Child,
    /// The URLs of the ready line, the insecure listener's first.
    pub(crate) urls: Vec<String>,
}

impl Server {
    /// Starts a command, and waits for its ready line.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut ready)
            .unwrap();
        let urls = ready
            .trim()
            .strip_prefix("ready: ")
            .unwrap_or_else(|| panic!("no ready line, but {ready:?}"))
            .split(' ')
            .map(str::to_owned)
            .collect();
        Self { process, urls }
    }

    /// Host and port of the first URL.
    pub(crate) fn address(&self) -> &str {
        self.urls[0].strip_prefix("http://").unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
