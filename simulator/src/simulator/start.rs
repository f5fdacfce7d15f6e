//! Starting a cluster and its listeners from the settings.

use std::{fmt, io, net::SocketAddr, sync::Arc};

use stuntdouble_server::{Shutdown, bind};
use tokio::net::TcpListener;

use super::{
    Builder, Simulator, StartError,
    clusters::Forks,
    defaults::{SECURE_PORT, components},
    leadership::{Candidate, Leadership, Running},
};
use crate::{
    addons::{self, DnsListener},
    client::Client,
    cluster::{
        self,
        container::{Containers, Engine, Images},
    },
    http::{self, Authenticator, Backends, Copy, Service, Setup, Tls, proxy},
    logs,
    registry::{Registry, Settings, Snapshot},
    rng::Rng,
    store::{DataDirectory, Election},
};

/// A running cluster, without its listeners.
pub(super) struct Cluster {
    pub(super) builder: Builder,
    pub(super) client: Client,
    pub(super) service: Arc<Service>,
    pub(super) shutdown: Shutdown,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("builder", &self.builder)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Starts the simulator on the current Tokio runtime.
    pub async fn start(self) -> Result<Simulator, StartError> {
        let mut listeners = Listeners::bind(&self).await?;
        let registry = Arc::new(self.registry().await?);
        if let Some(snapshot) = &self.snapshot {
            registry.load(snapshot.clone()).await?;
        }
        registry.bootstrap().await?;
        let client = Client::new(registry.clone(), self.clock.clone());
        let shutdown = Shutdown::default();
        let mut elected = None;
        let (containers, backends) = match registry.election() {
            Some(election) if !self.bare => {
                let (leadership, backends) = self.start_election(&client, election, &listeners, &shutdown).await?;
                elected = Some(leadership.clone() as Arc<dyn http::Elected>);
                (leadership as Arc<dyn Containers>, backends)
            }
            _ => {
                let engine = self.start_components(&client, &shutdown, Some(&mut listeners)).await?;
                let backends = self.located(&engine);
                (Arc::new(engine) as Arc<dyn Containers>, backends)
            }
        };
        let mut proxy = proxy::Settings::new(self.profile);
        proxy.dial = self.dial.iter().cloned().collect();
        proxy.allow_local = self.allow_local_backends;
        proxy.backends = backends;
        let setup = Setup {
            address: format!("{}:443", self.advertise),
            proxy: proxy::Proxy::new(proxy).map_err(StartError::Proxy)?,
            containers,
            elected,
            clock: self.clock.clone(),
            limits: self.limits.clone(),
            shutdown: shutdown.clone(),
        };
        let service = Arc::new(Service::new(registry, setup));
        if self.clusters > 0 {
            let forks = Forks::new(self.clusters, self.clone(), client.clone(), &service, shutdown.clone());
            service.add_clusters(Arc::new(forks));
        }
        Ok(listeners.serve(Cluster {
            builder: self,
            client,
            service,
            shutdown,
        }))
    }

    async fn registry(&self) -> Result<Registry, StartError> {
        let settings = Settings {
            profile: self.profile,
            advertise_address: self.advertise,
            secure_port: SECURE_PORT,
            service_range: self.service_range,
            components: components(self.bare),
            history: self.history,
            watch_lag: self.watch_lag,
            history_bytes: self.history_bytes,
            mounts_tokens: self.profile.mounts_tokens()
                && !self.bare
                && self.controllers.contains("serviceaccounttoken"),
        };
        if let Some(etcd) = &self.etcd {
            return Ok(Registry::shared(settings, self.clock.clone(), self.seed, etcd).await?);
        }
        // Loaded objects have UIDs of the same seed, which must not be generated again.
        let loaded = self.snapshot.as_ref().map_or(0, Snapshot::fingerprint);
        let Some(directory) = self.data_dir.clone() else {
            let rng = Arc::new(Rng::restarted(self.seed, loaded));
            return Ok(Registry::in_memory(settings, self.clock.clone(), rng));
        };
        let directory = blocking(move || DataDirectory::open(&directory)).await?;
        let rng = Arc::new(Rng::restarted(self.seed, directory.starts().wrapping_add(loaded)));
        Ok(Registry::durable(settings, self.clock.clone(), rng, directory, self.durability).await?)
    }

