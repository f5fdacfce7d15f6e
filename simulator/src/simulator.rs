//! The simulator as a value: built, started, asked for its address, stopped.
//!
//! - Started means listening: the first request is answered.
//! - Dropping it stops it.
//!
//! Limits: it listens on the loopback interface only, since it asks nobody for credentials.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use crate::{
    clock::Clock,
    http::{self, Limits, Service, Stop},
    profile::Profile,
    registry::Registry,
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
}

/// What a simulator is to be like; what is not said has the default that each method names.
#[derive(Clone, Debug)]
pub struct Builder {
    profile: Profile,
    seed: u64,
    clock: Clock,
    bare: bool,
    listen: SocketAddr,
    advertise: IpAddr,
    service_range: String,
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
            advertise: IpAddr::from([10, 99, 0, 1]),
            service_range: "10.0.0.0/24".to_owned(),
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
    pub fn advertise_address(mut self, address: IpAddr) -> Self {
        self.advertise = address;
        self
    }

    /// The range that the addresses of services are taken from, as `ADDRESS/BITS`; 10.0.0.0/24 where nothing is said.
    pub fn service_cluster_ip_range(mut self, range: impl Into<String>) -> Self {
        self.service_range = range.into();
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
        let registry = Arc::new(Registry::default());
        let stop = Stop::default();
        let advertised = SocketAddr::new(self.advertise, 443).to_string();
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
