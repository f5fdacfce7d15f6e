//! The simulator: its builder, and the running instance.
//!
//! - A started simulator is listening: the first request succeeds.
//! - Dropping it stops it.
//! - Limits: without TLS it listens on the loopback interface only, because it requires no credentials.

mod clusters;
mod defaults;
mod error;
mod leadership;
mod logging;
mod start;

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use stuntdouble_server::{Origins, Shutdown};

use crate::{
    addons::{Addons, Retention, SearchUpstream},
    api::Status,
    client::Client,
    clock::Clock,
    cluster::{Controllers, container::Behaviour},
    http::{Backends, Credentials, DialOverride, Identity, Limits, Tls, kubeconfig},
    profile::Profile,
    registry::{Cidr, Snapshot},
    scheme::{Kinds, LoadError},
    store::{Durability, Etcd},
};

use defaults::default_range;
pub use error::StartError;
use start::{Cluster, Listeners};

/// Settings of a simulator. Each method names its default.
#[derive(Clone)]
pub struct Builder {
    profile: Profile,
    seed: u64,
    clock: Clock,
    bare: bool,
    listen: SocketAddr,
    advertise: Ipv4Addr,
    service_range: Cidr,
    dial: Vec<DialOverride>,
    backends: Backends,
    secure: Option<SocketAddr>,
    dns: Option<SocketAddr>,
    credentials: Credentials,
    identity: Option<Identity>,
    client_authority: Option<String>,
    nodes: u8,
    controllers: Controllers,
    addons: Addons,
    search_upstream: Option<SearchUpstream>,
    log_retention: Option<Retention>,
    history: Option<usize>,
    history_bytes: Option<usize>,
    allow_local_backends: bool,
    limits: Limits,
    data_dir: Option<PathBuf>,
    snapshot: Option<Snapshot>,
    durability: Durability,
    etcd: Option<Etcd>,
    clusters: usize,
    watch_lag: Duration,
    origins: Origins,
    image_files: Vec<(String, String)>,
    behaviours: Vec<(String, Arc<dyn Behaviour>)>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("profile", &self.profile)
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            seed: 0,
            clock: Clock::default(),
            bare: false,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            advertise: Ipv4Addr::new(10, 99, 0, 1),
            service_range: default_range(),
            dial: Vec::new(),
            backends: Backends::default(),
            secure: None,
            dns: None,
            credentials: Credentials::default(),
            identity: None,
            client_authority: None,
            nodes: 2,
            controllers: Controllers::default(),
            addons: Addons::all(),
            search_upstream: None,
            log_retention: None,
            history: None,
            history_bytes: None,
            allow_local_backends: false,
            limits: Limits::default(),
            data_dir: None,
            snapshot: None,
            durability: Durability::default(),
            etcd: None,
            clusters: 0,
            watch_lag: Duration::ZERO,
            origins: Origins::default(),
            image_files: Vec::new(),
            behaviours: Vec::new(),
        }
    }
}

impl Builder {
    /// Behaviour profile. Default: [`Profile::Documented`].
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Seed for UIDs, generated names and allocated ports. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Clock of the cluster. Default: the system's time.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Runs the API server only, without nodes, controllers and add-ons. Default: false.
    pub fn bare(mut self, bare: bool) -> Self {
        self.bare = bare;
        self
    }

    /// Loopback address of the listener without credentials. For port 0 the system chooses one. Default: 127.0.0.1:0.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// IP address that the server advertises. Default: 10.99.0.1.
    pub fn advertise_address(mut self, address: Ipv4Addr) -> Self {
        self.advertise = address;
        self
    }

    /// IP range of services. Default: 10.0.0.0/24.
    pub fn service_cluster_ip_range(mut self, range: Cidr) -> Self {
        self.service_range = range;
        self
    }

    /// Makes the proxy connect to `to` instead of `from` (`HOST:PORT`).
    pub fn dial(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.dial.push(DialOverride {
            from: from.into(),
            to: to.into(),
        });
        self
    }

    /// Servers inside this process, which the proxy reaches without a connection. Default: none.
    pub fn backends(mut self, backends: Backends) -> Self {
        self.backends = backends;
        self
    }

    /// Address of the TLS listener, which requires credentials. Default: no TLS listener.
    pub fn secure_listen(mut self, address: SocketAddr) -> Self {
        self.secure = Some(address);
        self
    }

    /// Loopback address of the DNS listener, over UDP and TCP. Default: none. A bare cluster never has one.
    pub fn dns_listen(mut self, address: SocketAddr) -> Self {
        self.dns = Some(address);
        self
    }

