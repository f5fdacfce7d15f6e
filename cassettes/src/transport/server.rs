//! A server that hands each request to a function.

use super::{Body, TransportError};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long the system is given to have sockets again when it has none.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// What answers requests.
pub trait Exchange: Send + Sync + 'static {
    /// Answers a request. What outlives the answer, such as an upgraded connection, is a task of the server.
    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        tasks: Tasks,
    ) -> impl Future<Output = Result<Response<Body>, Gone>> + Send;
}

/// The connection is to be closed without an answer.
#[derive(Debug)]
pub struct Gone;

impl std::fmt::Display for Gone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed without an answer")
    }
}

impl std::error::Error for Gone {}

/// The tasks of a server, which end when it is stopped.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Tasks {
    /// Runs a task until it is done or the server is stopped.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tracker.spawn(async move {
            tokio::select! {
                () = task => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

impl Tasks {
    /// Runs work that blocks, on a thread of its own; when the server is stopped it is waited for.
    pub fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) {
        self.tracker.spawn_blocking(work);
    }
}

/// A server on one address; dropping it stops it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    tasks: Tasks,
}

impl Server {
    /// Listens, and answers from then on. A port of 0 is chosen by the system.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub async fn start(address: SocketAddr, exchange: Arc<impl Exchange>) -> Result<Self, TransportError> {
        let wrong = |source| TransportError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        let tasks = Tasks::default();
        tasks.spawn(accept(listener, exchange, tasks.clone()));
        Ok(Self { address, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops, and waits until every connection has been closed.
    pub async fn stop(self) {
        self.tasks.stop.cancel();
        self.tasks.tracker.close();
        self.tasks.tracker.wait().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tasks.stop.cancel();
    }
}

async fn accept(listener: TcpListener, exchange: Arc<impl Exchange>, tasks: Tasks) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            tokio::time::sleep(EXHAUSTED).await;
            continue;
        };
        let _ = socket.set_nodelay(true);
        let (exchange, inner) = (exchange.clone(), tasks.clone());
        tasks.spawn(async move {
            let service = service_fn(move |request| exchange.clone().answer(request, inner.clone()));
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new());
            // A client that goes away, or sends no HTTP, ends its connection and nothing else.
            let _ = builder
                .serve_connection(TokioIo::new(socket), service)
                .with_upgrades()
                .await;
        });
    }
}
