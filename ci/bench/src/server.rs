//! Server processes.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::client::Outcome;

/// A server process. Dropping it kills it.
pub(crate) struct Server {
    process: Child,
    /// Address of the listener, `HOST:PORT`.
    pub(crate) address: String,
    /// Time from the start of the process to its ready line.
    pub(crate) ready: Duration,
}

impl Server {
    /// Starts a program and waits for a line with an address.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Outcome<Self> {
        let begun = Instant::now();
        let mut process = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take().ok_or("no output")?;
        for line in BufReader::new(output).lines() {
            if let Some(address) = address(&line?) {
                let ready = begun.elapsed();
                return Ok(Self {
                    process,
                    address,
                    ready,
                });
            }
        }
        process.wait()?;
        Err(format!(
            "{} {} ended before it was ready",
            program.display(),
            arguments.join(" ")
        )
        .into())
    }

    /// Starts this program with other arguments.
    pub(crate) fn own(arguments: &[&str]) -> Outcome<Self> {
        Self::start(&std::env::current_exe()?, arguments)
    }

    fn proc(&self, file: &str) -> Outcome<String> {
        Ok(std::fs::read_to_string(format!("/proc/{}/{file}", self.process.id()))?)
    }

    /// Returns the resident memory in MB.
    pub(crate) fn resident(&self) -> Outcome<f64> {
        let status = self.proc("status")?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1)).ok_or("no VmRSS")?;
        Ok(number.parse::<f64>()? / 1024.0)
    }

    /// Returns the processor time that its threads used so far, in seconds.
    pub(crate) fn processor(&self) -> Outcome<f64> {
        let mut nanoseconds = 0.0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.process.id()))? {
            // A thread may end meanwhile.
            let Ok(times) = std::fs::read_to_string(thread?.path().join("schedstat")) else {
                continue;
            };
            let running = times.split_whitespace().next().ok_or("no times")?;
            nanoseconds += running.parse::<f64>()?;
        }
        Ok(nanoseconds / 1e9)
    }

    /// Stops it with SIGTERM and waits until it has ended.
    pub(crate) fn end(mut self) -> Outcome {
        let id = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if it has ended: not an error.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the first address of a line.
fn address(line: &str) -> Option<String> {
    let at = line.find("127.0.0.1:")?;
    let end = line[at..].find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
    Some(line[at..end.map_or(line.len(), |end| at + end)].to_owned())
}
