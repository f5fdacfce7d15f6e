//! A collector: reads the logs of its node, and sends what is new.

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

/// How often logs are read and sent.
const INTERVAL: Duration = Duration::from_secs(1);
/// How many bytes of lines wait to be sent.
const BUFFER: usize = 32 << 20;
/// How many bytes are sent at a time.
const BATCH: usize = 2 << 20;
/// First delay after a failed batch; each further one takes twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest delay.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// What collectors need besides the API.
pub(crate) struct Setup {
    /// The nodes that they run on.
    pub(crate) nodes: Vec<Node>,
    /// The containers whose logs they read.
    pub(crate) containers: Arc<dyn Containers>,
    /// The servers in the cluster, the search backend among them.
    pub(crate) backends: Backends,
    /// Ends the collectors.
    pub(crate) closing: CancellationToken,
}

/// Starts the collectors of the nodes. Each reads and sends only while its pod runs.
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
            buffer: Buffer::new(BUFFER),
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
    /// The origin of its own lines.
    own: Origin,
    clock: Clock,
    pods: Arc<Informer>,
    tails: Arc<Mutex<Tails>>,
    buffer: Buffer,
    sender: Sender,
    /// How many lines of its own it has logged.
    reported: u64,
    /// After a failure: the delay, and when the batch is sent again.
    retry: Option<(Duration, Timestamp)>,
}

impl Collector {
    async fn run(mut self) {
        loop {
            self.clock.sleep(INTERVAL).await;
            // A search in progress counts as work that is left to do, also while it is waited for.
            let _busy = self.clock.activity().busy();
            if self.runs().await {
                self.tails.lock().read(&mut self.buffer, &self.own, self.clock.now());
                self.send().await;
            }
        }
    }

    /// Whether the collector's pod runs.
    async fn runs(&self) -> bool {
        self.pods.catch_up().await;
        self.pods.get(&self.key).is_some_and(|pod| {
            meta::text(&pod, "status.phase") == "Running" && meta::text(&pod, "metadata.deletionTimestamp").is_empty()
        })
    }

    /// Sends what waits, as far as the backend takes it.
    async fn send(&mut self) {
        if self.retry.is_some_and(|(_, at)| self.clock.now() < at) {
            return;
        }
        while !self.buffer.is_empty() {
            // Without a server nothing has failed: one is looked for again the next time.
            let Some(server) = self.sender.server().await else {
                return;
            };
            let (body, count) = self.buffer.batch(BATCH);
            match self.sender.send(&*server, body).await {
                Outcome::Taken { refused } => {
                    self.retry = None;
                    self.buffer.remove(count);
                    self.report(refused);
                }
                Outcome::Failed => {
                    let delay = self
                        .retry
                        .map_or(FIRST_RETRY, |(delay, _)| (2 * delay).min(LONGEST_RETRY));
                    let at = self.clock.now().saturating_add(delay).unwrap_or(Timestamp::MAX);
                    self.retry = Some((delay, at));
                    return;
                }
            }
        }
    }

    /// Logs how many lines the backend has refused for good.
    fn report(&mut self, refused: usize) {
        if refused == 0 {
            return;
        }
        let line = Line {
            at: self.clock.now(),
            output: Output::Stderr,
            text: format!("{refused} lines are lost: the search backend refuses them\n").into(),
        };
        // The upper half of the positions: what the tails report counts from 0.
        self.buffer.push(self.own.entry((1 << 31) + self.reported, &line));
        self.reported += 1;
    }
}