    /// Starts the components of the cluster, unless it is bare: nodes, controllers and add-ons. Returns the container
    /// engine.
    ///
    /// They stop when `shutdown` closes.
    pub(super) async fn start_components(
        &self,
        client: &Client,
        shutdown: &Shutdown,
        listeners: Option<&mut Listeners>,
    ) -> Result<Arc<Engine>, StartError> {
        let engine = self.engine()?;
        if self.bare {
            return Ok(engine);
        }
        let nodes = match cluster::stored(client).await? {
            stored if self.snapshot.is_some() && !stored.is_empty() => stored,
            _ => cluster::named(self.nodes, self.profile.names_nodes_by_address()),
        };
        cluster::join(client, &nodes).await?;
        let authority = listeners.as_ref().and_then(|listeners| listeners.authority());
        let runtime = cluster::assemble(client, &nodes, &self.controllers, &engine, authority).await?;
        let names = cluster::Names::new(&runtime).await?;
        if let Some(listener) = listeners.and_then(|listeners| listeners.dns.take()) {
            let (closing, names) = (shutdown.closing.clone(), names.clone());
            shutdown.tasks.spawn(async move {
                tokio::select! {
                    () = closing.cancelled() => {}
                    () = listener.serve(names) => {}
                }
            });
        }
        let servers = addons::Servers::new(&addons::Settings {
            clock: self.clock.clone(),
            search: self.search(shutdown).await?,
            names,
        })
        .map_err(StartError::SearchUpstream)?;
        let collectors = logs::Setup {
            nodes,
            containers: Arc::new(engine.clone()),
            backends: self.backends.clone(),
            closing: shutdown.closing.clone(),
        };
        let services = self.service_range;
        addons::add(&runtime, &self.addons, &self.backends, servers, collectors, services).await?;
        runtime.start(shutdown.closing.clone());
        // Add-ons respond to the first request.
        if !self.addons.is_empty() {
            self.clock.settle().await;
        }
        Ok(engine)
    }

    /// Takes part in the leader election. Returns the containers and servers of this process.
    async fn start_election(
        &self,
        client: &Client,
        election: Election,
        listeners: &Listeners,
        shutdown: &Shutdown,
    ) -> Result<(Arc<Leadership>, Backends), StartError> {
        let idle = Running {
            engine: self.engine()?,
            backends: self.backends.clone(),
        };
        let leadership = Leadership::new(idle, election.clone());
        let candidate = Candidate {
            builder: self.clone(),
            client: client.clone(),
            election,
            leadership: leadership.clone(),
            address: listeners.plain.1.to_string(),
            shutdown: shutdown.clone(),
        };
        candidate.start().await?;
        let located = leadership.clone();
        let locate = move |host, port| located.locate(host, port);
        Ok((leadership, self.backends.clone().locate_with(locate)))
    }

    /// Creates an engine without containers.
    fn engine(&self) -> Result<Arc<Engine>, StartError> {
        let mut images = Images::known()?;
        for (file, text) in &self.image_files {
            images.add(file, text)?;
        }
        for (name, behaviour) in &self.behaviours {
            images.register(name.clone(), behaviour.clone());
        }
        Ok(Engine::new(self.clock.clone(), images, self.backends.clone()))
    }

    /// Returns the servers inside the process, including those of containers.
    fn located(&self, engine: &Engine) -> Backends {
        let network = engine.network().clone();
        let backends = self.backends.clone();
        backends.locate_with(move |host, port| network.locate(host, port))
    }

