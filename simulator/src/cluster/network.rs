//! Servers that listen inside the cluster: what answers HTTP at a pod's address.
//!
//! The proxy, port-forward and the log collectors reach them without a connection.

use std::{collections::HashMap, fmt, net::Ipv4Addr, sync::Arc};

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::{Request, Response};
use parking_lot::RwLock;
use tokio::io::DuplexStream;

/// An error while a body is being produced. The connection is closed then.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a request to a server inside the cluster, or of its response.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// A body of these bytes.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A server that runs inside this process: a simulated pod's.
///
/// A request to speak another protocol comes with hyper's upgrade in its extensions.
pub trait Backend: Send + Sync {
    /// Answers a request.
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>>;

    /// Takes a connection on which it speaks another protocol than HTTP. Default: gives it back, so that HTTP is spoken on it.
    ///
    /// # Errors
    /// The connection, if it speaks HTTP.
    fn talk(&self, io: DuplexStream) -> Result<BoxFuture<'static, ()>, DuplexStream> {
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

/// What is at an address.
pub(crate) enum Located {
    /// A server inside this process.
    Here(Arc<dyn Backend>),
    /// A simulated pod that does not listen on the port.
    Refused,
    /// Nothing that is known.
    Elsewhere,
}

type Locate = dyn Fn(Ipv4Addr, u16) -> Located + Send + Sync;

/// The servers inside this process by their address, `HOST:PORT`.
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
    /// Lets `backend` answer at `address`, in the place of what did before.
    pub fn insert(&self, address: impl Into<String>, backend: Arc<dyn Backend>) {
        self.known.write().insert(address.into(), backend);
    }

    /// Lets nothing answer at `address` any more.
    pub fn remove(&self, address: &str) {
        self.known.write().remove(address);
    }

    /// The servers that were inserted, in a map of its own.
    pub(crate) fn fork(&self) -> Self {
        Self {
            known: Arc::new(RwLock::new(self.known.read().clone())),
            locate: None,
        }
    }

    /// The server that was inserted at `address`.
    pub(crate) fn at(&self, address: &str) -> Option<Arc<dyn Backend>> {
        self.known.read().get(address).cloned()
    }

    /// Asks `locate` for the addresses at which nothing was inserted.
    pub(crate) fn locate_with(mut self, locate: impl Fn(Ipv4Addr, u16) -> Located + Send + Sync + 'static) -> Self {
        self.locate = Some(Arc::new(locate));
        self
    }

    /// What is at `address`.
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
