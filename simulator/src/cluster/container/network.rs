//! The network that containers serve on: pods' addresses and the HTTP servers that listen there.

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
    Meaning,
    network::{Backend, Backends, Body, Located, whole},
};

/// An HTTP server in a container.
pub(crate) trait Server: Send + Sync {
    /// Answers a request.
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>>;
}

/// What is at an address.
pub(crate) enum Host {
    /// Nothing that runs here.
    Unknown,
    /// A pod that does not listen on the port.
    Refused,
    /// A server.
    Listening(Arc<dyn Server>),
}

type Ports = BTreeMap<u16, Arc<dyn Server>>;
/// How names and addresses of services are resolved.
pub(crate) trait Resolve: Send + Sync {
    /// The pod's address and port behind the port of a service, given by its name or address.
    fn target(&self, host: &str, port: u16, namespace: &str) -> Option<(Ipv4Addr, u16)>;

    /// What a name stands for in a pod of a namespace, and the full name that stands for it. Without `search`, the name is full.
    fn meaning(&self, name: &str, namespace: &str, search: bool) -> (String, Meaning);
}

/// The addresses of the pods that run here.
pub(crate) struct Network {
    /// Servers that are not in containers.
    backends: Backends,
    hosts: RwLock<HashMap<Ipv4Addr, Ports>>,
    resolve: RwLock<Option<Box<dyn Resolve>>>,
}

impl Network {
    /// A network without pods, on which these servers listen besides the pods' own.
    pub(super) fn new(backends: Backends) -> Self {
        Self {
            backends,
            hosts: RwLock::default(),
            resolve: RwLock::default(),
        }
    }

    /// The server in a container at an address, for the proxy.
    pub(crate) fn locate(&self, host: Ipv4Addr, port: u16) -> Located {
        match self.at(host, port) {
            Host::Unknown => Located::Elsewhere,
            Host::Refused => Located::Refused,
            Host::Listening(server) => Located::Here(Arc::new(move |request: Request<Body>| {
                let answer: BoxFuture<'static, Response<Body>> = Box::pin(answer_whole(server.clone(), request));
                answer
            })),
        }
    }

    /// Lets a server that is not in a container answer at an address.
    pub(crate) fn serve(&self, host: Ipv4Addr, port: u16, server: Arc<dyn Backend>) {
        self.backends.insert(format!("{host}:{port}"), server);
    }

    /// Adds a pod's address.
    pub(crate) fn add(&self, host: Ipv4Addr) {
        self.hosts.write().entry(host).or_default();
    }

    /// Removes a pod's address, with all that listens there.
    pub(crate) fn remove(&self, host: Ipv4Addr) {
        self.hosts.write().remove(&host);
    }

    /// Lets a server listen until the guard is dropped; `None` if the port is taken.
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

    /// What is at this address.
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

    /// Sets how names and service addresses are resolved.
    pub(crate) fn resolve_with(&self, resolve: impl Resolve + 'static) {
        *self.resolve.write() = Some(Box::new(resolve));
    }

    /// What a name stands for in a pod of a namespace, and the full name that stands for it. Without `search`, the name is full.
    pub(super) fn meaning(&self, name: &str, namespace: &str, search: bool) -> (String, Meaning) {
        match &*self.resolve.read() {
            Some(resolve) => resolve.meaning(name, namespace, search),
            None => (name.to_owned(), Meaning::Foreign),
        }
    }

    /// The addresses of a name, or the address that is written in its place.
    pub(super) fn lookup(&self, host: &str, namespace: &str) -> Vec<Ipv4Addr> {
        if let Ok(address) = host.parse() {
            return vec![address];
        }
        match self.meaning(host, namespace, true) {
            (_, Meaning::Addresses(addresses)) => addresses,
            _ => Vec::new(),
        }
    }

    /// The pod's address and port that a name or address resolves to; `None` if the name does not resolve.
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

/// Most bytes of a request or response that is read whole.
const WHOLE: usize = 8 << 20;

/// The bytes of a body; `None` if there are too many.
async fn read(mut body: Body) -> Option<Bytes> {
    let mut content = BytesMut::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        if content.len() + data.len() > WHOLE {
            return None;
        }
        content.extend_from_slice(&data);
    }
    Some(content.freeze())
}

/// A container's answer to a request, which is read whole.
async fn answer_whole(server: Arc<dyn Server>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    match read(body).await {
        Some(content) => server.answer(Request::from_parts(parts, content)).await.map(whole),
        None => {
            let mut response = Response::new(whole(""));
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            response
        }
    }
}

/// A server that is not in a container.
struct BackendServer(Arc<dyn Backend>);

impl Server for BackendServer {
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> {
        let backend = self.0.clone();
        Box::pin(async move {
            let (parts, body) = backend.answer(request.map(whole)).await.into_parts();
            Response::from_parts(parts, read(body).await.unwrap_or_default())
        })
    }
}

/// A port that is listened on; dropping it stops that.
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
