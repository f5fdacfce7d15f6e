//! The simulator as a value: built, started, asked for its address, stopped.
//!
//! - Started means listening: the first request is answered.
//! - Dropping it stops it.
//!
//! Limits: without TLS it listens on the loopback interface only, since it asks nobody for credentials.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use futures::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::{Request, Response};
use stuntdouble_search::{Options, SearchServer};
use stuntdouble_server::{Shutdown, bind};
use tokio::net::TcpListener;

use crate::{
    api::Status,
    client::Client,
    clock::Clock,
    cluster::{self, Addon, Controllers, container::FakeContainers},
    http::{
        self, Authenticator, Backends, BodyError, Credentials, DialOverride, Identity, Limits, Service, Setup, Tls,
        TlsError, kubeconfig, proxy,
    },
    profile::Profile,
    registry::{Cidr, Component, Registry, Settings},
    rng::Rng,
    scheme::{Kinds, LoadError},
};

/// Why a simulator does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is one that others can reach.
    #[error(
        "{0} is not a loopback address: the listener asks nobody for credentials, so it listens on 127.0.0.1 or ::1 only"
    )]
    NotLoopback(SocketAddr),
    /// The port is taken.
    #[error("{0} is in use: stop what listens there, or take another port (port 0 lets the system choose one)")]
    InUse(SocketAddr),
    /// The system refuses to listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The certificates or keys cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The cryptography offers nothing that can be used.
    #[error("the proxy cannot be set up: {0}")]
    Proxy(BodyError),
    /// What a cluster starts with cannot be created in this one.
    #[error("the cluster cannot be set up: {0}")]
    SetUp(#[from] Status),
}

/// Where the endpoints of the service `kubernetes` say that the server is.
const SECURE_PORT: u16 = 6443;

#[expect(clippy::expect_used, reason = "the text is a range")]
fn default_range() -> Cidr {
    "10.0.0.0/24".parse().expect("a range")
}

/// The components that tell of their health: a bare server has nothing but its store.
fn components(bare: bool) -> Vec<Component> {
    let part = |name, port| {
        if bare {
            Component::refused(name, port)
        } else {
            Component::healthy(name)
        }
    };
    let store = Component {
        name: "etcd-0".to_owned(),
        health: Ok(r#"{"health":"true"}"#.to_owned()),
    };
    vec![part("controller-manager", 10252), part("scheduler", 10251), store]
}

/// What a simulator is to be like; what is not said has the default that each method names.
#[derive(Clone, Debug)]
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
    credentials: Credentials,
    identity: Option<Identity>,
    client_authority: Option<String>,
    nodes: u8,
    controllers: Controllers,
    log_search: bool,
    search_upstream: Option<String>,
    limits: Limits,
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
            credentials: Credentials::default(),
            identity: None,
            client_authority: None,
            nodes: 2,
            controllers: Controllers::default(),
            log_search: true,
            search_upstream: None,
            limits: Limits::default(),
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

    /// Whether the log search add-on is there, unless it is bare; it is where nothing is said.
    pub fn log_search(mut self, log_search: bool) -> Self {
        self.log_search = log_search;
        self
    }

    /// Where the log search backend is (`HOST:PORT`); inside this process where nothing is said.
    pub fn search_upstream(mut self, upstream: impl Into<String>) -> Self {
        self.search_upstream = Some(upstream.into());
        self
    }

    /// What a peer may use up.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Starts it on the runtime that this is awaited on.
    pub async fn start(self) -> Result<Simulator, StartError> {
        if !self.listen.ip().is_loopback() {
            return Err(StartError::NotLoopback(self.listen));
        }
        let tls = match self.secure {
            Some(address) => {
                let names = [
                    self.advertise.to_string(),
                    self.service_range.at(1).to_string(),
                    address.ip().to_string(),
                ];
                let identity = self.identity.unwrap_or_else(|| Identity::made(names));
                Some((
                    listen(address).await?,
                    Tls::new(&identity, self.client_authority.as_deref())?,
                ))
            }
            None => None,
        };
        let mut credentials = self.credentials;
        if tls.is_some() {
            credentials.ensure_token();
        }
        let (listener, address) = listen(self.listen).await?;
        let settings = Settings {
            profile: self.profile,
            advertise_address: self.advertise,
            secure_port: SECURE_PORT,
            service_range: self.service_range,
            components: components(self.bare),
        };
        let registry = Arc::new(Registry::in_memory(
            settings,
            self.clock.clone(),
            Arc::new(Rng::seeded(self.seed)),
        ));
        registry.bootstrap().await?;
        let client = Client::new(registry.clone(), self.clock.clone());
        let shutdown = Shutdown::default();
        let mut dial = self.dial;
        if !self.bare {
            let nodes = cluster::named(self.nodes);
            cluster::join(&client, &nodes).await?;
            if self.log_search {
                let addresses =
                    cluster::install(&registry, &self.clock, &nodes, Addon::named(cluster::LOG_SEARCH)?).await?;
                match &self.search_upstream {
                    Some(upstream) => dial.extend(addresses.into_iter().map(|from| DialOverride {
                        from,
                        to: upstream.clone(),
                    })),
                    None => log_search(&self.clock, addresses, &self.backends),
                }
            }
            cluster::start(&client, &nodes, &self.controllers, shutdown.closing.clone()).await?;
        }
        let mut proxy = proxy::Settings::new(self.profile);
        proxy.dial = dial.into_iter().collect();
        proxy.backends = self.backends;
        let setup = Setup {
            address: format!("{}:443", self.advertise),
            proxy: proxy::Proxy::new(proxy).map_err(StartError::Proxy)?,
            containers: Arc::new(FakeContainers::new(self.clock.clone())),
            clock: self.clock.clone(),
            limits: self.limits.clone(),
            shutdown: shutdown.clone(),
        };
        let service = Arc::new(Service::new(registry, setup));
        http::serve(listener, service.clone(), None);
        let secure = tls.map(|((listener, address), tls)| {
            let authenticator = Authenticator {
                tls: tls.clone(),
                credentials: credentials.clone(),
                clock: self.clock,
            };
            http::serve(listener, service, Some(authenticator));
            (address, tls)
        });
        Ok(Simulator {
            address,
            secure,
            credentials,
            limits: self.limits,
            shutdown,
            client,
        })
    }
}

