//! A server in a separate process: this program with other arguments.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use crate::Outcome;

/// Returns the arguments of a benchmark, without the one that Cargo adds.
pub(crate) fn arguments() -> Vec<String> {
    let all = std::env::args().skip(1);
    all.filter(|argument| argument != "--bench").collect()
}

/// A server process. Dropping it kills it.
pub(crate) struct OwnProcess {
    pub(crate) process: Child,
    /// The first line of its output.
    pub(crate) address: String,
}

impl OwnProcess {
    /// Starts the program with these arguments and waits for its address.
    pub(crate) fn start(arguments: &[&str]) -> Outcome<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut address = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut address)?;
        Ok(Self {
            process,
            address: address.trim().to_owned(),
        })
    }
}

impl Drop for OwnProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
