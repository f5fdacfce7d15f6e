//! Programs defined by data: their script, output and servers.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{
    StreamExt,
    future::{BoxFuture, pending},
    stream::FuturesUnordered,
};
use stuntdouble_shell::{Call, Process, Program, Programs, Time, run};
use tokio::sync::mpsc;

use super::{
    image::{ImageData, ProgramData, ServerData},
    net_programs::{self, NetProgram},
    network::{Listening, Network},
    route::{RouteServer, fill},
};
use crate::clock::Clock;

/// Exit code of a program that cannot listen on its port.
const CANNOT_LISTEN: i32 = 1;

/// The cluster's clock, as the shell uses it.
pub(super) struct ClusterTime(pub(super) Clock);

impl Time for ClusterTime {
    fn now(&self) -> jiff::Timestamp {
        self.0.now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let clock = self.0.clone();
        Box::pin(async move { clock.sleep(duration).await })
    }
}

/// The programs of a container besides the shell's: those of its image, and those that use the network.
pub(super) struct ContainerPrograms {
    pub(super) image: Option<Arc<ImageData>>,
    pub(super) host: Ipv4Addr,
    pub(super) namespace: Arc<str>,
    pub(super) network: Arc<Network>,
}

impl Programs for ContainerPrograms {
    fn find(&self, name: &str) -> Option<Arc<dyn Program>> {
        let short = name.rsplit('/').next().unwrap_or(name);
        let own = self.image.as_ref().and_then(|image| {
            let programs = &image.programs;
            programs.get(name).or_else(|| programs.get(short))
        });
        if let Some(data) = own {
            return Some(Arc::new(DataProgram {
                data: data.clone(),
                host: self.host,
                network: self.network.clone(),
            }));
        }
        let has_shell = self.image.as_ref().is_none_or(|image| image.shell);
        let known = net_programs::NAMES.into_iter().find(|known| *known == short);
        Some(Arc::new(NetProgram {
            name: known.filter(|_| has_shell)?,
            host: self.host,
            namespace: self.namespace.clone(),
            network: self.network.clone(),
        }))
    }
}

struct DataProgram {
    data: Arc<ProgramData>,
    host: Ipv4Addr,
    network: Arc<Network>,
}

impl Program for DataProgram {
    fn run(&self, call: Call) -> BoxFuture<'static, i32> {
        let (data, host, network) = (self.data.clone(), self.host, self.network.clone());
        Box::pin(async move {
            let listening = match listen(&data, host, &network, &call) {
                Ok(listening) => listening,
                Err(port) => {
                    let why = format!("bind() to 0.0.0.0:{port} failed (98: Address already in use)\n");
                    let _ = call.stderr.write(why).await;
                    return CANNOT_LISTEN;
                }
            };
            let ends = tokio::select! {
                never = write_output(&data, &call) => never,
                status = run_script(&data, &call) => status,
                code = exit(&data, &call) => code,
            };
            drop(listening);
            ends
        })
    }
}

/// Starts the servers. Fails with the port that is taken.
fn listen(data: &ProgramData, host: Ipv4Addr, network: &Arc<Network>, call: &Call) -> Result<Vec<Listening>, u16> {
    let started = call.machine.time.now();
    let mut listening = Vec::new();
    for server in &data.serves {
        for (port, value) in ports(server, call) {
            let server = RouteServer {
                call: call.clone(),
                routes: server.routes.clone(),
                started,
                port,
                value,
                access_log: server.access_log,
            };
            listening.push(network.listen(host, port, Arc::new(server)).ok_or(port)?);
        }
    }
    Ok(listening)
}

/// Returns the ports of a server, each with the value of the environment variable that opens it.
fn ports(server: &ServerData, call: &Call) -> Vec<(u16, String)> {
    let mut ports = Vec::new();
    if let Some(prefix) = &server.port_environment {
        for (name, value) in call.environment.iter() {
            if let Some(port) = name.strip_prefix(prefix).and_then(|port| port.parse().ok()) {
                ports.push((port, value.clone()));
            }
        }
    }
    if server.port != 0 {
        let flag = server.port_flag.as_deref();
        let port_flag = call.command.iter().enumerate().find_map(|(at, argument)| {
            let rest = argument
                .trim_start_matches('-')
                .strip_prefix(flag?.trim_start_matches('-'))?;
            match rest.strip_prefix('=') {
                Some(port) => port.parse().ok(),
                None if rest.is_empty() => call.command.get(at + 1)?.parse().ok(),
                None => None,
            }
        });
        ports.push((port_flag.unwrap_or(server.port), String::new()));
    }
    ports
}

/// Writes the timed output; never returns.
async fn write_output(data: &ProgramData, call: &Call) -> i32 {
    let mut pieces: FuturesUnordered<_> = data
        .output
        .iter()
        .map(|piece| async move {
            sleep(call, piece.after).await;
            let text = fill(&piece.text, call, &|_| None);
            let to = if piece.stderr { &call.stderr } else { &call.stdout };
            // An error means that nobody reads the output.
            let _ = to.write(text).await;
        })
        .collect();
    while pieces.next().await.is_some() {}
    pending().await
}

async fn sleep(call: &Call, seconds: f64) {
    if seconds > 0.0 {
        let duration = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        call.machine.time.sleep(duration).await;
    }
}

/// Runs the script. Returns when the script ends the program: if it fails, or if the program has neither servers nor
/// an exit.
async fn run_script(data: &ProgramData, call: &Call) -> i32 {
    let Some(script) = &data.script else {
        return pending().await;
    };
    // Boxed, so that programs without a script do not allocate space for it.
    let status = Box::pin(run_shell(call, script, Vec::new())).await;
    if status != 0 || (data.serves.is_empty() && data.exit.is_none()) {
        return status;
    }
    pending().await
}

/// Runs a script with a program's arguments and streams.
pub(super) async fn run_shell(call: &Call, script: &str, variables: Vec<(String, String)>) -> i32 {
    let mut command: Vec<String> = ["sh", "-c", script].map(str::to_owned).to_vec();
    command.extend(call.command.iter().cloned());
    let (_, signals) = mpsc::channel(1);
    let process = Process {
        command,
        environment: call.environment.iter().cloned().chain(variables).collect(),
        directory: call.directory.clone(),
        stdin: call.stdin.clone(),
        stdout: call.stdout.clone(),
        stderr: call.stderr.clone(),
        terminal: false,
        signals,
    };
    run(call.machine.clone(), process).await.unwrap_or(127)
}

/// Waits for the program's exit time and returns its exit code.
async fn exit(data: &ProgramData, call: &Call) -> i32 {
    match &data.exit {
        Some(exit) => {
            sleep(call, exit.after).await;
            // Output of the same time is written first.
            tokio::task::yield_now().await;
            exit.code
        }
        None => pending().await,
    }
}

/// The captured output of a script, bounded in bytes.
pub(super) struct CapturedOutput(Arc<parking_lot::Mutex<Vec<u8>>>);

/// Maximum number of captured bytes.
const MAX_CAPTURED_BYTES: usize = 1 << 20;

impl CapturedOutput {
    pub(super) fn new() -> Self {
        Self(Arc::default())
    }

    pub(super) fn output(&self) -> stuntdouble_shell::Output {
        let text = self.0.clone();
        stuntdouble_shell::Output::function(move |piece: Bytes| {
            let mut text = text.lock();
            let free = MAX_CAPTURED_BYTES.saturating_sub(text.len());
            text.extend_from_slice(piece.get(..piece.len().min(free)).unwrap_or_default());
        })
    }

    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock())
    }
}
