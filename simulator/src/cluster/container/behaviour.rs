//! Behaviour of an image that a Rust program registers.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use stuntdouble_shell::{Environment, FileError, Input, Machine, Output, absolute};
use tokio_util::sync::CancellationToken;

use super::network::{Listening, Network, Server};

/// Behaviour of the containers of an image.
///
/// Implemented for closures from a [`ContainerContext`] to a future of an exit code.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
/// use std::time::Duration;
/// use serde_json::json;
/// use stuntdouble_simulator::{Clock, ContainerContext, Simulator};
///
/// let clock: Clock = "frozen:2016-03-01T00:00:00Z".parse()?;
/// let simulator = Simulator::builder()
///     .clock(clock)
///     .image("app:1", |container: ContainerContext| async move {
///         container.print("working\n").await;
///         container.sleep(Duration::from_secs(60)).await;
///         3
///     })
///     .start()
///     .await?;
/// let pods = simulator.client().api("v1", "pods")?.in_namespace("default");
/// let spec = json!({"containers": [{"name": "main", "image": "app:1"}], "restartPolicy": "Never"});
/// pods.create(json!({"metadata": {"name": "job"}, "spec": spec})).await?;
/// simulator.advance(Duration::from_secs(70)).await;
/// assert_eq!(pods.get("job").await?["status"]["phase"], "Failed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Behaviour: Send + Sync + 'static {
    /// Runs a container's process to its end and returns its exit code. The future is dropped when the container is
    /// killed.
    fn run(&self, container: ContainerContext) -> BoxFuture<'static, i32>;
}

impl<F, R> Behaviour for F
where
    F: Fn(ContainerContext) -> R + Send + Sync + 'static,
    R: Future<Output = i32> + Send + 'static,
{
    fn run(&self, container: ContainerContext) -> BoxFuture<'static, i32> {
        Box::pin(self(container))
    }
}

/// A container, as its [`Behaviour`] uses it.
pub struct ContainerContext {
    pub(super) command: Vec<String>,
    pub(super) environment: Environment,
    pub(super) directory: String,
    pub(super) stdin: Input,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
    pub(super) machine: Arc<Machine>,
    pub(super) host: Ipv4Addr,
    pub(super) network: Arc<Network>,
    pub(super) termination: Arc<Termination>,
    pub(super) listening: Vec<Listening>,
}

/// The container's termination signal.
#[derive(Default)]
pub(super) struct Termination {
    pub(super) ordered: CancellationToken,
    /// Whether the behaviour waits for it.
    pub(super) awaited: std::sync::atomic::AtomicBool,
}

impl std::fmt::Debug for ContainerContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContainerContext")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

impl ContainerContext {
    /// Command and arguments of the container.
    pub fn command(&self) -> &[String] {
        &self.command
    }

    /// Returns an environment variable.
    pub fn env(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Host name of the pod.
    pub fn hostname(&self) -> &str {
        &self.machine.hostname
    }

    /// IP address of the pod.
    pub fn address(&self) -> Ipv4Addr {
        self.host
    }

    /// Writes to standard output, which is logged.
    pub async fn print(&self, text: impl Into<Bytes>) {
        // An error means that nobody reads the output.
        let _ = self.stdout.write(text).await;
    }

    /// Writes to standard error, which is logged.
    pub async fn print_error(&self, text: impl Into<Bytes>) {
        let _ = self.stderr.write(text).await;
    }

    /// Reads a line of standard input, or `None` at its end.
    pub async fn read_line(&self) -> Option<Bytes> {
        self.stdin.line().await
    }

    /// Reads a file, such as a file of a mounted config map.
    ///
    /// # Errors
    /// [`FileError`] if there is no such file.
    pub fn read_file(&self, path: &str) -> Result<Bytes, FileError> {
        self.machine.files.read(&absolute(&self.directory, path))
    }

    /// Writes a file, such as `/dev/termination-log`.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be written.
    pub fn write_file(&self, path: &str, content: impl AsRef<[u8]>) -> Result<(), FileError> {
        self.machine
            .files
            .write(&absolute(&self.directory, path), content.as_ref(), false)
    }

    /// Waits for `duration` on the cluster's clock.
    pub async fn sleep(&self, duration: Duration) {
        self.machine.time.sleep(duration).await;
    }

    /// Waits for SIGTERM. A container that has never called this ends as soon as it receives SIGTERM.
    pub async fn terminated(&self) {
        self.termination
            .awaited
            .store(true, std::sync::atomic::Ordering::Release);
        self.termination.ordered.cancelled().await;
    }

    /// Serves HTTP on a port of the pod's address until the container ends. Returns false if the port is taken.
    pub fn serve<F, R>(&mut self, port: u16, handler: F) -> bool
    where
        F: Fn(Request<Bytes>) -> R + Send + Sync + 'static,
        R: Future<Output = Response<Bytes>> + Send + 'static,
    {
        let listening = self.network.listen(self.host, port, Arc::new(Handler(handler)));
        let free = listening.is_some();
        self.listening.extend(listening);
        free
    }
}

struct Handler<F>(F);

impl<F, R> Server for Handler<F>
where
    F: Fn(Request<Bytes>) -> R + Send + Sync,
    R: Future<Output = Response<Bytes>> + Send + 'static,
{
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> {
        Box::pin((self.0)(request))
    }
}
