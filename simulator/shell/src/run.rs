//! Running a process: a shell or a single program, its background jobs and signals.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;

use crate::execute::run_script;
use crate::files::absolute;
use crate::machine::Machine;
use crate::process::{Environment, Process, complete};
use crate::program::{Call, Program};
use crate::programs;
use crate::shell::{Options, Session, Shell, Variable};

/// The error of a program that is not simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// Name of the program.
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

/// Runs a process to its end and returns its exit status. Its background jobs end with it. Dropping the future kills
/// it.
///
/// # Errors
/// [`NotFound`] if the program is not simulated. Inside a script, such a program has status 127 instead.
pub async fn run(machine: Arc<Machine>, process: Process) -> Result<i32, NotFound> {
    let program = process.command.first().cloned().unwrap_or_default();
    let environment = complete(process.environment.clone(), &machine.hostname);
    if let Some(own) = machine.programs.as_ref().and_then(|all| all.find(&program)) {
        return Ok(run_own(machine, own, process, environment).await);
    }
    // Boxed, so that other programs do not allocate space for it.
    Box::pin(run_here(machine, process, program, environment)).await
}

/// Runs a program provided by the machine, which has no traps.
async fn run_own(machine: Arc<Machine>, own: Arc<dyn Program>, process: Process, environment: Environment) -> i32 {
    let mut signals = process.signals;
    let main = own.run(Call {
        command: process.command,
        environment,
        directory: process.directory,
        stdin: process.stdin,
        stdout: process.stdout,
        stderr: process.stderr,
        machine,
    });
    tokio::select! {
        biased;
        status = main => status,
        Some(signal) = signals.recv() => signal.status(),
    }
}

/// Runs the shell, or one of this crate's programs.
async fn run_here(
    machine: Arc<Machine>,
    process: Process,
    program: String,
    environment: Environment,
) -> Result<i32, NotFound> {
    let (job_sender, mut new_jobs) = mpsc::unbounded_channel();
    let session = Arc::new(Session::new(machine, job_sender, run_script));
    let path = absolute(&process.directory, &program);
    let is_file = program.contains('/') && session.machine.files.size(&path).is_some();
    if program.is_empty() || !(programs::exists(&session.machine, &program) || is_file) {
        return Err(NotFound { program });
    }
    let mut signals = process.signals;
    let mut shell = Shell {
        session: session.clone(),
        variables: environment.iter().map(exported).collect(),
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

fn exported((name, value): &(String, String)) -> (String, Variable) {
    let variable = Variable {
        value: value.clone(),
        exported: true,
    };
    (name.clone(), variable)
}
