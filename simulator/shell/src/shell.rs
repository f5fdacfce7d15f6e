//! The state of a shell: variables, functions, options, streams.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use brush_parser::ast::FunctionBody;
use futures::future::BoxFuture;
use tokio::sync::{Notify, mpsc, watch};

use crate::limits::LIMITS;
use crate::machine::Machine;
use crate::process::Signal;
use crate::streams::{Input, Output, WriteError};

/// The reason for the early end of a command list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// `break` out of this many loops.
    Break(u32),
    /// `continue` with the loop this many levels out.
    Continue(u32),
    /// `return` from a function.
    Return(i32),
    /// `exit` of the shell.
    Exit(i32),
}

/// The status of a command, or the early end of its list.
pub(crate) type Outcome = Result<i32, Interrupt>;

/// Status of a command whose reader has closed its input: 128 plus the number of SIGPIPE.
const BROKEN_PIPE: i32 = 141;

/// A variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variable {
    pub(crate) value: String,
    pub(crate) exported: bool,
}

/// Runs a script in a shell. Expansion calls it for command substitutions, to avoid a dependency on the module that
/// executes scripts.
pub(crate) type RunScript = for<'a> fn(&'a mut Shell, &'a str) -> BoxFuture<'a, Outcome>;

/// State shared by all shells of a process.
pub(crate) struct Session {
    pub(crate) machine: Arc<Machine>,
    run_script: RunScript,
    /// Number of commands run so far, for [`LIMITS`]`.burst`.
    commands: AtomicU64,
    /// Last allocated process id.
    last_id: AtomicU32,
    running_jobs: AtomicU32,
    jobs: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    pending: Mutex<BTreeSet<Signal>>,
    pub(crate) signalled: Notify,
    /// Names of the signals with a trap in the main shell.
    trapped: Mutex<BTreeSet<String>>,
    /// Whether the main shell reads commands from a terminal.
    pub(crate) interactive: AtomicBool,
    pub(crate) interrupted: Notify,
}

impl Session {
    pub(crate) fn new(
        machine: Arc<Machine>,
        jobs: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
        run_script: RunScript,
    ) -> Self {
        Self {
            machine,
            run_script,
            commands: AtomicU64::new(0),
            last_id: AtomicU32::new(1),
            running_jobs: AtomicU32::new(0),
            jobs,
            pending: Mutex::default(),
            signalled: Notify::new(),
            trapped: Mutex::default(),
            interactive: AtomicBool::new(false),
            interrupted: Notify::new(),
        }
    }

    /// Counts a command, and pauses after each burst, so that an endless loop uses little CPU.
    pub(crate) async fn count_command(&self) {
        if self.commands.fetch_add(1, Ordering::Relaxed) % LIMITS.burst == LIMITS.burst - 1 {
            self.machine.time.sleep(LIMITS.pause).await;
        }
    }

    /// Sets the names of the signals with a trap in the main shell.
    pub(crate) fn set_traps(&self, names: impl Iterator<Item = String>) {
        *self.trapped.lock().unwrap_or_else(PoisonError::into_inner) = names.collect();
    }

    /// Delivers a signal. Returns the exit status if it ends the process.
    pub(crate) fn receive(&self, signal: Signal) -> Option<i32> {
        let trapped = self.trapped.lock().unwrap_or_else(PoisonError::into_inner);
        if trapped.contains(signal.name()) {
            drop(trapped);
            self.signal(signal);
            return None;
        }
        if self.interactive.load(Ordering::Relaxed) && signal == Signal::Interrupt {
            self.interrupted.notify_waiters();
            return None;
        }
        Some(signal.status())
    }

    fn signal(&self, signal: Signal) {
        self.pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(signal);
        self.signalled.notify_waiters();
    }

    pub(crate) fn has_signal(&self) -> bool {
        !self.pending.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(crate) fn take_signal(&self) -> Option<Signal> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).pop_first()
    }

    /// Starts a background job. Returns its process id and status, or `None` if there are too many jobs.
    pub(crate) fn start_job(
        self: &Arc<Self>,
        job: impl Future<Output = i32> + Send + 'static,
    ) -> Option<(u32, watch::Receiver<Option<i32>>)> {
        if self.running_jobs.fetch_add(1, Ordering::AcqRel) as usize >= LIMITS.jobs {
            self.running_jobs.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, receiver) = watch::channel(None);
        let session = self.clone();
        let future = async move {
            let status = job.await;
            session.running_jobs.fetch_sub(1, Ordering::AcqRel);
            // Possibly nobody waits for it.
            let _ = sender.send(Some(status));
        };
        self.jobs.send(Box::pin(future)).ok()?;
        Some((id, receiver))
    }
}

