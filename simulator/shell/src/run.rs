//! Running a process: the shell or one program, its background jobs and signals.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;

use crate::execute::run_script;
use crate::files::absolute;
use crate::machine::Machine;
use crate::process::Process;
use crate::programs;
use crate::shell::{Options, Session, Shell, Variable};

/// The program is not one of those that are simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// The program.
    pub program: String,
}

impl std::fmt::Display for NotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exec: {:?}: executable file not found in $PATH", self.program)
    }
}

impl std::error::Error for NotFound {}

/// Whether this crate has a program of that name or path.
pub fn is_known(program: &str) -> bool {
    programs::is_known(programs::base_name(program))
}

/// Runs a process to its end. Background jobs end with it. Dropping the future kills it.
///
/// # Errors
/// [`NotFound`] if the program is not simulated. A script that calls such a program gets status 127 instead.
pub async fn run(machine: Arc<Machine>, process: Process) -> Result<i32, NotFound> {
    let (job_sender, mut new_jobs) = mpsc::unbounded_channel();
    let session = Arc::new(Session::new(machine, job_sender, run_script));
    let program = process.command.first().cloned().unwrap_or_default();
    let path = absolute(&process.directory, &program);
    let is_file = program.contains('/') && session.machine.files.size(&path).is_some();
    if program.is_empty() || !(programs::exists(&session.machine, &program) || is_file) {
        return Err(NotFound { program });
    }
    let mut signals = process.signals;
    let mut shell = Shell {
        session: session.clone(),
        variables: process
            .environment
            .into_iter()
            .map(|(name, value)| (name, Variable { value, exported: true }))
            .collect(),
        functions: Default::default(),
        name: "sh".to_owned(),
        arguments: Vec::new(),
        options: Options::default(),
        directory: process.directory,
        stdin: process.stdin,
        stdout: process.stdout,
        stderr: process.stderr,
        status: 0,
        jobs: Vec::new(),
        traps: Default::default(),
        locals: Vec::new(),
        loops: 0,
        substituted: None,
        is_subshell: false,
        terminal: process.terminal,
        depth: 0,
        tested: false,
    };
    for (name, value) in [
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        ("HOME", "/root"),
    ] {
        let variable = Variable {
            value: value.to_owned(),
            exported: true,
        };
        shell.variables.entry(name.to_owned()).or_insert(variable);
    }
    let hostname = Variable {
        value: session.machine.hostname.clone(),
        exported: true,
    };
    shell.variables.entry("HOSTNAME".to_owned()).or_insert(hostname);
    let mut main: BoxFuture<'_, i32> = Box::pin(async { programs::run(&mut shell, &process.command).await });
    let mut jobs: FuturesUnordered<BoxFuture<'static, ()>> = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            status = &mut main => return Ok(status),
            Some(job) = new_jobs.recv() => jobs.push(job),
            Some(signal) = signals.recv() => if let Some(status) = session.receive(signal) {
                return Ok(status);
            },
            Some(()) = jobs.next() => {}
        }
    }
}
