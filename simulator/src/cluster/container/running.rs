//! A run of a container: its main process, and the commands executed in it.

use std::{net::Ipv4Addr, sync::Arc};

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use stuntdouble_shell::{
    Environment, Input, Machine, Output as ShellOutput, Process as ShellProcess, Signal, is_known, run,
};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    STREAM_CAPACITY,
    behaviour::{Behaviour, ContainerContext, Termination},
    engine::Engine,
    image::Image,
    log_buffer::LogBuffer,
    process::{Attachment, Container, Exit, Line, Output, Process},
    program::CapturedOutput,
    terminal,
};

/// Exit code of a killed process.
const KILLED: i32 = 137;
/// Exit code of a process ended by SIGTERM.
const TERMINATED: i32 = 143;

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Time of the end.
    pub(crate) at: Timestamp,
    /// Exit code.
    pub(crate) code: i32,
}

/// The main process of a container.
pub(super) enum Main {
    /// A registered behaviour.
    Behaviour(Arc<dyn Behaviour>),
    /// A command of the shell or of the image's data.
    Command,
    /// A program that is not simulated. It runs until SIGTERM and exits with 0, as servers do.
    Unknown,
}

type OnEnd = Box<dyn FnOnce(&Ended) + Send>;

/// A run of a container.
pub(crate) struct RunningContainer {
    pub(super) name: String,
    pub(super) engine: Arc<Engine>,
    pub(super) image: Image,
    pub(super) machine: Arc<Machine>,
    pub(super) environment: Environment,
    pub(super) directory: String,
    pub(super) host: Ipv4Addr,
    pub(super) command: Vec<String>,
    pub(super) main: Main,
    pub(super) stdin_open: bool,
    pub(super) stdin_once: bool,
    pub(super) tty: bool,
    pub(super) log: Arc<LogBuffer>,
    pub(super) state: Mutex<State>,
    pub(super) killed: CancellationToken,
    pub(super) termination: Arc<Termination>,
}

#[derive(Default)]
pub(super) struct State {
    ended: Option<Ended>,
    stdin: Option<mpsc::Sender<Bytes>>,
    signals: Option<mpsc::Sender<Signal>>,
    pub(super) on_end: Option<OnEnd>,
}