/// Lets one log search backend answer for all its pods.
fn log_search(clock: &Clock, addresses: Vec<String>, backends: &Backends) {
    let clock = clock.clone();
    let server = SearchServer::new(Options {
        clock: Arc::new(move || clock.now()),
        ..Options::default()
    });
    let answer = move |request: Request<proxy::Body>| -> BoxFuture<'static, Response<proxy::Body>> {
        let server = server.clone();
        Box::pin(async move {
            server
                .handle(request)
                .await
                .map(|body| body.map_err(|never| match never {}).boxed_unsync())
        })
    };
    let backend: Arc<dyn http::Backend> = Arc::new(answer);
    for address in addresses {
        backends.insert(address, backend.clone());
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    bind(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::InUse(address),
        _ => StartError::Listen { address, source },
    })
}

/// A running simulator.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    secure: Option<(SocketAddr, Tls)>,
    credentials: Credentials,
    limits: Limits,
    shutdown: Shutdown,
    client: Client,
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
        self.client.clone()
    }

    /// Serves more kinds from now on: routes, discovery, descriptions and watches have them at once.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// use serde_json::json;
    /// use stuntdouble_simulator::{Simulator, scheme::Kinds};
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
        self.client.registry().add_kinds(kinds)
    }

    /// No longer serves a resource, in any of its versions. Its objects are removed, its watches end.
    ///
    /// # Errors
    /// 404 if there is no such resource.
    pub async fn remove_kind(&self, group: &str, plural: &str) -> Result<(), Status> {
        self.client.registry().remove_kind(group, plural).await
    }

    /// Steps a frozen clock, from one deadline to the next; at each it waits until nothing is left to do.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// use std::time::Duration;
    /// use stuntdouble_simulator::{Simulator, clock::Clock};
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
        self.client.clock().advance(by).await;
    }

    /// Waits until nothing that acts in the cluster has anything left to do at this time.
    pub async fn settle(&self) {
        self.client.clock().settle().await;
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

    /// Stops it: streams end, requests under way are answered, and what then is still open is cut.
    pub async fn shutdown(self) {
        self.shutdown.gracefully(self.limits.grace).await;
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.shutdown.now();
    }
}
