//! What acts in a cluster, and the one task that it runs on.
//!
//! - Every component is a client: it reads caches that follow the API's watches, and writes through the API like anyone.
//! - All components run on one task, one after the other, so that the same seed, clock and requests give the same bytes.
//! - A component sees everything that is committed before it decides.
//! - Kubelets give way to the components whose decisions depend on single steps of theirs, as containers take longer to start than
//!   controllers take to decide.

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

/// The keys of objects that a component works on.
pub(crate) type Queue = Arc<WorkQueue<ObjectKey>>;

/// The fields by which caches are indexed.
const INDEXES: [((&str, &str), &str); 1] = [(("v1", "pods"), "spec.nodeName")];

/// The components of a cluster, and the caches that they share.
pub(crate) struct Runtime {
    client: Client,
    informers: Mutex<BTreeMap<(&'static str, &'static str), Arc<Informer>>>,
    /// The queues that kubelets give way to.
    prompt: Mutex<Vec<Queue>>,
    tasks: Mutex<Vec<BoxFuture<'static, ()>>>,
}

/// A component that brings one object at a time to where it should be.
pub(crate) trait Reconcile: Send + Sync + 'static {
    /// Does what is to be done for the object of this key. After an error it is called again, later each time.
    fn reconcile(&self, key: &ObjectKey) -> impl Future<Output = Result<(), Status>> + Send;
}

impl Runtime {
    /// A runtime without components.
    pub(crate) fn new(client: Client) -> Arc<Self> {
        Arc::new(Self {
            client,
            informers: Mutex::default(),
            prompt: Mutex::default(),
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

    /// Every resource whose objects are in namespaces and can be deleted.
    pub(crate) fn namespaced(&self) -> Result<Vec<Api>, Status> {
        self.client.namespaced()
    }

    pub(crate) fn recorder(&self, component: &str, host: Option<&str>) -> Result<EventRecorder, Status> {
        EventRecorder::new(&self.client, component, host)
    }

    pub(crate) fn queue(&self) -> Queue {
        Arc::new(WorkQueue::new(self.clock().clone()))
    }

    /// A queue that kubelets give way to: they take the next step when nothing is left in it.
    pub(crate) fn prompt_queue(&self) -> Queue {
        let queue = self.queue();
        self.prompt.lock().push(queue.clone());
        queue
    }

    /// The cache of a resource, shared by all components.
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

    /// Adds a component that works on the keys of a queue, one at a time.
    pub(crate) fn work(self: &Arc<Self>, queue: Queue, component: impl Reconcile) {
        self.add(queue, component, false);
    }

    /// The same for a component that gives way to the [prompt](Self::prompt_queue) ones.
    pub(crate) fn work_behind(self: &Arc<Self>, queue: Queue, component: impl Reconcile) {
        self.add(queue, component, true);
    }

    fn add(self: &Arc<Self>, queue: Queue, component: impl Reconcile, gives_way: bool) {
        let runtime = self.clone();
        self.spawn(async move {
            loop {
                let key = queue.next().await;
                runtime.catch_up().await;
                while gives_way && !runtime.is_idle() {
                    yield_now().await;
                    runtime.catch_up().await;
                }
                match component.reconcile(&key).await {
                    Ok(()) => queue.forget(&key),
                    // Somebody else wrote first; the cache has that by now.
                    Err(conflict) if conflict.code == 409 => queue.add(key.clone()),
                    Err(_) => queue.add_rate_limited(key.clone()),
                }
                queue.done(&key);
                yield_now().await;
            }
        });
    }

    /// Whether nothing is left in the queues that kubelets give way to.
    fn is_idle(&self) -> bool {
        self.prompt.lock().iter().all(|queue| queue.is_idle())
    }

    /// Brings every cache up to what is committed.
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

/// Lets the other components run.
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
