//! The accept loop and its connections.

use std::{error::Error, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Buf;
use http_body::Body;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::Service};
use hyper_util::rt::TokioIo;
use rustls::pki_types::CertificateDer;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
    time::sleep,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::{
    LengthCheck, Limits, Linger, Shutdown, cancelled::Cancelled, head_timer::HeadTimer, socket::Socket, target::Escaped,
};

/// Bytes that the kernel queues for one peer. The kernel's own limit can be megabytes, which a peer that reads slowly is then behind.
/// A list of a megabyte takes 10 % longer with half of it.
const SEND_BUFFER: u32 = 512 << 10;

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: u32 = 1024;

/// Pause after a failed accept, such as one without a free file descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Listens on `address`. Returns the listener and its address, in which a port of 0 is replaced by the chosen one.
///
/// # Errors
/// If the address cannot be listened on.
pub fn bind(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // Lets a server start again at once. On other systems it would let two servers listen on one port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit it.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// The other end of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// The address at which the connection came in.
    pub local: SocketAddr,
    /// Closes the connection when cancelled, upgraded or not.
    pub close: CancellationToken,
    /// The certificates that the peer presented, its own first. Empty without TLS. The acceptor decides whether they are verified.
    pub certificates: Arc<[CertificateDer<'static>]>,
}

/// Serves the connections of `listener` until `shutdown` begins. `connect` makes the service of each connection.
///
/// A service that returns an error closes the connection without a response. With `tls`, a connection whose handshake fails is closed.
/// Returns at once; the work is done in tasks of `shutdown`.
pub fn serve<M, S, B>(listener: TcpListener, tls: Option<TlsAcceptor>, limits: Limits, shutdown: Shutdown, connect: M)
where
    M: Fn(Peer) -> S + Send + Sync + 'static,
    S: Service<Request<Incoming>, Response = Response<B>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Buf + Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let server = Arc::new(Server {
        tls,
        limits,
        shutdown: shutdown.clone(),
        connect,
    });
    shutdown.tasks.clone().spawn(async move {
        tokio::select! {
            () = shutdown.closing.cancelled() => {}
            () = accept(listener, server) => {}
        }
    });
}

struct Server<M> {
    tls: Option<TlsAcceptor>,
    limits: Limits,
    shutdown: Shutdown,
    connect: M,
}

async fn accept<M, S, B>(listener: TcpListener, server: Arc<Server<M>>)
where
    M: Fn(Peer) -> S + Send + Sync + 'static,
    S: Service<Request<Incoming>, Response = Response<B>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Buf + Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let permits = Arc::new(Semaphore::new(server.limits.connections));
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((socket, address)) => {
                let server = server.clone();
                let tasks = server.shutdown.tasks.clone();
                tasks.spawn(async move {
                    let _ = socket.set_nodelay(true);
                    // The peer is gone already.
                    let Ok(local) = socket.local_addr() else { return };
                    let close = server.shutdown.close.child_token();
                    let socket = Socket::new(socket, server.limits.write_timeout, close.clone(), permit);
                    let peer = Peer {
                        address,
                        local,
                        close,
                        certificates: Arc::default(),
                    };
                    match &server.tls {
                        None => server.serve_connection(socket, peer).await,
                        Some(tls) => server.serve_tls(socket, tls, peer).await,
                    }
                });
            }
            // Open connections go on.
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