impl RunningContainer {
    /// Returns how the run ended, or `None` while it runs.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.state.lock().ended.clone()
    }

    /// Waits for the end of the run.
    pub(crate) async fn ends(&self) {
        self.killed.cancelled().await;
    }

    /// Whether its program is simulated. If not, probes have no meaning.
    pub(crate) fn is_simulated(&self) -> bool {
        !matches!(self.main, Main::Unknown)
    }

    /// IP address that its servers listen on.
    pub(crate) fn host(&self) -> Ipv4Addr {
        self.host
    }

    /// Returns the text of a file of the container.
    pub(crate) fn read_file(&self, path: &str) -> Option<String> {
        let text = self.machine.files.read(path).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// Starts the main process.
    pub(super) async fn start(self: &Arc<Self>) {
        let stdin = self.open_stdin();
        let (signals, received) = mpsc::channel(4);
        self.state.lock().signals = Some(signals);
        let container = self.clone();
        let main: futures::future::BoxFuture<'static, i32> = match &self.main {
            Main::Unknown => return,
            Main::Behaviour(behaviour) => {
                let context = self.context(stdin);
                let (behaviour, termination) = (behaviour.run(context), self.termination.clone());
                Box::pin(async move {
                    let mut received = received;
                    let mut behaviour = behaviour;
                    loop {
                        tokio::select! {
                            biased;
                            code = &mut behaviour => return code,
                            Some(_) = received.recv() => {
                                termination.ordered.cancel();
                                if !termination.awaited.load(std::sync::atomic::Ordering::Acquire) {
                                    return TERMINATED;
                                }
                            }
                        }
                    }
                })
            }
            Main::Command => {
                let process = ShellProcess {
                    command: self.command.clone(),
                    environment: self.environment.clone(),
                    directory: self.directory.clone(),
                    stdin,
                    stdout: self.output(Output::Stdout),
                    stderr: self.output(Output::Stderr),
                    terminal: self.tty,
                    signals: received,
                };
                let machine = self.machine.clone();
                Box::pin(async move { run(machine, process).await.unwrap_or(127) })
            }
        };
        let killed = self.killed.clone();
        let process = async move {
            let code = tokio::select! {
                biased;
                () = killed.cancelled() => KILLED,
                code = main => code,
            };
            container.finish(code);
        };
        self.engine.executor.start(process).await;
    }

    /// Returns the standard input of the main process: the input of the attached clients, edited by the terminal if
    /// there is one.
    fn open_stdin(self: &Arc<Self>) -> Input {
        if !self.stdin_open {
            return Input::bytes("");
        }
        let (sender, receiver) = mpsc::channel(STREAM_CAPACITY);
        self.state.lock().stdin = Some(sender);
        if !self.tty {
            return receiver.into();
        }
        let (lines, read) = mpsc::channel(STREAM_CAPACITY);
        let (container, killed) = (self.clone(), self.killed.clone());
        let (signals, mut typed) = mpsc::channel(1);
        let echo = self.clone();
        self.engine.executor.spawn(async move {
            tokio::select! {
                () = killed.cancelled() => {}
                () = terminal::edit(receiver, lines, move |piece| echo.write(Output::Stdout, &piece), signals) => {}
                () = async { while let Some(signal) = typed.recv().await { container.signal(signal); } } => {}
            }
        });
        read.into()
    }

    fn context(self: &Arc<Self>, stdin: Input) -> ContainerContext {
        ContainerContext {
            command: self.command.clone(),
            environment: self.environment.clone(),
            directory: self.directory.clone(),
            stdin,
            stdout: self.output(Output::Stdout),
            stderr: self.output(Output::Stderr),
            machine: self.machine.clone(),
            host: self.host,
            network: self.engine.network.clone(),
            termination: self.termination.clone(),
            listening: Vec::new(),
        }
    }

    /// Returns an output of the main process. With a terminal, both outputs are one.
    fn output(self: &Arc<Self>, output: Output) -> ShellOutput {
        let (container, tty) = (Arc::downgrade(self), self.tty);
        let output = if tty { Output::Stdout } else { output };
        ShellOutput::function(move |piece| {
            if let Some(container) = container.upgrade() {
                let piece = if tty { terminal::output(&piece) } else { piece };
                container.write(output, &piece);
            }
        })
    }

    fn write(&self, output: Output, piece: &Bytes) {
        self.log.write(self.engine.clock.now(), output, piece);
    }

    fn signal(&self, signal: Signal) {
        if let Some(signals) = &self.state.lock().signals {
            // A full queue already has a signal for the process.
            let _ = signals.try_send(signal);
        }
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        match self.main {
            Main::Unknown => self.finish(0),
            _ => self.signal(Signal::Terminate),
        }
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(&self) {
        self.finish(KILLED);
    }

    fn finish(&self, code: i32) {
        let ended = Ended {
            at: self.engine.clock.now(),
            code,
        };
        let on_end = {
            let mut state = self.state.lock();
            if state.ended.is_some() {
                return;
            }
            state.ended = Some(ended.clone());
            (state.stdin, state.signals) = (None, None);
            state.on_end.take()
        };
        // Commands executed in the container end with it.
        self.killed.cancel();
        self.log.close(ended.at);
        if let Some(on_end) = on_end {
            on_end(&ended);
        }
    }

    /// Checks that there is a program to run. Fails with the reason.
    fn find(&self, command: &[String]) -> Result<(), String> {
        let program = command.first().map(String::as_str).unwrap_or_default();
        let has_shell = self.image.data.as_ref().is_none_or(|data| data.shell);
        let own = self.machine.programs.as_ref().and_then(|all| all.find(program));
        let is_file = program.contains('/') && self.machine.files.size(program).is_some();
        if own.is_some() || (has_shell && (is_known(program) || is_file)) {
            Ok(())
        } else {
            Err(format!("exec: {program:?}: executable file not found in $PATH"))
        }
    }

    /// Runs a command to its end; returns its exit code and output.
    pub(crate) async fn run_command(&self, command: &[String]) -> Result<(i32, String), String> {
        self.find(command)?;
        let collected = CapturedOutput::new();
        let (_signals, received) = mpsc::channel(1);
        let process = ShellProcess {
            command: command.to_vec(),
            environment: self.environment.clone(),
            directory: self.directory.clone(),
            stdin: Input::bytes(""),
            stdout: collected.output(),
            stderr: collected.output(),
            terminal: false,
            signals: received,
        };
        let code = tokio::select! {
            () = self.killed.cancelled() => KILLED,
            code = run(self.machine.clone(), process) => code.map_err(|why| why.to_string())?,
        };
        Ok((code, String::from_utf8_lossy(&collected.take()).into_owned()))
    }
}

