//! Running a process: the shell or one program, its background jobs and signals.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;

use crate::execute::run_script;
use crate::machine::Machine;
use crate::process::Process;
use crate::programs;
use crate::shell::{Options, Session, Shell, Variable, status_of};
use crate::streams::{Input, Output};

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

/// Runs a process to its end. Background jobs end with it. Dropping the future kills it.
///
/// # Errors
/// [`NotFound`] if the program is not simulated. A script that calls such a program gets status 127 instead.
pub async fn run(machine: Arc<Machine>, process: Process) -> Result<i32, NotFound> {
    let (job_sender, mut new_jobs) = mpsc::unbounded_channel();
    let session = Arc::new(Session::new(machine, job_sender));
    let program = process.command.first().cloned().unwrap_or_default();
    if programs::base_name(&program).is_empty() || !programs::is_known(programs::base_name(&program)) {
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
        stdin: Input::channel(process.stdin),
        stdout: Output::Channel(process.stdout),
        stderr: Output::Channel(process.stderr),
        status: 0,
        jobs: Vec::new(),
        traps: Default::default(),
        locals: Vec::new(),
        loops: 0,
        substituted: None,
        is_subshell: false,
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
            Some(signal) = signals.recv() => session.signal(signal),
            Some(()) = jobs.next() => {}
        }
    }
}

/// Runs `sh` with its arguments: `-c SCRIPT [NAME [ARGUMENT...]]`, `FILE [ARGUMENT...]`, or lines from standard input.
pub(crate) async fn sh(shell: &mut Shell, arguments: &[String]) -> i32 {
    let mut rest = arguments.iter();
    let mut script = None;
    let mut positional = Vec::new();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix('-') {
            Some("") | None => {
                positional.push(argument.clone());
                break;
            }
            Some("-") => break,
            Some(flags) => {
                for flag in flags.chars() {
                    match flag {
                        'c' => script = Some(rest.next().cloned().unwrap_or_default()),
                        'e' => shell.options.exit_on_error = true,
                        'u' => shell.options.unset_is_error = true,
                        'x' => shell.options.trace = true,
                        'i' | 'l' | 's' => {}
                        other => return shell.fail(2, format!("sh: invalid option -- '{other}'")).await,
                    }
                }
            }
        }
    }
    positional.extend(rest.cloned());
    let mut positional = positional.into_iter();
    let outcome = match script {
        Some(script) => {
            if let Some(name) = positional.next() {
                shell.name = name;
            }
            shell.arguments = positional.collect();
            run_script(shell, &script).await
        }
        None => match positional.next() {
            Some(file) => {
                shell.arguments = positional.collect();
                let path = crate::files::absolute(&shell.directory, &file);
                match shell.session.machine.files.read(&path) {
                    Ok(text) => {
                        shell.name = file;
                        run_script(shell, &String::from_utf8_lossy(&text)).await
                    }
                    Err(_) => return shell.fail(2, format!("sh: can't open '{file}'")).await,
                }
            }
            None => interactive(shell).await,
        },
    };
    let mut status = status_of(outcome);
    if let Some(command) = shell.traps.remove("EXIT") {
        shell.status = status;
        if let Err(crate::shell::Interrupt::Exit(other)) = run_script(shell, &command).await {
            status = other;
        }
    }
    status
}

/// Runs commands from standard input, a line at a time; a command that is not complete waits for more lines.
async fn interactive(shell: &mut Shell) -> crate::shell::Outcome {
    let mut pending = String::new();
    while let Some(line) = shell.stdin.clone().line().await {
        pending.push_str(&String::from_utf8_lossy(&line).replace('\r', "\n"));
        if crate::execute::is_incomplete(&pending) {
            continue;
        }
        let script = std::mem::take(&mut pending);
        shell.status = run_script(shell, &script).await?;
    }
    if !pending.is_empty() {
        shell.status = run_script(shell, &pending).await?;
    }
    Ok(shell.status)
}
