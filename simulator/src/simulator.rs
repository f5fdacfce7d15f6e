//! The simulator as a value: built, started, asked for its address, stopped.
//!
//! - Started means listening: the first request is answered.
//! - Dropping it stops it.
//!
//! Limits: it listens on the loopback interface only, since it asks nobody for credentials.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use crate::{
    api::Status,
    clock::{Chance, Clock},
    http::{self, Limits, Service, Stop},
    profile::Profile,
    registry::{Cidr, Component, Registry, Settings},
    scheme::Scheme,
};

/// Why a simulator does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is one that others can reach.
    #[error("{0} is not a loopback address: the listener asks nobody for credentials, so it listens on 127.0.0.1 or ::1 only")]
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
    let part = |name, port| if bare { Component::refused(name, port) } else { Component::healthy(name) };
    let store = Component { name: "etcd-0".to_owned(), health: Ok(r#"{"health":"true"}"#.to_owned()) };
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
    dial: Vec<(String, String)>,
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

    /// Where chance starts; 0 where nothing is said.
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
        self.dial.push((from.into(), to.into()));
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
        let (listener, address) = http::bind(self.listen).await.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => StartError::InUse(self.listen),
            _ => StartError::Listen { address: self.listen, source },
        })?;
        let settings = Settings {
            profile: self.profile,
            advertise_address: self.advertise,
            secure_port: SECURE_PORT,
            service_range: self.service_range,
            components: components(self.bare),
        };
        let registry = Arc::new(Registry::in_memory(settings, self.clock, Arc::new(Chance::seeded(self.seed))));
        registry.bootstrap().await?;
        let stop = Stop::default();
        let advertised = format!("{}:443", self.advertise);
        let service = Service::new(registry, Scheme::builtin().resources(), self.profile, &advertised, self.limits.clone(), stop.clone());
        http::serve(listener, Arc::new(service));
        Ok(Simulator { address, limits: self.limits, stop })
    }
}

/// A running simulator.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    limits: Limits,
    stop: Stop,
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

    /// Stops it: streams end, requests under way are answered, and what then is still open is cut.
    pub async fn shutdown(self) {
        self.stop.gracefully(self.limits.grace).await;
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.stop.now();
    }
}