/// The container's ends of a client's streams.
struct Ends {
    stdin: mpsc::Receiver<Bytes>,
    stdout: mpsc::Sender<Bytes>,
    stderr: mpsc::Sender<Bytes>,
    exit: oneshot::Sender<Exit>,
}

fn streams() -> (Process, Ends) {
    let ((stdin, input), (out, stdout), (err, stderr), (resize, _)) = (
        mpsc::channel(STREAM_CAPACITY),
        mpsc::channel(STREAM_CAPACITY),
        mpsc::channel(STREAM_CAPACITY),
        mpsc::channel(1),
    );
    let (ended, exit) = oneshot::channel();
    let process = Process {
        stdin,
        stdout,
        stderr,
        resize,
        exit,
    };
    let ends = Ends {
        stdin: input,
        stdout: out,
        stderr: err,
        exit: ended,
    };
    (process, ends)
}

impl Container for Arc<RunningContainer> {
    fn attach(&self, attachment: Attachment) -> Result<Process, String> {
        if self.ended().is_some() {
            return Err(format!("container {} is not running", self.name));
        }
        let (process, ends) = streams();
        let mut pieces = self.log.pieces();
        let stdin = self.state.lock().stdin.clone().filter(|_| attachment.stdin);
        let Ends {
            stdin: mut typed,
            stdout,
            stderr,
            exit,
        } = ends;
        let container = self.clone();
        if let Some(stdin) = stdin {
            self.engine.executor.spawn(async move {
                while let Some(piece) = typed.recv().await {
                    if stdin.send(piece).await.is_err() {
                        return;
                    }
                }
                if container.stdin_once {
                    container.state.lock().stdin = None;
                }
            });
        }
        self.engine.executor.spawn(async move {
            loop {
                match pieces.recv().await {
                    Ok((Output::Stdout, piece)) => drop(stdout.send(piece).await),
                    Ok((Output::Stderr, piece)) => drop(stderr.send(piece).await),
                    // A client that is too slow loses output.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => break,
                }
                if stdout.is_closed() {
                    return;
                }
            }
            let _ = exit.send(Exit::Code(0));
        });
        Ok(process)
    }

    fn exec(&self, command: &[String], attachment: Attachment) -> Result<Process, String> {
        if self.ended().is_some() {
            return Err(format!("container {} is not running", self.name));
        }
        self.find(command)?;
        let (process, ends) = streams();
        let Ends {
            stdin: typed,
            stdout,
            stderr,
            exit,
        } = ends;
        let (signals, received) = mpsc::channel(4);
        let gone = stdout.clone();
        let (stdin, terminal) = if attachment.tty && attachment.stdin {
            let (lines, read) = mpsc::channel(STREAM_CAPACITY);
            let screen = stdout.clone();
            // Echo is dropped for a client that does not read it.
            let echo = move |piece| drop(screen.try_send(piece));
            (Input::from(read), Some(terminal::edit(typed, lines, echo, signals)))
        } else if attachment.stdin {
            (Input::from(typed), None)
        } else {
            (Input::bytes(""), None)
        };
        let (stdout, stderr) = if attachment.tty {
            let screen = to_screen(stdout);
            (screen.clone(), screen)
        } else {
            (stdout.into(), stderr.into())
        };
        let process_of = ShellProcess {
            command: command.to_vec(),
            environment: self.environment.clone(),
            directory: self.directory.clone(),
            stdin,
            stdout,
            stderr,
            terminal: attachment.tty,
            signals: received,
        };
        let (machine, killed) = (self.machine.clone(), self.killed.clone());
        let typing = async move {
            if let Some(terminal) = terminal {
                terminal.await;
            }
            std::future::pending::<()>().await;
        };
        self.engine.executor.spawn(async move {
            let exit_code = tokio::select! {
                () = killed.cancelled() => Exit::Code(KILLED),
                () = gone.closed() => return,
                () = typing => return,
                code = run(machine, process_of) => match code {
                    Ok(code) => Exit::Code(code),
                    Err(why) => Exit::Failed(why.to_string()),
                },
            };
            // The client may be gone.
            let _ = exit.send(exit_code);
        });
        Ok(process)
    }

    fn log(&self) -> (Vec<Line>, broadcast::Receiver<Line>) {
        self.log.follow()
    }
}

/// Returns an output that writes to the client's terminal.
fn to_screen(screen: mpsc::Sender<Bytes>) -> ShellOutput {
    ShellOutput::mapped(screen, terminal::output)
}
