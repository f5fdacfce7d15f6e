//! The pods' network: their addresses, and the HTTP servers that listen on them.

use std::{
    collections::{BTreeMap, HashMap},
    net::Ipv4Addr,
    sync::Arc,
};

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use parking_lot::RwLock;

use crate::cluster::{
    Resolution,
    network::{Backend, Backends, Body, Located, full_body},
};

/// An HTTP server in a container.
pub(crate) trait Server: Send + Sync {
    /// Responds to a request.
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>>;
}

/// The state of an address and port.
pub(crate) enum Host {
    /// No simulated pod has the address.
    Unknown,
    /// The pod does not listen on the port.
    Refused,
    /// The server that listens on the port.
    Listening(Arc<dyn Server>),
}

type Ports = BTreeMap<u16, Arc<dyn Server>>;
/// Resolution of the names and addresses of services.
pub(crate) trait Resolve: Send + Sync {
    /// Returns the address and port of a pod behind a port of a service. `host` is the service's name or address.
    fn target(&self, host: &str, port: u16, namespace: &str) -> Option<(Ipv4Addr, u16)>;

    /// Resolves a name for a pod of `namespace`; also returns the full name. Without `search`, `name` must be the
    /// full name.
    fn resolve_name(&self, name: &str, namespace: &str, search: bool) -> (String, Resolution);
}

/// The addresses of the simulated pods.
pub(crate) struct Network {
    /// Servers outside containers.
    backends: Backends,
    hosts: RwLock<HashMap<Ipv4Addr, Ports>>,
    resolve: RwLock<Option<Box<dyn Resolve>>>,
}

impl Network {
    /// Creates a network without pods. The `backends` listen on it as well.
    pub(super) fn new(backends: Backends) -> Self {
        Self {
            backends,
            hosts: RwLock::default(),
            resolve: RwLock::default(),
        }
    }

    /// Returns the server of a container at an address, for the proxy.
    pub(crate) fn locate(&self, host: Ipv4Addr, port: u16) -> Located {
        match self.at(host, port) {
            Host::Unknown => Located::Elsewhere,
            Host::Refused => Located::Refused,
            Host::Listening(server) => Located::Here(Arc::new(move |request: Request<Body>| {
                let answer: BoxFuture<'static, Response<Body>> = Box::pin(answer_buffered(server.clone(), request));
                answer
            })),
        }
    }

    /// Adds a server outside containers at an address.
    pub(crate) fn serve(&self, host: Ipv4Addr, port: u16, server: Arc<dyn Backend>) {
        self.backends.insert(format!("{host}:{port}"), server);
    }

    /// Adds the address of a pod.
    pub(crate) fn add(&self, host: Ipv4Addr) {
        self.hosts.write().entry(host).or_default();
    }

    /// Removes the address of a pod, and all its servers.
    pub(crate) fn remove(&self, host: Ipv4Addr) {
        self.hosts.write().remove(&host);
    }

    /// Lets `server` listen until the returned guard is dropped. Returns `None` if the port is taken.
    pub(super) fn listen(self: &Arc<Self>, host: Ipv4Addr, port: u16, server: Arc<dyn Server>) -> Option<Listening> {
        let mut hosts = self.hosts.write();
        let ports = hosts.entry(host).or_default();
        if ports.contains_key(&port) {
            return None;
        }
        ports.insert(port, server);
        Some(Listening {
            network: self.clone(),
            host,
            port,
        })
    }

    /// Returns the state of an address and port.
    pub(crate) fn at(&self, host: Ipv4Addr, port: u16) -> Host {
        if let Some(backend) = self.backends.at(&format!("{host}:{port}")) {
            return Host::Listening(Arc::new(BackendServer(backend)));
        }
        match self.hosts.read().get(&host) {
            None => Host::Unknown,
            Some(ports) => match ports.get(&port) {
                Some(server) => Host::Listening(server.clone()),
                None => Host::Refused,
            },
        }
    }

    /// Sets the resolver of names and service addresses.
    pub(crate) fn resolve_with(&self, resolve: impl Resolve + 'static) {
        *self.resolve.write() = Some(Box::new(resolve));
    }

    /// Resolves a name for a pod of `namespace`; also returns the full name. Without `search`, `name` must be the
    /// full name.
    pub(super) fn resolve_name(&self, name: &str, namespace: &str, search: bool) -> (String, Resolution) {
        match &*self.resolve.read() {
            Some(resolve) => resolve.resolve_name(name, namespace, search),
            None => (name.to_owned(), Resolution::Foreign),
        }
    }

    /// Returns the addresses of a name, or `host` itself if it is an address.
    pub(super) fn lookup(&self, host: &str, namespace: &str) -> Vec<Ipv4Addr> {
        if let Ok(address) = host.parse() {
            return vec![address];
        }
        match self.resolve_name(host, namespace, true) {
            (_, Resolution::Addresses(addresses)) => addresses,
            _ => Vec::new(),
        }
    }

    /// Resolves a name or address to the address and port of a pod. Returns `None` if the name does not resolve.
    pub(super) fn resolve(&self, host: &str, port: u16, namespace: &str) -> Option<(Ipv4Addr, u16)> {
        if let Ok(address) = host.parse::<Ipv4Addr>()
            && self.hosts.read().contains_key(&address)
        {
            return Some((address, port));
        }
        let target = || self.resolve.read().as_ref()?.target(host, port, namespace);
        let resolved = target();
        resolved.or_else(|| host.parse().ok().map(|address| (address, port)))
    }
}

/// Maximum size in bytes of a body that is read into memory.
const MAX_BODY_BYTES: usize = 8 << 20;

/// Reads a body into memory. Returns `None` if it is too large.
async fn read(mut body: Body) -> Option<Bytes> {
    let mut content = BytesMut::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        if content.len() + data.len() > MAX_BODY_BYTES {
            return None;
        }
        content.extend_from_slice(&data);
    }
    Some(content.freeze())
}

/// Reads the whole request before the container responds.
async fn answer_buffered(server: Arc<dyn Server>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    match read(body).await {
        Some(content) => server.answer(Request::from_parts(parts, content)).await.map(full_body),
        None => {
            let mut response = Response::new(full_body(""));
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            response
        }
    }
}

/// A server outside containers.
struct BackendServer(Arc<dyn Backend>);

impl Server for BackendServer {
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> {
        let backend = self.0.clone();
        Box::pin(async move {
            let (parts, body) = backend.answer(request.map(full_body)).await.into_parts();
            Response::from_parts(parts, read(body).await.unwrap_or_default())
        })
    }
}

/// A port in use. Dropping it closes the port.
pub(super) struct Listening {
    network: Arc<Network>,
    host: Ipv4Addr,
    port: u16,
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(ports) = self.network.hosts.write().get_mut(&self.host) {
            ports.remove(&self.port);
        }
    }
}
