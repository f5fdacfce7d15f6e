//! A controller written with `kube` reconciles in spite of a closed connection, an expired watch and a conflict.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, ListParams, ObjectMeta, Patch, PatchParams, PostParams, WatchParams};
use kube::runtime::controller::{self, Action, Controller};
use kube::runtime::watcher;
use kube::{Client, Config, ResourceExt};
use serde_json::json;
use stuntdouble_simulator::Simulator;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Number of changes of a kind that the server keeps.
const HISTORY: usize = 20;
/// Time limit of the controller for each task.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A TCP relay to a server whose connections can be closed.
struct Relay {
    address: SocketAddr,
    open: watch::Sender<bool>,
}

impl Relay {
    async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (open, is_open) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(relay(client, server, is_open.clone()));
            }
        });
        Self { address, open }
    }

    /// Closes all connections and refuses new ones.
    fn close(&self) {
        self.open.send_replace(false);
    }

    fn open(&self) {
        self.open.send_replace(true);
    }
}

async fn relay(mut client: TcpStream, server: SocketAddr, mut open: watch::Receiver<bool>) {
    let pass = async {
        let mut server = TcpStream::connect(server).await?;
        tokio::io::copy_bidirectional(&mut client, &mut server).await
    };
    tokio::select! {
        biased;
        // The relay was dropped or closed.
        _ = open.wait_for(|is_open| !is_open) => {}
        // Errors here concern only the client: nothing to report.
        _ = pass => {}
    }
}

/// State of the controller.
struct Context {
    api: Api<ServiceAccount>,
    /// Whether the next copy is changed by another client between read and write.
    interference: AtomicBool,
    conflicts: AtomicUsize,
}

impl Context {
    async fn interfere(&self, name: &str) -> Result<(), kube::Error> {
        if self.interference.swap(false, Ordering::SeqCst) {
            let patch = Patch::Merge(json!({"metadata": {"annotations": {"seen-by": "somebody else"}}}));
            self.api.patch(name, &PatchParams::default(), &patch).await?;
        }
        Ok(())
    }
}

/// Copies the annotation `value` of each account with the label `copied` to another account.
async fn reconcile(original: Arc<ServiceAccount>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let name = format!("{}-copy", original.name_any());
    match context.api.get_opt(&name).await? {
        None => {
            let copy = account(&name, false, value(&original));
            context.api.create(&PostParams::default(), &copy).await?;
        }
        Some(mut copy) if value(&copy) != value(&original) => {
            context.interfere(&name).await?;
            copy.annotations_mut()
                .insert("value".to_owned(), value(&original).to_owned());
            context.api.replace(&name, &PostParams::default(), &copy).await?;
        }
        Some(_) => {}
    }
    Ok(Action::await_change())
}

fn after_error(_: Arc<ServiceAccount>, error: &kube::Error, context: Arc<Context>) -> Action {
    if matches!(error, kube::Error::Api(status) if status.code == 409) {
        context.conflicts.fetch_add(1, Ordering::SeqCst);
    }
    Action::requeue(Duration::from_millis(10))
}

fn value(account: &ServiceAccount) -> &str {
    account.annotations().get("value").map_or("", String::as_str)
}

fn account(name: &str, is_copied: bool, value: &str) -> ServiceAccount {
    let labels = is_copied.then(|| [("copied".to_owned(), "yes".to_owned())].into());
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        labels,
        annotations: Some([("value".to_owned(), value.to_owned())].into()),
        ..ObjectMeta::default()
    };
    ServiceAccount {
        metadata,
        ..ServiceAccount::default()
    }
}

/// Whether the watch failed because its version has expired.
fn is_expired(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchError(status) => status.code == 410,
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 410,
        _ => false,
    }
}

fn client(address: SocketAddr) -> Client {
    Client::try_from(Config::new(format!("http://{address}").parse().unwrap())).unwrap()
}

/// The test's own client of the cluster, not behind the relay.
struct Observer(Api<ServiceAccount>);

impl Observer {
    async fn write(&self, name: &str, value: &str) {
        let created = self.0.create(&PostParams::default(), &account(name, true, value)).await;
        if created.is_err() {
            let patch = Patch::Merge(json!({"metadata": {"annotations": {"value": value}}}));
            self.0.patch(name, &PatchParams::default(), &patch).await.unwrap();
        }
    }

    /// Waits until the copy has the value `wanted`.
    async fn wait_for_copy(&self, name: &str, wanted: &str) {
        let copy = format!("{name}-copy");
        let waiting = async {
            loop {
                let list = self.0.list(&ListParams::default()).await.unwrap();
                let mut copies = list.items.iter().filter(|account| account.name_any() == copy);
                if copies.any(|account| value(account) == wanted) {
                    return;
                }
                let version = list.metadata.resource_version.unwrap();
                let changes = self
                    .0
                    .watch(&WatchParams::default().disable_bookmarks(), &version)
                    .await;
                // List again after any event or error.
                let _ = std::pin::pin!(changes.unwrap()).next().await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.unwrap();
    }
}

#[tokio::test]
async fn a_controller_survives_a_closed_connection_an_expired_watch_and_a_conflict() {
    let cluster = Simulator::builder().bare(true).history(HISTORY).start().await.unwrap();
    let relay = Relay::start(cluster.address()).await;
    let observer = Observer(Api::namespaced(client(cluster.address()), "default"));
    let api: Api<ServiceAccount> = Api::namespaced(client(relay.address), "default");
    let context = Arc::new(Context {
        api: api.clone(),
        interference: AtomicBool::new(false),
        conflicts: AtomicUsize::new(0),
    });
    let (expired, mut is_expired_seen) = watch::channel(false);
    let steps = Controller::new(api, watcher::Config::default().labels("copied=yes"))
        .run(reconcile, after_error, context.clone())
        .for_each(move |step| {
            if let Err(controller::Error::QueueError(error)) = &step
                && is_expired(error)
            {
                expired.send_replace(true);
            }
            std::future::ready(())
        });
    let controller = tokio::spawn(steps);

    observer.write("first", "1").await;
    observer.wait_for_copy("first", "1").await;

    // A conflict.
    context.interference.store(true, Ordering::SeqCst);
    observer.write("first", "2").await;
    observer.wait_for_copy("first", "2").await;
    assert_eq!(context.conflicts.load(Ordering::SeqCst), 1);
    let copy = observer.0.get("first-copy").await.unwrap();
    assert_eq!(copy.annotations()["seen-by"], "somebody else");

    // A closed connection.
    relay.close();
    observer.write("second", "1").await;
    relay.open();
    observer.wait_for_copy("second", "1").await;

    // A watch whose version is no longer kept.
    relay.close();
    for value in 0..=2 * HISTORY {
        observer.write("third", &value.to_string()).await;
    }
    relay.open();
    observer.wait_for_copy("third", &(2 * HISTORY).to_string()).await;
    let seen = tokio::time::timeout(TIMEOUT, is_expired_seen.wait_for(|seen| *seen));
    assert!(*seen.await.unwrap().unwrap());
    controller.abort();
}
