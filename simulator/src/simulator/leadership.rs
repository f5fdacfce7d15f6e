//! Leader election of a cluster shared by several processes: nodes, controllers and add-ons run in one process at a
//! time.
//!
//! - The processes elect a leader. If it stops or loses its connection to the store, another process takes over.
//! - A new leader starts the containers from scratch, as a restart does.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use stuntdouble_server::Shutdown;
use tokio::{
    sync::{broadcast, oneshot},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{Builder, StartError};
use crate::{
    client::Client,
    cluster::{
        container::{Container, Containers, Engine, Line, LogPages},
        network::{Backends, Located},
    },
    http::Elected,
    store::{Election, Term},
};

/// Delay before a former leader takes part in the next election.
const RETRY_PERIOD: Duration = Duration::from_millis(250);

/// The containers that run in this process, and the servers in them.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) engine: Arc<Engine>,
    pub(super) backends: Backends,
}

/// The components that currently run in this process.
pub(super) struct Leadership {
    running: ArcSwap<Running>,
    is_elected: AtomicBool,
    election: Election,
}

impl Leadership {
    /// Creates the state before this process is elected.
    pub(super) fn new(idle: Running, election: Election) -> Arc<Self> {
        Arc::new(Self {
            running: ArcSwap::from_pointee(idle),
            is_elected: AtomicBool::new(false),
            election,
        })
    }

    fn set(&self, running: Arc<Running>, is_elected: bool) {
        self.running.store(running);
        self.is_elected.store(is_elected, Ordering::Release);
    }

    /// Returns this process's server at an address.
    pub(super) fn locate(&self, host: Ipv4Addr, port: u16) -> Located {
        let running = self.running.load();
        match running.backends.at(&format!("{host}:{port}")) {
            Some(backend) => Located::Here(backend),
            None => running.engine.network().locate(host, port),
        }
    }

    fn engine(&self) -> Arc<Engine> {
        self.running.load().engine.clone()
    }
}

impl Elected for Leadership {
    fn other_leader(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async {
            if self.is_elected.load(Ordering::Acquire) {
                return None;
            }
            self.election.leader().await
        })
    }
}

impl Containers for Leadership {
    fn running(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn Container>> {
        self.engine().running(pod, name)
    }

    fn log(
        &self,
        pod: &Map<String, Value>,
        name: &str,
        previous: bool,
    ) -> Result<(Vec<Line>, broadcast::Receiver<Line>), String> {
        self.engine().log(pod, name, previous)
    }

    fn pages(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn LogPages>> {
        self.engine().pages(pod, name)
    }
}

/// A process that takes part in the election.
pub(super) struct Candidate {
    pub(super) builder: Builder,
    pub(super) client: Client,
    pub(super) election: Election,
    pub(super) leadership: Arc<Leadership>,
    /// Address at which other processes reach this one.
    pub(super) address: String,
    pub(super) shutdown: Shutdown,
}

impl Candidate {
    /// Takes part in the election until the simulator is closed. Returns when another process is elected, or when the
    /// components run in this one.
    ///
    /// # Errors
    /// The error of a component that cannot start.
    pub(super) async fn start(self) -> Result<(), StartError> {
        let (sender, started) = oneshot::channel();
        let first = self.election.try_campaign(&self.address).await.unwrap_or(None);
        let shutdown = self.shutdown.clone();
        let is_first = first.is_some();
        shutdown.tasks.spawn(self.run(first, sender));
        if !is_first {
            return Ok(());
        }
        // A candidate that stops before it has started was closed.
        let started = started.await.unwrap_or(Ok(()));
        if started.is_err() {
            shutdown.now();
        }
        started
    }

    async fn run(self, mut first: Option<Term>, started: oneshot::Sender<Result<(), StartError>>) {
        let mut started = Some(started);
        loop {
            let mut term = match first.take() {
                Some(term) => term,
                None => tokio::select! {
                    () = self.shutdown.closing.cancelled() => return,
                    term = self.election.campaign(&self.address) => term,
                },
            };
            let end = self.shutdown.closing.child_token();
            let idle = self.leadership.running.load_full();
            let running = async {
                let running = self.run_components(end.clone()).await;
                let result = running.map(|running| self.leadership.set(Arc::new(running), true));
                let has_failed = result.is_err();
                if let Some(started) = started.take() {
                    // Nobody waits for a simulator that was dropped.
                    let _ = started.send(result);
                }
                if !has_failed {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = end.cancelled() => {}
                () = term.end() => {}
                () = running => {}
            }
            end.cancel();
            self.leadership.set(idle, false);
            term.resign().await;
            sleep(RETRY_PERIOD).await;
        }
    }

    /// Runs the components until `closing` is cancelled.
    async fn run_components(&self, closing: CancellationToken) -> Result<Running, StartError> {
        self.client.registry().restore().await?;
        let builder = Builder {
            backends: self.builder.backends.fork(),
            ..self.builder.clone()
        };
        let shutdown = Shutdown {
            closing,
            ..self.shutdown.clone()
        };
        let engine = builder.start_components(&self.client, &shutdown, None).await?;
        Ok(Running {
            engine,
            backends: builder.backends,
        })
    }
}
