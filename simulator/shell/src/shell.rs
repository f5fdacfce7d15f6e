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

/// Why a list of commands ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// `break` out of so many loops.
    Break(u32),
    /// `continue` with the loop so far out.
    Continue(u32),
    /// `return` from a function.
    Return(i32),
    /// The shell ends.
    Exit(i32),
}

/// The status of a command, or why what follows it is not run.
pub(crate) type Outcome = Result<i32, Interrupt>;

/// Status of a command whose reader has gone: 128 and the number of SIGPIPE.
const BROKEN_PIPE: i32 = 141;

/// A variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variable {
    pub(crate) value: String,
    pub(crate) exported: bool,
}

/// Runs a script in a shell. What expands a word calls it for a command substitution, below where scripts are run.
pub(crate) type RunScript = for<'a> fn(&'a mut Shell, &'a str) -> BoxFuture<'a, Outcome>;

/// What all shells of one process share.
pub(crate) struct Session {
    pub(crate) machine: Arc<Machine>,
    run_script: RunScript,
    /// Commands that have run, for the pauses.
    commands: AtomicU64,
    /// The last process id that was given.
    last_id: AtomicU32,
    running_jobs: AtomicU32,
    jobs: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    pending: Mutex<BTreeSet<Signal>>,
    pub(crate) signalled: Notify,
    /// Names of the signals that the main shell has traps for.
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

    /// Counts a command, and pauses after a burst of them, so that an endless loop costs little.
    pub(crate) async fn count_command(&self) {
        if self.commands.fetch_add(1, Ordering::Relaxed) % LIMITS.burst == LIMITS.burst - 1 {
            self.machine.time.sleep(LIMITS.pause).await;
        }
    }

    /// The main shell has traps for these signals.
    pub(crate) fn set_traps(&self, names: impl Iterator<Item = String>) {
        *self.trapped.lock().unwrap_or_else(PoisonError::into_inner) = names.collect();
    }

    /// Sends a signal; the status of the process if that ends it.
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

    /// Runs a job in the background. Its process id and status; `None` if there are too many.
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
            // Nobody may be waiting for it.
            let _ = sender.send(Some(status));
        };
        self.jobs.send(Box::pin(future)).ok()?;
        Some((id, receiver))
    }
}

/// The shell options that scripts use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// `-e`: a failed command ends the shell.
    pub(crate) exit_on_error: bool,
    /// `-u`: an unset variable is an error.
    pub(crate) unset_is_error: bool,
    /// `-x`: commands are printed as they run.
    pub(crate) trace: bool,
}

/// A shell. A clone is a subshell: its changes stay its own.
#[derive(Clone)]
pub(crate) struct Shell {
    pub(crate) session: Arc<Session>,
    pub(crate) variables: BTreeMap<String, Variable>,
    pub(crate) functions: HashMap<String, Arc<FunctionBody>>,
    /// `$0`.
    pub(crate) name: String,
    /// `$1` and so on.
    pub(crate) arguments: Vec<String>,
    pub(crate) options: Options,
    pub(crate) directory: String,
    pub(crate) stdin: Input,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
    /// `$?`.
    pub(crate) status: i32,
    /// `$!`, and the statuses of background jobs.
    pub(crate) jobs: Vec<(u32, watch::Receiver<Option<i32>>)>,
    /// The command of each `trap`, by signal name.
    pub(crate) traps: BTreeMap<String, String>,
    /// The outer values of `local` variables, one list per function call.
    pub(crate) locals: Vec<Vec<(String, Option<Variable>)>>,
    /// How many loops are around this command.
    pub(crate) loops: u32,
    /// The status of the last command substitution of this command.
    pub(crate) substituted: Option<i32>,
    /// Whether it is a subshell, which leaves signals to its parent.
    pub(crate) is_subshell: bool,
    /// Whether it has a terminal.
    pub(crate) terminal: bool,
    /// How deep subshells, functions and substitutions nest.
    pub(crate) depth: usize,
    /// Whether a failure is tested for, so that `set -e` does not apply.
    pub(crate) tested: bool,
}

impl Shell {
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|variable| variable.value.as_str())
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.entry(name.to_owned()).or_default().value = value.into();
    }

    /// The exported variables.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .filter(|(_, variable)| variable.exported)
            .map(|(name, variable)| (name.as_str(), variable.value.as_str()))
    }

    /// The standard streams, to be put back by [`Shell::restore`].
    pub(crate) fn streams(&self) -> (Input, Output, Output) {
        (self.stdin.clone(), self.stdout.clone(), self.stderr.clone())
    }

    pub(crate) fn restore(&mut self, streams: (Input, Output, Output)) {
        (self.stdin, self.stdout, self.stderr) = streams;
    }

    /// A subshell; `None` if they nest too deep.
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

    /// Says that commands nest too deep. The status for it.
    pub(crate) async fn too_deep(&self) -> i32 {
        self.fail(2, "sh: can't fork: commands nest too deep").await
    }

    /// Writes a line to standard error, and returns `status`.
    pub(crate) async fn fail(&self, status: i32, message: impl Into<String>) -> i32 {
        // Nobody may be reading it.
        let _ = self.stderr.write(message.into() + "\n").await;
        status
    }

    /// Writes to standard output. The status: 0, or that of a command that could not write.
    pub(crate) async fn print(&self, program: &str, data: impl Into<bytes::Bytes>) -> i32 {
        match self.stdout.write(data).await {
            Ok(()) => 0,
            Err(WriteError::BrokenPipe) => BROKEN_PIPE,
            Err(WriteError::File(error)) => self.fail(1, format!("{program}: write error: {error}")).await,
        }
    }
}

/// The end of a shell: its status.
pub(crate) fn status_of(outcome: Outcome) -> i32 {
    match outcome {
        Ok(status) | Err(Interrupt::Return(status) | Interrupt::Exit(status)) => status,
        Err(Interrupt::Break(_) | Interrupt::Continue(_)) => 0,
    }
}
