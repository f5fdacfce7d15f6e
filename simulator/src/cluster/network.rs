//! HTTP servers inside the cluster, by pod address.
//!
//! The proxy, port-forward and the log collectors reach them without a network connection.

use std::{collections::HashMap, fmt, net::Ipv4Addr, sync::Arc};

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::{Request, Response};
use parking_lot::RwLock;
use tokio::io::DuplexStream;

/// An error while producing a body. It closes the connection.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a request to a server inside the cluster, or of its response.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// Returns a body of these bytes.
pub(crate) fn full_body(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A server inside this process, such as a simulated pod's.
///
/// A request to switch protocols has hyper's upgrade in its extensions.
pub trait Backend: Send + Sync {
    /// Responds to a request.
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>>;

    /// Serves a connection with a protocol other than HTTP. Default: returns the connection, to serve HTTP on it.
    ///
    /// # Errors
    /// The connection, if the server speaks HTTP.
    fn serve_connection(&self, io: DuplexStream) -> Result<BoxFuture<'static, ()>, DuplexStream> {
        Err(io)
    }
}

impl<F> Backend for F
where
    F: Fn(Request<Body>) -> BoxFuture<'static, Response<Body>> + Send + Sync,
{
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        self(request)
    }
}

/// The server at an address.
pub(crate) enum Located {
    /// A server inside this process.
    Here(Arc<dyn Backend>),
    /// The address is a simulated pod that does not listen on the port.
    Refused,
    /// The address is unknown to the simulator.
    Elsewhere,
}

type Locate = dyn Fn(Ipv4Addr, u16) -> Located + Send + Sync;

/// Servers inside this process, by their address `HOST:PORT`.
#[derive(Clone, Default)]
pub struct Backends {
    known: Arc<RwLock<HashMap<String, Arc<dyn Backend>>>>,
    locate: Option<Arc<Locate>>,
}

impl fmt::Debug for Backends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.known.read().keys()).finish()
    }
}

impl Backends {
    /// Adds `backend` at `address`; it replaces the previous one.
    pub fn insert(&self, address: impl Into<String>, backend: Arc<dyn Backend>) {
        self.known.write().insert(address.into(), backend);
    }

    /// Removes the server at `address`.
    pub fn remove(&self, address: &str) {
        self.known.write().remove(address);
    }

    /// Returns a copy with the inserted servers.
    pub(crate) fn fork(&self) -> Self {
        Self {
            known: Arc::new(RwLock::new(self.known.read().clone())),
            locate: None,
        }
    }

    /// Returns the server inserted at `address`.
    pub(crate) fn at(&self, address: &str) -> Option<Arc<dyn Backend>> {
        self.known.read().get(address).cloned()
    }

    /// Sets a fallback for addresses without an inserted server.
    pub(crate) fn locate_with(mut self, locate: impl Fn(Ipv4Addr, u16) -> Located + Send + Sync + 'static) -> Self {
        self.locate = Some(Arc::new(locate));
        self
    }

    /// Returns the server at `address`.
    pub(crate) fn locate(&self, address: &str) -> Located {
        if let Some(backend) = self.at(address) {
            return Located::Here(backend);
        }
        let located = || {
            let (host, port) = address.rsplit_once(':')?;
            Some(self.locate.as_ref()?(host.parse().ok()?, port.parse().ok()?))
        };
        located().unwrap_or(Located::Elsewhere)
    }
}