/// The supported shell options.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// `-e`: a failed command ends the shell.
    pub(crate) exit_on_error: bool,
    /// `-u`: an unset variable is an error.
    pub(crate) unset_is_error: bool,
    /// `-x`: commands are printed when they run.
    pub(crate) trace: bool,
}

/// A shell. A clone is a subshell, whose changes do not affect its parent.
#[derive(Clone)]
pub(crate) struct Shell {
    pub(crate) session: Arc<Session>,
    pub(crate) variables: BTreeMap<String, Variable>,
    pub(crate) functions: HashMap<String, Arc<FunctionBody>>,
    /// `$0`.
    pub(crate) name: String,
    /// `$1` and following.
    pub(crate) arguments: Vec<String>,
    pub(crate) options: Options,
    pub(crate) directory: String,
    pub(crate) stdin: Input,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
    /// `$?`.
    pub(crate) status: i32,
    /// Process ids and statuses of background jobs; the last id is `$!`.
    pub(crate) jobs: Vec<(u32, watch::Receiver<Option<i32>>)>,
    /// The command of each `trap`, by signal name.
    pub(crate) traps: BTreeMap<String, String>,
    /// The outer values of `local` variables, one list per function call.
    pub(crate) locals: Vec<Vec<(String, Option<Variable>)>>,
    /// Number of enclosing loops.
    pub(crate) loops: u32,
    /// Status of the last command substitution of the current command.
    pub(crate) substituted: Option<i32>,
    /// Whether it is a subshell, which leaves signals to its parent.
    pub(crate) is_subshell: bool,
    /// Whether it has a terminal.
    pub(crate) terminal: bool,
    /// Nesting depth of subshells, functions and substitutions.
    pub(crate) depth: usize,
    /// Whether the status of the current command is tested, so that `set -e` does not apply.
    pub(crate) tested: bool,
}

impl Shell {
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|variable| variable.value.as_str())
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.entry(name.to_owned()).or_default().value = value.into();
    }

    /// Returns the exported variables.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .filter(|(_, variable)| variable.exported)
            .map(|(name, variable)| (name.as_str(), variable.value.as_str()))
    }

    /// Returns the standard streams, for [`Shell::restore`].
    pub(crate) fn streams(&self) -> (Input, Output, Output) {
        (self.stdin.clone(), self.stdout.clone(), self.stderr.clone())
    }

    pub(crate) fn restore(&mut self, streams: (Input, Output, Output)) {
        (self.stdin, self.stdout, self.stderr) = streams;
    }

    /// Creates a subshell, or returns `None` if they nest too deep.
    pub(crate) fn subshell(&self) -> Option<Self> {
        let mut shell = self.clone();
        shell.depth += 1;
        shell.is_subshell = true;
        shell.traps.clear();
        shell.jobs.clear();
        (shell.depth <= LIMITS.depth).then_some(shell)
    }

    /// Runs a script in this shell.
    pub(crate) fn run_script<'a>(&'a mut self, script: &'a str) -> BoxFuture<'a, Outcome> {
        (self.session.run_script)(self, script)
    }

    /// Reports that commands nest too deep, and returns the status of this error.
    pub(crate) async fn too_deep(&self) -> i32 {
        self.fail(2, "sh: can't fork: commands nest too deep").await
    }

    /// Writes a line to standard error, and returns `status`.
    pub(crate) async fn fail(&self, status: i32, message: impl Into<String>) -> i32 {
        // An error means that nobody reads the output.
        let _ = self.stderr.write(message.into() + "\n").await;
        status
    }

    /// Writes to standard output. Returns 0, or the status of a write error.
    pub(crate) async fn print(&self, program: &str, data: impl Into<bytes::Bytes>) -> i32 {
        match self.stdout.write(data).await {
            Ok(()) => 0,
            Err(WriteError::BrokenPipe) => BROKEN_PIPE,
            Err(WriteError::File(error)) => self.fail(1, format!("{program}: write error: {error}")).await,
        }
    }
}

/// Returns the exit status of a shell with this outcome.
pub(crate) fn status_of(outcome: Outcome) -> i32 {
    match outcome {
        Ok(status) | Err(Interrupt::Return(status) | Interrupt::Exit(status)) => status,
        Err(Interrupt::Break(_) | Interrupt::Continue(_)) => 0,
    }
}
