//! A log collector: it reads the logs of its node, and sends new lines.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    buffer::Buffer,
    collector_pods,
    record::Origin,
    sender::{Outcome, Sender},
    tail::Tails,
};
use crate::{
    api::{Object, Status, meta},
    client::{Informer, ObjectKey},
    clock::Clock,
    cluster::{
        Node, Runtime, SYSTEM_NAMESPACE, container::Containers, container::Line, container::Output, network::Backends,
    },
};

/// Interval at which logs are read and sent.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Size of the buffer in bytes.
const BUFFER_BYTES: usize = 32 << 20;
/// Maximum size of a bulk request in bytes.
const BATCH_BYTES: usize = 2 << 20;
/// Initial delay after a failed batch. It doubles with each further failure.
const INITIAL_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Maximum delay.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// Settings of the collectors.
pub(crate) struct Setup {
    /// Nodes that they run on.
    pub(crate) nodes: Vec<Node>,
    /// Containers whose logs they read.
    pub(crate) containers: Arc<dyn Containers>,
    /// Servers in the cluster, including the search backend.
    pub(crate) backends: Backends,
    /// Token that stops the collectors.
    pub(crate) closing: CancellationToken,
}

/// Starts the collectors of the nodes. A collector reads and sends only while its pod runs.
pub(super) async fn add(runtime: &Arc<Runtime>, pod: &Object, setup: Setup) -> Result<(), Status> {
    let pods = runtime.informer("v1", "pods").await?;
    let endpoints = runtime.informer("v1", "endpoints").await?;
    for node in setup.nodes {
        let tails = Arc::new(Mutex::new(Tails::default()));
        let (followed, containers, name) = (tails.clone(), setup.containers.clone(), node.name.clone());
        pods.on_change(move |change| {
            let here = |pod: &&Arc<Object>| meta::text(pod, "spec.nodeName") == name;
            if change.object().as_ref().is_some_and(here) {
                followed
                    .lock()
                    .follow(change.old.as_deref(), change.new.as_deref(), &*containers);
            }
        });
        let key = collector_pods::key(pod, &node);
        let collector = Collector {
            own: Origin::new(
                &key.name,
                SYSTEM_NAMESPACE,
                meta::text(pod, "metadata.name"),
                &format!("collector of {}", node.name),
            ),
            key,
            clock: runtime.clock().clone(),
            pods: pods.clone(),
            tails,
            buffer: Buffer::new(BUFFER_BYTES),
            sender: Sender::new(endpoints.clone(), setup.backends.clone()),
            reported: 0,
            retry: None,
        };
        let (run, closing) = (collector.run(), setup.closing.clone());
        let run = runtime.clock().activity().track(run);
        tokio::spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = run => {}
            }
        });
    }
    Ok(())
}

struct Collector {
    key: ObjectKey,
    /// Origin of its own lines.
    own: Origin,
    clock: Clock,
    pods: Arc<Informer>,
    tails: Arc<Mutex<Tails>>,
    buffer: Buffer,
    sender: Sender,
    /// Number of its own lines so far.
    reported: u64,
    /// After a failure: the delay, and the time of the next attempt.
    retry: Option<(Duration, Timestamp)>,
}

impl Collector {
    async fn run(mut self) {
        loop {
            self.clock.sleep(FLUSH_INTERVAL).await;
            // A search in progress counts as activity, even while it is being awaited.
            let _busy = self.clock.activity().busy();
            if self.is_running().await {
                self.tails.lock().read(&mut self.buffer, &self.own, self.clock.now());
                self.send().await;
            }
        }
    }

    /// Whether the collector's pod runs.
    async fn is_running(&self) -> bool {
        self.pods.catch_up().await;
        self.pods.get(&self.key).is_some_and(|pod| {
            meta::text(&pod, "status.phase") == "Running" && meta::text(&pod, "metadata.deletionTimestamp").is_empty()
        })
    }

    /// Sends the buffered lines that the backend accepts.
    async fn send(&mut self) {
        if self.retry.is_some_and(|(_, at)| self.clock.now() < at) {
            return;
        }
        while !self.buffer.is_empty() {
            // No server is not a failure: the next interval looks for one again.
            let Some(server) = self.sender.server().await else {
                return;
            };
            let (body, count) = self.buffer.batch(BATCH_BYTES);
            match self.sender.send(&*server, body).await {
                Outcome::Accepted { rejected } => {
                    self.retry = None;
                    self.buffer.remove(count);
                    self.report(rejected);
                }
                Outcome::Failed => {
                    let delay = self
                        .retry
                        .map_or(INITIAL_RETRY_DELAY, |(delay, _)| (2 * delay).min(MAX_RETRY_DELAY));
                    let at = self.clock.now().saturating_add(delay).unwrap_or(Timestamp::MAX);
                    self.retry = Some((delay, at));
                    return;
                }
            }
        }
    }

    /// Logs the number of lines that the backend has rejected.
    fn report(&mut self, rejected: usize) {
        if rejected == 0 {
            return;
        }
        let line = Line {
            at: self.clock.now(),
            output: Output::Stderr,
            text: format!("{rejected} lines are lost: the search backend rejected them\n").into(),
        };
        // The upper half of the positions, because the tails count their reports from 0.
        self.buffer.push(self.own.entry((1 << 31) + self.reported, &line));
        self.reported += 1;
    }
}