    /// Starts a copy of a cluster that was started with these settings.
    pub(super) async fn fork(
        &self,
        client: &Client,
        service: &Service,
        shutdown: Shutdown,
    ) -> Result<Cluster, StartError> {
        let clock = client.clock().fork();
        let registry = Arc::new(client.registry().fork(clock.clone()));
        let builder = Self {
            clock: clock.clone(),
            backends: self.backends.fork(),
            data_dir: None,
            etcd: None,
            clusters: 0,
            dns: None,
            ..self.clone()
        };
        let client = Client::new(registry.clone(), clock.clone());
        let engine = builder.start_components(&client, &shutdown, None).await?;
        let service = service.fork(Copy {
            registry,
            backends: builder.located(&engine),
            containers: Arc::new(engine),
            clock,
            shutdown: shutdown.clone(),
        });
        Ok(Cluster {
            builder,
            client,
            service: Arc::new(service),
            shutdown,
        })
    }
}

/// Bound listeners.
pub(super) struct Listeners {
    plain: (TcpListener, SocketAddr),
    /// The DNS listener until it is served, and its address.
    dns: Option<DnsListener>,
    dns_address: Option<SocketAddr>,
    secure: Option<((TcpListener, SocketAddr), Tls)>,
}

impl Listeners {
    pub(super) async fn bind(builder: &Builder) -> Result<Self, StartError> {
        if !builder.listen.ip().is_loopback() {
            return Err(StartError::NotLoopback(builder.listen));
        }
        let secure = match builder.secure {
            Some(address) => {
                let names = [
                    builder.advertise.to_string(),
                    builder.service_range.at(1).to_string(),
                    address.ip().to_string(),
                ];
                let identity = builder.identity.clone().unwrap_or_else(|| http::Identity::made(names));
                let tls = Tls::new(&identity, builder.client_authority.as_deref());
                Some((listen(address).await?, tls?))
            }
            None => None,
        };
        let dns = match builder.dns {
            Some(address) => Some(listen_for_dns(address).await?),
            None => None,
        };
        Ok(Self {
            plain: listen(builder.listen).await?,
            dns_address: dns.as_ref().map(DnsListener::address),
            dns,
            secure,
        })
    }

    /// Returns the CA certificate of the TLS listener (PEM).
    fn authority(&self) -> Option<&str> {
        self.secure.as_ref().map(|(_, tls)| tls.authority())
    }

    /// Serves a cluster.
    pub(super) fn serve(self, cluster: Cluster) -> Simulator {
        let builder = &cluster.builder;
        let mut credentials = builder.credentials.clone();
        if self.secure.is_some() {
            credentials.ensure_token();
        }
        let (listener, address) = self.plain;
        http::serve(listener, cluster.service.clone(), builder.origins.clone(), None);
        let secure = self.secure.map(|((listener, address), tls)| {
            let authenticator = Authenticator {
                tls: tls.clone(),
                credentials: credentials.clone(),
                clock: builder.clock.clone(),
            };
            let origins = builder.origins.clone();
            http::serve(listener, cluster.service.clone(), origins, Some(authenticator));
            (address, tls)
        });
        Simulator {
            address,
            secure,
            dns: self.dns_address,
            credentials,
            cluster,
        }
    }
}

/// Runs blocking work on a data directory.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failure) => std::panic::resume_unwind(failure.into_panic()),
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    bind(address).map_err(|source| cannot_listen(address, source))
}

async fn listen_for_dns(address: SocketAddr) -> Result<DnsListener, StartError> {
    if !address.ip().is_loopback() {
        return Err(StartError::NotLoopback(address));
    }
    let bound = DnsListener::bind(address).await;
    bound.map_err(|source| cannot_listen(address, source))
}

fn cannot_listen(address: SocketAddr, source: io::Error) -> StartError {
    match source.kind() {
        io::ErrorKind::AddrInUse => StartError::InUse(address),
        _ => StartError::Listen { address, source },
    }
}