impl<M, S, B> Server<M>
where
    M: Fn(Peer) -> S,
    S: Service<Request<Incoming>, Response = Response<B>>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    async fn serve_tls(&self, socket: Socket<TcpStream>, tls: &TlsAcceptor, peer: Peer) {
        let handshake = tokio::time::timeout(self.limits.head_timeout, tls.accept(socket));
        let socket = tokio::select! {
            done = handshake => match done { Ok(Ok(socket)) => socket, _ => return },
            () = self.shutdown.closing.cancelled() => return,
        };
        let presented = socket.get_ref().1.peer_certificates().unwrap_or_default();
        let certificates = presented.iter().map(|der| der.clone().into_owned()).collect();
        self.serve_connection(socket, Peer { certificates, ..peer }).await;
    }

    async fn serve_connection<T>(&self, socket: T, peer: Peer)
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        if self.limits.raw_targets {
            self.serve_requests(Escaped::new(socket), peer).await;
        } else {
            self.serve_requests(socket, peer).await;
        }
    }

    async fn serve_requests<T>(&self, socket: T, peer: Peer)
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let close = peer.close.clone();
        // Polled at every turn of the connection: a token of its own, so that connections do not share one lock.
        let closing = Cancelled::new(self.shutdown.closing.child_token());
        let connection = http1::Builder::new()
            .timer(HeadTimer::default())
            .header_read_timeout(self.limits.head_timeout)
            .max_buf_size(self.limits.head)
            .serve_connection(
                TokioIo::new(LengthCheck::new(Linger::new(socket))),
                (self.connect)(peer),
            )
            .with_upgrades();
        let mut connection = std::pin::pin!(connection);
        // How a connection ends concerns its peer alone, so the outcome is dropped.
        tokio::select! {
            biased;
            _ = connection.as_mut() => return,
            () = closing => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            _ = connection => {}
            () = close.cancelled() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, net::Ipv4Addr};

    use bytes::Bytes;
    use http_body_util::Full;
    use hyper::service::service_fn;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

    fn start(limits: Limits) -> (SocketAddr, Shutdown) {
        let (listener, address) = bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let shutdown = Shutdown::default();
        serve(listener, None, limits, shutdown.clone(), |peer: Peer| {
            service_fn(move |_| {
                let text = peer.address.ip().to_string();
                async move { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(text)))) }
            })
        });
        (address, shutdown)
    }

    #[tokio::test]
    async fn requests_are_answered_until_the_shutdown() {
        let (address, shutdown) = start(Limits::default());
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(REQUEST).await.unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).await.unwrap();
        assert!(
            text.starts_with("HTTP/1.1 200 OK") && text.ends_with("127.0.0.1"),
            "{text}"
        );
        shutdown.gracefully(Duration::from_secs(60)).await;
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test]
    async fn a_content_length_beyond_64_bits_is_too_large() {
        let raw_targets = [false, true].map(|raw_targets| Limits {
            raw_targets,
            ..Limits::default()
        });
        for limits in raw_targets {
            let (address, _shutdown) = start(limits);
            for (length, expected) in [
                ("18446744073709551616", "413"),
                ("18446744073709551615", "413"),
                ("x", "400"),
                ("-1", "400"),
            ] {
                let mut client = TcpStream::connect(address).await.unwrap();
                let request = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
                client.write_all(request.as_bytes()).await.unwrap();
                let mut text = String::new();
                client.read_to_string(&mut text).await.unwrap();
                assert!(text.starts_with(&format!("HTTP/1.1 {expected} ")), "{text}");
            }
        }
    }

    #[tokio::test]
    async fn a_client_that_still_sends_gets_the_response_and_no_reset() {
        let (address, _shutdown) = start(Limits::default());
        let mut client = TcpStream::connect(address).await.unwrap();
        let body = vec![b'x'; 4 << 20];
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
        client.write_all(head.as_bytes()).await.unwrap();
        client.write_all(&body).await.unwrap();
        client.shutdown().await.unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    }

    #[tokio::test]
    async fn a_connection_waits_for_a_permit() {
        let limits = Limits {
            connections: 1,
            ..Limits::default()
        };
        let (address, _shutdown) = start(limits);
        let first = TcpStream::connect(address).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        second.write_all(REQUEST).await.unwrap();
        drop(first);
        let mut text = String::new();
        second.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    }

    #[tokio::test]
    async fn an_idle_connection_is_closed_at_shutdown() {
        let (address, shutdown) = start(Limits::default());
        let mut idle = TcpStream::connect(address).await.unwrap();
        idle.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let mut first = [0; 12];
        idle.read_exact(&mut first).await.unwrap();
        shutdown.gracefully(Duration::from_secs(60)).await;
        let mut rest = Vec::new();
        idle.read_to_end(&mut rest).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
    }
}
