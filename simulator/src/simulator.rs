//! The simulator as a value: built, started, asked for its address, stopped.
//!
//! - Started means listening: the first request is answered.
//! - Dropping it stops it.
//!
//! Limits: without TLS it listens on the loopback interface only, since it asks nobody for credentials.

mod acting;
mod clusters;
mod defaults;
mod error;
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

/// What a simulator is to be like; what is not said has the default that each method names.
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
    /// Whose word counts; the documents' where nothing is said.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Seed for UIDs, generated names and allocated ports. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The time that is stamped; the system's where nothing is said.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Whether it is an API server and nothing else: no nodes, controllers or add-ons.
    pub fn bare(mut self, bare: bool) -> Self {
        self.bare = bare;
        self
    }

    /// Where to listen, on the loopback interface; a port of 0 is chosen by the system. 127.0.0.1:0 where nothing is said.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// The address that the server says it has; 10.99.0.1 where nothing is said.
    pub fn advertise_address(mut self, address: Ipv4Addr) -> Self {
        self.advertise = address;
        self
    }

    /// The range that services get their addresses from; 10.0.0.0/24 where nothing is said.
    pub fn service_cluster_ip_range(mut self, range: Cidr) -> Self {
        self.service_range = range;
        self
    }

    /// Sends what the proxy would send to `from` (`HOST:PORT`) to `to` instead.
    pub fn dial(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.dial.push(DialOverride {
            from: from.into(),
            to: to.into(),
        });
        self
    }

    /// Servers inside this process, which the proxy reaches without a connection.
    pub fn backends(mut self, backends: Backends) -> Self {
        self.backends = backends;
        self
    }

    /// Where to listen for TLS, asking for credentials; nowhere where nothing is said.
    pub fn secure_listen(mut self, address: SocketAddr) -> Self {
        self.secure = Some(address);
        self
    }

    /// Loopback address at which the names of the cluster resolve, over UDP and TCP. Default: none, and none if it is bare.
    pub fn dns_listen(mut self, address: SocketAddr) -> Self {
        self.dns = Some(address);
        self
    }

    /// Credentials that the TLS listener accepts besides client certificates. Default: one random token.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// The secure listener's certificate; one made at the start where nothing is said.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// The authority (PEM) whose certificates the secure listener takes from clients, beside its own.
    pub fn client_authority(mut self, pem: impl Into<String>) -> Self {
        self.client_authority = Some(pem.into());
        self
    }

    /// How many nodes there are, unless it is bare; 2 where nothing is said.
    pub fn nodes(mut self, nodes: u8) -> Self {
        self.nodes = nodes;
        self
    }

    /// Controllers that run, unless it is bare. Default: all of them.
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Add-ons of the cluster, unless it is bare. Default: all of them.
    pub fn addons(mut self, addons: Addons) -> Self {
        self.addons = addons;
        self
    }

    /// How many changes of each kind are kept; a watch from before them is answered with 410 `Gone`. Default: 10,000 as documented;
    /// under `kubernetes-1.2` as its watch cache has them, mostly 100.
    pub fn history(mut self, changes: usize) -> Self {
        self.history = Some(changes);
        self
    }

    /// What the containers of an image run; the name may hold `*`, and without a tag stands for every tag. Default: what
    /// `fixtures/images` has for the image.
    pub fn image(mut self, name: impl Into<String>, behaviour: impl Behaviour) -> Self {
        self.behaviours.push((name.into(), Arc::new(behaviour)));
        self
    }

    /// More images as data: the text of a YAML file of the form of `fixtures/images`, and the name that errors give it.
    pub fn images(mut self, file: impl Into<String>, text: impl Into<String>) -> Self {
        self.image_files.push((file.into(), text.into()));
        self
    }

    /// What a peer may use up.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether the proxy connects to pods and nodes whose address is loopback, link-local or unspecified. Default: no, only if
    /// [`dial`](Self::dial) replaces the address.
    pub fn allow_local_backends(mut self, allow: bool) -> Self {
        self.allow_local_backends = allow;
        self
    }

    /// Bytes of changes that are kept of each kind for watches; four times as many of all kinds together. Default: 64 MiB.
    pub fn history_bytes(mut self, bytes: usize) -> Self {
        self.history_bytes = Some(bytes);
        self
    }

    /// Directory that keeps the objects, their history and the indices of the log search service, made if it does not exist. Default: none, all is in memory only.
    ///
    /// A simulator that starts with the directory of an earlier one goes on where that ended; watches resume. Containers start anew.
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(directory.into());
        self
    }

    /// How long the watch cache lags behind writes. Default: not at all.
    ///
    /// Meanwhile a list with a version may be older than the last write. As in v1.2, under [`Profile::Kubernetes12`] a watch from a version gets changes before it
    /// that the cache has not seen yet.
    pub fn watch_lag(mut self, lag: Duration) -> Self {
        self.watch_lag = lag;
        self
    }

    /// How many copies of the cluster there can be in the process. Default: 0.
    ///
    /// `/clusters/NAME/…` addresses the copy NAME, which is made at the first request for it as the cluster is then. `DELETE /clusters/NAME` removes it.
    pub fn clusters(mut self, clusters: usize) -> Self {
        self.clusters = clusters;
        self
    }

    /// When a write to the data directory is acknowledged. Default: [`Durability::Sync`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// etcd cluster that keeps the objects. Default: none. It takes precedence over a data directory.
    ///
    /// Simulators over the same etcd cluster and prefix are one cluster. One of them at a time runs the nodes, controllers and add-ons.
    pub fn etcd(mut self, etcd: Etcd) -> Self {
        self.etcd = Some(etcd);
        self
    }

    /// Hosts and origins whose requests the listener without credentials accepts. Default: its own only.
    pub fn origins(mut self, origins: Origins) -> Self {
        self.origins = origins;
        self
    }

    /// Objects to start with. Objects that exist already stay as they are. If the snapshot has nodes, they are the cluster's.
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
    /// A simulator to be described.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client that reads and writes the cluster's objects without HTTP.
    pub fn client(&self) -> Client {
        self.cluster.client.clone()
    }

    /// Serves more kinds from now on: routes, discovery, descriptions and watches have them at once.
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
    /// A file that does not make sense, or a kind that is there already; nothing is added then.
    pub fn add_kinds(&self, kinds: &Kinds) -> Result<(), LoadError> {
        self.cluster.client.registry().add_kinds(kinds)
    }

    /// No longer serves a resource, in any of its versions. Its objects are removed, its watches end.
    ///
    /// # Errors
    /// 404 if there is no such resource.
    pub async fn remove_kind(&self, group: &str, plural: &str) -> Result<(), Status> {
        self.cluster.client.registry().remove_kind(group, plural).await
    }

    /// Steps a frozen clock, from one deadline to the next; at each it waits until nothing is left to do.
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

    /// All objects of the cluster, to start another one from.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn snapshot(&self) -> Result<Snapshot, Status> {
        self.cluster.client.registry().snapshot().await
    }

    /// Waits until nothing that acts in the cluster has anything left to do at this time.
    pub async fn settle(&self) {
        self.cluster.client.clock().settle().await;
    }

    /// The address of the DNS listener, where there is one.
    pub fn dns_address(&self) -> Option<SocketAddr> {
        self.dns
    }

    /// The base URL of the secure listener, where there is one.
    pub fn secure_url(&self) -> Option<String> {
        self.secure.as_ref().map(|(address, _)| format!("https://{address}"))
    }

    /// The secure listener's TLS, where there is one: what clients verify it with, and a certificate for them.
    pub fn tls(&self) -> Option<&Tls> {
        self.secure.as_ref().map(|(_, tls)| tls)
    }

    /// The configuration that clients of the cluster read: for the secure listener where there is one, else for the other.
    pub fn kubeconfig(&self) -> serde_json::Value {
        kubeconfig::config(
            &self.secure_url().unwrap_or_else(|| self.url()),
            self.tls(),
            &self.credentials,
        )
    }

    /// A copy of it that listens on ports of its own and is independent from now on: objects, history, clock. It shares what neither changes, so that a copy of a
    /// bare cluster takes microseconds and a few kilobytes. Its objects are in memory only; logs and containers start anew.
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
    /// It cannot listen, or what acts in it does not start.
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

    /// Stops it: streams end, requests under way are answered, and what then is still open is cut.
    pub async fn shutdown(self) {
        let grace = self.cluster.builder.limits.grace;
        self.cluster.shutdown.gracefully(grace).await;
        // A store that has failed has told its writers so.
        let _ = self.cluster.client.registry().close().await;
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.cluster.shutdown.now();
    }
}
