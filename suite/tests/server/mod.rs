//! A server process started by a test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A server process. Dropping it kills it.
pub(crate) struct Server {
    pub(crate) process: Child,
    /// The URLs of the ready line; the first is that of the insecure listener.
    pub(crate) urls: Vec<String>,
}

impl Server {
    /// Starts a command and waits for its ready line.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut ready)
            .unwrap();
        let urls = ready
            .trim()
            .strip_prefix("ready: ")
            .unwrap_or_else(|| panic!("expected a ready line, got {ready:?}"))
            .split(' ')
            .map(str::to_owned)
            .collect();
        Self { process, urls }
    }

    /// Returns host and port of the first URL.
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