    /// Credentials that the TLS listener accepts besides client certificates. Default: one random token.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// Certificate of the TLS listener. Default: generated at the start.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// CA (PEM) whose client certificates the TLS listener accepts in addition to its own.
    pub fn client_authority(mut self, pem: impl Into<String>) -> Self {
        self.client_authority = Some(pem.into());
        self
    }

    /// Number of nodes, unless the cluster is bare. Default: 2.
    pub fn nodes(mut self, nodes: u8) -> Self {
        self.nodes = nodes;
        self
    }

    /// Controllers, unless the cluster is bare. Default: all of them.
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Add-ons, unless the cluster is bare. Default: all of them.
    pub fn addons(mut self, addons: Addons) -> Self {
        self.addons = addons;
        self
    }

    /// Number of changes per kind that are kept. A watch from an older version returns 410 `Gone`. Default: 10,000 in
    /// the documented profile; under `kubernetes-1.2` the sizes of its watch cache, mostly 100.
    pub fn history(mut self, changes: usize) -> Self {
        self.history = Some(changes);
        self
    }

    /// Behaviour of the containers of an image. `name` may contain `*`; without a tag it matches all tags. Default:
    /// the image data of `fixtures/images`.
    pub fn image(mut self, name: impl Into<String>, behaviour: impl Behaviour) -> Self {
        self.behaviours.push((name.into(), Arc::new(behaviour)));
        self
    }

    /// Adds images as data: the text of a YAML file in the format of `fixtures/images`, and its name in errors.
    pub fn images(mut self, file: impl Into<String>, text: impl Into<String>) -> Self {
        self.image_files.push((file.into(), text.into()));
        self
    }

    /// Resource limits for peers.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether the proxy connects to pods and nodes with a loopback, link-local or unspecified address. Default: only
    /// if [`dial`](Self::dial) replaces the address.
    pub fn allow_local_backends(mut self, allow: bool) -> Self {
        self.allow_local_backends = allow;
        self
    }

    /// Maximum size in bytes of the kept changes of a kind; four times as much for all kinds. Default: 64 MiB.
    pub fn history_bytes(mut self, bytes: usize) -> Self {
        self.history_bytes = Some(bytes);
        self
    }

    /// Directory of objects, history and log search indices, created if missing. Default: none, all in memory.
    ///
    /// A simulator started with the directory of an earlier one continues from its state, and watches resume.
    /// Containers start from scratch.
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(directory.into());
        self
    }

    /// Delay of the watch cache after writes. Default: none.
    ///
    /// During the delay, a list with a version may be older than the last write. Under [`Profile::Kubernetes12`], as in
    /// v1.2, a watch from a version also returns earlier changes that the cache has not yet received.
    pub fn watch_lag(mut self, lag: Duration) -> Self {
        self.watch_lag = lag;
        self
    }

    /// Maximum number of copies of the cluster in the process. Default: 0.
    ///
    /// `/clusters/NAME/…` addresses the copy NAME, which is created from the cluster's current state at the first
    /// request for it. `DELETE /clusters/NAME` removes it.
    pub fn clusters(mut self, clusters: usize) -> Self {
        self.clusters = clusters;
        self
    }

    /// When writes to the data directory are acknowledged. Default: [`Durability::Sync`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// etcd cluster that stores the objects. Default: none. It takes precedence over a data directory.
    ///
    /// Simulators with the same etcd and prefix are one cluster; one at a time runs nodes, controllers and add-ons.
    pub fn etcd(mut self, etcd: Etcd) -> Self {
        self.etcd = Some(etcd);
        self
    }

    /// Hosts and origins accepted by the listener without credentials. Default: its own only.
    pub fn origins(mut self, origins: Origins) -> Self {
        self.origins = origins;
        self
    }

    /// Initial objects. Existing objects are not changed. If the snapshot has nodes, they replace the default ones.
    pub fn snapshot(mut self, snapshot: Snapshot) -> Self {
        self.snapshot = Some(snapshot);
        self
    }
}

/// A running simulator.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    secure: Option<(SocketAddr, Tls)>,
    dns: Option<SocketAddr>,
    credentials: Credentials,
    cluster: Cluster,
}

impl Simulator {
    /// Returns a builder with the default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Base URL, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns a client that accesses the cluster's objects without HTTP.
    pub fn client(&self) -> Client {
        self.cluster.client.clone()
    }

