//! The components of a cluster, and the task that runs them.
//!
//! - Every component is a client: it reads caches fed by the API's watches, and writes through the API.
//! - All components run on one task, one after the other, so that the same seed, clock and requests give the same
//!   bytes.
//! - Caches contain everything committed before a component's reconciliation.
//! - Kubelets yield to the components that depend on each single step of theirs, because containers take longer to
//!   start than controllers to
//!   decide.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{
    StreamExt,
    future::{BoxFuture, FutureExt},
    stream::FuturesUnordered,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{
    api::Status,
    client::{Api, Client, EventRecorder, Informer, ObjectKey, WorkQueue},
    clock::Clock,
    registry::ListOptions,
};

/// A work queue of object keys.
pub(crate) type Queue = Arc<WorkQueue<ObjectKey>>;

/// Indexed fields of caches.
const INDEXES: [((&str, &str), &str); 1] = [(("v1", "pods"), "spec.nodeName")];

/// The components of a cluster, and their shared caches.
pub(crate) struct Runtime {
    client: Client,
    informers: Mutex<BTreeMap<(&'static str, &'static str), Arc<Informer>>>,
    /// The queues that kubelets yield to.
    high_priority: Mutex<Vec<Queue>>,
    tasks: Mutex<Vec<BoxFuture<'static, ()>>>,
}

/// A component that reconciles one object at a time.
pub(crate) trait Reconcile: Send + Sync + 'static {
    /// Reconciles the object of this key. After an error it is retried, with increasing delays.
    fn reconcile(&self, key: &ObjectKey) -> impl Future<Output = Result<(), Status>> + Send;
}

/// Treats 404 as success: the object is already gone.
pub(crate) fn ignore_not_found<T>(result: Result<T, Status>) -> Result<(), Status> {
    match result {
        Err(status) if status.code == 404 => Ok(()),
        other => other.map(drop),
    }
}

impl Runtime {
    /// Creates a runtime without components.
    pub(crate) fn new(client: Client) -> Arc<Self> {
        Arc::new(Self {
            client,
            informers: Mutex::default(),
            high_priority: Mutex::default(),
            tasks: Mutex::default(),
        })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.client.clock()
    }

    pub(crate) fn api(&self, api_version: &str, plural: &str) -> Result<Api, Status> {
        self.client.api(api_version, plural)
    }

    /// Returns every namespaced resource that supports deletion.
    pub(crate) fn namespaced(&self) -> Result<Vec<Api>, Status> {
        self.client.namespaced()
    }

    pub(crate) fn recorder(&self, component: &str, host: Option<&str>) -> Result<EventRecorder, Status> {
        EventRecorder::new(&self.client, component, host)
    }

    pub(crate) fn queue(&self) -> Queue {
        Arc::new(WorkQueue::new(self.clock().clone()))
    }

    /// Creates a queue that kubelets yield to: they continue when it is empty.
    pub(crate) fn high_priority_queue(&self) -> Queue {
        let queue = self.queue();
        self.high_priority.lock().push(queue.clone());
        queue
    }

    /// Returns the cache of a resource, shared by all components.
    pub(crate) async fn informer(
        &self,
        api_version: &'static str,
        plural: &'static str,
    ) -> Result<Arc<Informer>, Status> {
        if let Some(informer) = self.informers.lock().get(&(api_version, plural)) {
            return Ok(informer.clone());
        }
        let api = self.client.api(api_version, plural)?;
        let index = INDEXES.iter().find(|(indexed, _)| *indexed == (api_version, plural));
        let path = index.map(|(_, path)| *path);
        let informer = Arc::new(Informer::indexed(api, ListOptions::default(), path).await?);
        self.informers.lock().insert((api_version, plural), informer.clone());
        self.spawn(informer.clone().run());
        Ok(informer)
    }

    /// Adds a task.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.lock().push(task.boxed());
    }

    /// Adds a component that processes the keys of a queue, one at a time.
    pub(crate) fn work(self: &Arc<Self>, queue: Queue, component: impl Reconcile) {
        self.add(queue, component, false);
    }

    /// Adds a component that yields to the [high-priority](Self::high_priority_queue) queues.
    pub(crate) fn work_low_priority(self: &Arc<Self>, queue: Queue, component: impl Reconcile) {
        self.add(queue, component, true);
    }

    fn add(self: &Arc<Self>, queue: Queue, component: impl Reconcile, yields: bool) {
        let runtime = self.clone();
        self.spawn(async move {
            loop {
                let key = queue.next().await;
                runtime.catch_up().await;
                while yields && !runtime.is_idle() {
                    yield_now().await;
                    runtime.catch_up().await;
                }
                match component.reconcile(&key).await {
                    Ok(()) => queue.forget(&key),
                    // Another client wrote first; the cache already has its write.
                    Err(conflict) if conflict.code == 409 => queue.add(key.clone()),
                    Err(_) => queue.add_rate_limited(key.clone()),
                }
                queue.done(&key);
                yield_now().await;
            }
        });
    }

    /// Whether the high-priority queues are empty.
    fn is_idle(&self) -> bool {
        self.high_priority.lock().iter().all(|queue| queue.is_idle())
    }

    /// Updates every cache to the committed state.
    async fn catch_up(&self) {
        let informers: Vec<_> = self.informers.lock().values().cloned().collect();
        for informer in informers {
            informer.catch_up().await;
        }
    }

    /// Runs the components until `closing` is cancelled.
    pub(crate) fn start(&self, closing: CancellationToken) {
        let mut tasks: FuturesUnordered<_> = std::mem::take(&mut *self.tasks.lock()).into_iter().collect();
        let run = self
            .clock()
            .activity()
            .track(async move { while tasks.next().await.is_some() {} });
        tokio::spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = run => {}
            }
        });
    }
}

/// Yields to the other components.
async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context: &mut Context<'_>| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
