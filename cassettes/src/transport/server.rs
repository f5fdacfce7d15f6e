//! HTTP server that passes each request to a handler.

use super::{Body, TransportError, full, tls};
use http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stuntdouble_server::{LengthCheck, Linger, Origins, RequestLog};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Delay before the next `accept` after an error, such as too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Timeout of the TLS handshake, and of the first bytes of a connection.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of open connections. Further ones are not accepted until one is closed.
const MAX_CONNECTIONS: usize = 16_384;

/// The connection preface of HTTP/2 without TLS.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// Handles the requests of a server.
pub trait Handler: Send + Sync + 'static {
    /// Returns the response to a request. Work that outlives the response, such as an upgraded connection, runs as a
    /// task.
    fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        tasks: Tasks,
    ) -> impl Future<Output = Result<Response<Body>, ConnectionClosed>> + Send;
}

/// Error that closes the connection without a response.
#[derive(Debug)]
pub struct ConnectionClosed;

impl std::fmt::Display for ConnectionClosed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed without a response")
    }
}

impl std::error::Error for ConnectionClosed {}

/// The tasks of a server, which are cancelled when it is stopped.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Tasks {
    /// Runs a task until it completes or the server is stopped.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tracker.spawn(async move {
            tokio::select! {
                () = task => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

impl Tasks {
    /// Runs blocking work on its own thread. Stopping the server waits for it.
    pub fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) {
        self.tracker.spawn_blocking(work);
    }
}

/// A server on one address. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    tasks: Tasks,
}

impl Server {
    /// Starts a server. Port 0 is replaced by a free one. Only requests for its own host and from its own origin are
    /// accepted.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn start(address: SocketAddr, handler: Arc<impl Handler>) -> Result<Self, TransportError> {
        Self::start_with(address, Origins::default(), handler).await
    }

    /// As [`Server::start`], and also accepts the hosts and origins of `origins`.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn start_with(
        address: SocketAddr,
        origins: Origins,
        handler: Arc<impl Handler>,
    ) -> Result<Self, TransportError> {
        Self::start_secure(address, origins, None, handler).await
    }

    /// As [`Server::start_with`], with TLS if there is a certificate chain and key, both in PEM.
    ///
    /// # Errors
    /// If the address cannot be bound, or the certificate cannot be used.
    pub async fn start_secure(
        address: SocketAddr,
        origins: Origins,
        identity: Option<&(Vec<u8>, Vec<u8>)>,
        handler: Arc<impl Handler>,
    ) -> Result<Self, TransportError> {
        let acceptor = identity.map(tls::acceptor).transpose()?;
        let wrong = |source| TransportError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        let tasks = Tasks::default();
        tasks.spawn(accept(listener, acceptor, Arc::new(origins), handler, tasks.clone()));
        Ok(Self { address, tasks })
    }

    /// Address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the server and waits until every connection is closed.
    pub async fn stop(self) {
        self.tasks.stop.cancel();
        self.tasks.tracker.close();
        self.tasks.tracker.wait().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tasks.stop.cancel();
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    origins: Arc<Origins>,
    handler: Arc<impl Handler>,
    tasks: Tasks,
) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    while let Ok(permit) = permits.clone().acquire_owned().await {
        let Ok((socket, client)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let _ = socket.set_nodelay(true);
        // An error means that the peer is already disconnected.
        let Ok(local) = socket.local_addr() else { continue };
        let (origins, handler, inner) = (origins.clone(), handler.clone(), tasks.clone());
        let acceptor = acceptor.clone();
        tasks.spawn(async move {
            let _permit = permit;
            let service = service_fn(move |mut request: Request<Incoming>| {
                let (origins, handler, inner) = (origins.clone(), handler.clone(), inner.clone());
                add_host(&mut request);
                async move {
                    let log = RequestLog::begin(&request, client);
                    let response = match origins.check(&request, local) {
                        Ok(accepted) => {
                            let mut response = handler.handle(request, inner).await?;
                            accepted.share(&mut response);
                            response
                        }
                        Err(response) => response.map(full),
                    };
                    log.end(&response);
                    Ok::<_, ConnectionClosed>(response)
                }
            });
            match acceptor {
                None => {
                    let newer = timeout(HANDSHAKE_TIMEOUT, begins_with_preface(&socket))
                        .await
                        .unwrap_or(false);
                    serve(socket, newer, service).await;
                }
                Some(acceptor) => {
                    if let Ok(Ok(socket)) = timeout(HANDSHAKE_TIMEOUT, acceptor.accept(socket)).await {
                        let newer = socket.get_ref().1.alpn_protocol() == Some(b"h2");
                        serve(socket, newer, service).await;
                    }
                }
            }
        });
    }
}

/// Adds `Host` to an HTTP/2 request.
fn add_host(request: &mut Request<Incoming>) {
    let authority = request
        .uri()
        .authority()
        .map(|authority| HeaderValue::from_str(authority.as_str()));
    if let (Some(Ok(authority)), false) = (authority, request.headers().contains_key(header::HOST)) {
        request.headers_mut().insert(header::HOST, authority);
    }
}

/// Whether a connection starts with the preface of HTTP/2.
async fn begins_with_preface(socket: &TcpStream) -> bool {
    let mut begun = [0; PREFACE.len()];
    loop {
        let Ok(count) = socket.peek(&mut begun).await else {
            return false;
        };
        let said = begun.get(..count).unwrap_or_default();
        if count == 0 || !PREFACE.starts_with(said) {
            return false;
        }
        if count == PREFACE.len() {
            return true;
        }
        // The socket stays readable, so it cannot be awaited until the rest arrives.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Serves a connection. Errors concern only this client, so they are ignored.
async fn serve<S>(socket: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, newer: bool, service: S)
where
    S: HttpService<Incoming, ResBody = Body, Error = ConnectionClosed>,
    S::Future: Send + 'static,
{
    if newer {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new());
        let _ = builder.serve_connection(TokioIo::new(socket), service).await;
        return;
    }
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new());
    let io = TokioIo::new(LengthCheck::new(Linger::new(socket)));
    let _ = builder.serve_connection(io, service).with_upgrades().await;
}
