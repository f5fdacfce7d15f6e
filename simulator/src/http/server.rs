//! The listener and its connections.
//!
//! - Everything that a peer can hold on to is bounded: connections, heads, bodies, and the time that each of them takes ([`Limits`]).
//! - A request that is no HTTP gets a 400, and its connection is closed.
//! - At shutdown nothing new is accepted, streams end, requests under way are answered, and what is still open after the grace is cut.
//!
//! - Over TLS nobody is answered who is not known ([`Guard`]).
//!
//! Limits: HTTP/1.1 and 1.0.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::{HeaderMap, Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
    time::sleep,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{body::Body, credentials::Credentials, service::Service, socket::Socket, tls::Tls};
use crate::clock::Clock;

/// What a peer may use up.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a request's body; more is a 413.
    pub body: usize,
    /// Bytes of a request's line and headers; more is a 431, or a 414.
    pub head: usize,
    /// Connections at a time; more wait to be accepted.
    pub connections: usize,
    /// The time for a request's head to arrive, from when the connection is free; then it is closed.
    pub head_patience: Duration,
    /// The time for a request's body to arrive; then the answer is a 408.
    pub body_patience: Duration,
    /// The time that a write may make no progress; then the connection is cut.
    pub write_patience: Duration,
    /// The time that requests under way are given at shutdown.
    pub grace: Duration,
}

impl Default for Limits {
    /// 3 MiB of body, 64 KiB of head, 4,096 connections; a minute for a head or a body, half of one for a write, two seconds of grace.
    fn default() -> Self {
        Self {
            body: 3 << 20,
            head: 64 << 10,
            connections: 4096,
            head_patience: Duration::from_secs(60),
            body_patience: Duration::from_secs(60),
            write_patience: Duration::from_secs(30),
            grace: Duration::from_secs(2),
        }
    }
}

/// When to stop: first politely, then at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    /// Accept nothing new, and end streams.
    pub(crate) closing: CancellationToken,
    /// Cut what is still open.
    pub(crate) cut: CancellationToken,
    /// Everything that is to end.
    pub(crate) tasks: TaskTracker,
}

impl Stop {
    /// Stops at once.
    pub(crate) fn now(&self) {
        self.closing.cancel();
        self.cut.cancel();
        self.tasks.close();
    }

    /// Stops politely, and at once after the grace.
    pub(crate) async fn gracefully(&self, grace: Duration) {
        self.closing.cancel();
        self.tasks.close();
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            self.cut.cancel();
            self.tasks.wait().await;
        }
    }
}

/// The bytes that the system is asked to queue for a peer at the most. What it allows by itself can be megabytes, which one who reads slowly is
/// then behind, however bounded our own queues are.
const SEND_BUFFER: u32 = 256 << 10;

/// What may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Listens on `address`.
pub(crate) async fn bind(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // So that a server can be started again at once; elsewhere it would let two listen on one port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Connections inherit it.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Who is at the other end of the connection that a request came by.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Its address.
    pub(crate) address: SocketAddr,
    /// Cuts the connection, also when it has been upgraded.
    pub(crate) cut: CancellationToken,
}

/// What stands before a secure listener: TLS, and the question who asks.
pub(crate) struct Guard {
    /// The server's side of TLS.
    pub(crate) tls: Tls,
    /// Whom it lets in.
    pub(crate) credentials: Credentials,
    /// The time at which certificates have to hold.
    pub(crate) clock: Clock,
}

/// Serves what comes in until it is stopped; behind `guard` where there is one.
pub(crate) fn serve(listener: TcpListener, service: Arc<Service>, guard: Option<Guard>) {
    let stop = service.stop.clone();
    let guard = guard.map(Arc::new);
    stop.tasks.clone().spawn(async move {
        tokio::select! {
            () = stop.closing.cancelled() => {}
            () = accept(listener, service, guard) => {}
        }
    });
}

async fn accept(listener: TcpListener, service: Arc<Service>, guard: Option<Arc<Guard>>) {
    let room = Arc::new(Semaphore::new(service.limits.connections));
    loop {
        let Ok(place) = room.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((socket, peer)) => {
                let (service, guard) = (service.clone(), guard.clone());
                service.stop.tasks.clone().spawn(async move {
                    let _ = socket.set_nodelay(true);
                    let cut = service.stop.cut.child_token();
                    let socket = Socket::new(socket, service.limits.write_patience, cut.clone(), place);
                    let peer = Peer { address: peer, cut };
                    match guard {
                        None => connection(socket, &service, |_| None, peer).await,
                        Some(guard) => secure_connection(socket, &service, &guard, peer).await,
                    }
                });
            }
            // Out of file descriptors, or a peer that is gone again: what is open goes on, and the next one is tried a little later.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// A connection over TLS: whoever asks has to be known.
async fn secure_connection(socket: Socket<TcpStream>, service: &Service, guard: &Guard, peer: Peer) {
    let handshake = tokio::time::timeout(service.limits.head_patience, guard.tls.acceptor().accept(socket));
    let socket = tokio::select! {
        // A handshake that comes to nothing is its peer's business.
        done = handshake => match done { Ok(Ok(socket)) => socket, _ => return },
        () = service.stop.closing.cancelled() => return,
    };
    let certified = guard.tls.user(socket.get_ref().1, guard.clock.now());
    let refuse = |headers: &HeaderMap| match guard.credentials.user(headers, certified.as_ref()) {
        Some(_) => None,
        None => Some(guard.credentials.unauthorized().map(Body::whole)),
    };
    connection(socket, service, refuse, peer).await;
}

/// A connection whose requests are answered, but for those that `refuse` has an answer to.
async fn connection<S>(socket: S, service: &Service, refuse: impl Fn(&HeaderMap) -> Option<Response<Body>>, peer: Peer)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let _open = service.metrics.connection();
    let (limits, stop) = (&service.limits, &service.stop);
    let answer = service_fn(|mut request: Request<Incoming>| async {
        if let Some(refusal) = refuse(request.headers()) {
            return Ok::<_, Infallible>(refusal);
        }
        request.extensions_mut().insert(peer.clone());
        Ok(service.answer(request, &peer.cut).await)
    });
    // Asked at every turn of the connection: a token of its own, so that connections do not meet at one lock.
    let closing = stop.closing.child_token();
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_patience)
        .max_buf_size(limits.head)
        .serve_connection(TokioIo::new(socket), answer)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        biased;
        // How a connection ends is its peer's business.
        _ = connection.as_mut() => return,
        () = closing.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = connection => {}
        () = peer.cut.cancelled() => {}
    }
}