    /// Adds kinds at run time: to routes, discovery, API descriptions and watches.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// use serde_json::json;
    /// use stuntdouble_simulator::{Simulator, Kinds};
    ///
    /// let simulator = Simulator::builder().bare(true).start().await?;
    /// let widget = json!({
    ///     "kind": "Widget", "group": "example.com", "version": "v1", "plural": "widgets", "namespaced": true,
    ///     "verbs": ["create", "get", "list", "watch", "update", "patch", "delete", "deletecollection"],
    ///     "fields": {"metadata": "ObjectMeta?", "size": "int32?"},
    /// });
    /// simulator.add_kinds(&Kinds::default().file("widget.json", widget.to_string()))?;
    /// let widgets = simulator.client().api("example.com/v1", "widgets")?.in_namespace("default");
    /// let made = widgets.create(json!({"metadata": {"name": "a"}, "size": 3})).await?;
    /// assert_eq!(made["size"], 3);
    /// simulator.remove_kind("example.com", "widgets").await?;
    /// assert!(simulator.client().api("example.com/v1", "widgets").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`LoadError`] if a file is invalid or a kind already exists; nothing is added then.
    pub fn add_kinds(&self, kinds: &Kinds) -> Result<(), LoadError> {
        self.cluster.client.registry().add_kinds(kinds)
    }

    /// Removes a resource in all of its versions. Its objects are deleted and its watches end.
    ///
    /// # Errors
    /// 404 if there is no such resource.
    pub async fn remove_kind(&self, group: &str, plural: &str) -> Result<(), Status> {
        self.cluster.client.registry().remove_kind(group, plural).await
    }

    /// Steps a frozen clock from one deadline to the next; at each it waits until the cluster is idle.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// use std::time::Duration;
    /// use stuntdouble_simulator::{Simulator, Clock};
    ///
    /// let clock: Clock = "frozen:2015-06-26T12:00:00Z".parse()?;
    /// let simulator = Simulator::builder().clock(clock.clone()).bare(true).start().await?;
    /// simulator.advance(Duration::from_secs(600)).await;
    /// assert_eq!(clock.stamp(), "2015-06-26T12:10:00Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn advance(&self, by: Duration) {
        self.cluster.client.clock().advance(by).await;
    }

    /// Returns all objects of the cluster, to start another one from.
    ///
    /// # Errors
    /// The store's error.
    pub async fn snapshot(&self) -> Result<Snapshot, Status> {
        self.cluster.client.registry().snapshot().await
    }

    /// Waits until the cluster is idle: nothing is left to do at the current time.
    pub async fn settle(&self) {
        self.cluster.client.clock().settle().await;
    }

    /// Address of the DNS listener, if there is one.
    pub fn dns_address(&self) -> Option<SocketAddr> {
        self.dns
    }

    /// Base URL of the TLS listener, if there is one.
    pub fn secure_url(&self) -> Option<String> {
        self.secure.as_ref().map(|(address, _)| format!("https://{address}"))
    }

    /// TLS settings of the TLS listener, if there is one: its CA certificate, and a client certificate.
    pub fn tls(&self) -> Option<&Tls> {
        self.secure.as_ref().map(|(_, tls)| tls)
    }

    /// Returns a kubeconfig for the TLS listener if there is one, otherwise for the other listener.
    pub fn kubeconfig(&self) -> serde_json::Value {
        kubeconfig::config(
            &self.secure_url().unwrap_or_else(|| self.url()),
            self.tls(),
            &self.credentials,
        )
    }

    /// Starts a copy with its own ports. It is independent from now on: objects, history, clock. Unchanged data is
    /// shared, so that a copy of a bare cluster takes microseconds and a few kilobytes. Its objects are in memory
    /// only; logs and containers start from scratch.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// use serde_json::json;
    /// use stuntdouble_simulator::Simulator;
    ///
    /// let base = Simulator::builder().bare(true).start().await?;
    /// let copy = base.fork().await?;
    /// let namespaces = copy.client().api("v1", "namespaces")?;
    /// namespaces.create(json!({"metadata": {"name": "mine"}})).await?;
    /// assert!(base.client().api("v1", "namespaces")?.get("mine").await.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`StartError`] if it cannot listen or a component cannot start.
    pub async fn fork(&self) -> Result<Self, StartError> {
        let Cluster {
            builder,
            client,
            service,
            ..
        } = &self.cluster;
        let mut cluster = builder.fork(client, service, Shutdown::default()).await?;
        cluster.builder.listen.set_port(0);
        if let Some(secure) = &mut cluster.builder.secure {
            secure.set_port(0);
        }
        Ok(Listeners::bind(&cluster.builder).await?.serve(cluster))
    }

    /// Stops the simulator: streams end, running requests are completed, and connections that are still open are
    /// closed.
    pub async fn shutdown(self) {
        let grace = self.cluster.builder.limits.grace;
        self.cluster.shutdown.gracefully(grace).await;
        // Errors are ignored: a failed store has already reported its error to the writers.
        let _ = self.cluster.client.registry().close().await;
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.cluster.shutdown.now();
    }
}
