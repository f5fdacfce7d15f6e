//! Servers inside this process, reached without a connection.

use std::{collections::HashMap, convert::Infallible, fmt, sync::Arc};

use futures::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::RwLock;
use tokio::io::DuplexStream;

use super::Body;

/// A server that runs inside this process: a simulated pod's.
///
/// A request to speak another protocol comes with hyper's upgrade in its extensions.
pub trait Backend: Send + Sync {
    /// Answers a request.
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>>;
}

impl<F> Backend for F
where
    F: Fn(Request<Body>) -> BoxFuture<'static, Response<Body>> + Send + Sync,
{
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        self(request)
    }
}

/// The servers inside this process by their address, `HOST:PORT`.
#[derive(Clone, Default)]
pub struct Backends(Arc<RwLock<HashMap<String, Arc<dyn Backend>>>>);

impl fmt::Debug for Backends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.read().keys()).finish()
    }
}

impl Backends {
    /// Lets `backend` answer at `address`, in the place of what did before.
    pub fn insert(&self, address: impl Into<String>, backend: Arc<dyn Backend>) {
        self.0.write().insert(address.into(), backend);
    }

    /// Lets nothing answer at `address` any more.
    pub fn remove(&self, address: &str) {
        self.0.write().remove(address);
    }

    pub(super) fn at(&self, address: &str) -> Option<Arc<dyn Backend>> {
        self.0.read().get(address).cloned()
    }
}

/// How many bytes wait in a connection within this process.
const PIPE: usize = 64 * 1024;

/// A connection to a server inside this process, which answers HTTP on it.
pub(super) fn serve(backend: Arc<dyn Backend>) -> DuplexStream {
    let (near, far) = tokio::io::duplex(PIPE);
    tokio::spawn(async move {
        let service = service_fn(|request: Request<Incoming>| {
            let answer = backend.answer(request.map(|body| body.map_err(Into::into).boxed_unsync()));
            async move { Ok::<_, Infallible>(answer.await) }
        });
        // How the connection ends is its client's business.
        let _ = http1::Builder::new()
            .serve_connection(TokioIo::new(far), service)
            .with_upgrades()
            .await;
    });
    near
}
