//! DNS over a UDP socket, a TCP listener, or any connection.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, UdpSocket},
    sync::Semaphore,
    task::JoinSet,
};

use super::message::{Transport, respond};
use crate::cluster::Names;

/// Maximum number of concurrent TCP connections.
const MAX_CONNECTIONS: usize = 64;
/// Idle timeout of a connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size in bytes of a query over UDP.
const MAX_QUERY_BYTES: usize = 4096;
/// Number of attempts to find a port that is free for both UDP and TCP.
const BIND_ATTEMPTS: usize = 16;

/// A UDP socket and a TCP listener on the same port.
#[derive(Debug)]
pub(crate) struct DnsListener {
    udp: UdpSocket,
    tcp: TcpListener,
    address: SocketAddr,
}

impl DnsListener {
    /// Binds to an address; with port 0 the system chooses the port.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) async fn bind(address: SocketAddr) -> io::Result<Self> {
        let mut attempts = if address.port() == 0 { BIND_ATTEMPTS } else { 1 };
        loop {
            let tcp = TcpListener::bind(address).await?;
            let chosen = tcp.local_addr()?;
            attempts -= 1;
            match UdpSocket::bind(chosen).await {
                Err(taken) if taken.kind() == io::ErrorKind::AddrInUse && attempts > 0 => {}
                Err(error) => return Err(error),
                Ok(udp) => {
                    return Ok(Self {
                        udp,
                        tcp,
                        address: chosen,
                    });
                }
            }
        }
    }

    /// Address that it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Responds to queries until the future is dropped.
    pub(crate) async fn serve(self, names: Names) {
        tokio::join!(packets(&self.udp, &names), connections(&self.tcp, &names));
    }
}

/// Responds to queries over UDP.
async fn packets(socket: &UdpSocket, names: &Names) {
    let mut packet = vec![0; MAX_QUERY_BYTES];
    loop {
        // An error is that of an earlier response that did not reach its client.
        let Ok((length, client)) = socket.recv_from(&mut packet).await else {
            continue;
        };
        let query = packet.get(..length).unwrap_or_default();
        if let Some(answer) = respond(names, query, Transport::Udp) {
            let _ = socket.send_to(&answer, client).await;
        }
    }
}

/// Responds to queries over TCP.
async fn connections(listener: &TcpListener, names: &Names) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut open = JoinSet::new();
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = open.join_next() => continue,
        };
        match accepted {
            Ok((connection, _)) => {
                let names = names.clone();
                open.spawn(async move {
                    serve_stream(&names, connection).await;
                    drop(permit);
                });
            }
            // Most likely too many open files: wait until one is closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Responds to length-prefixed queries over a connection, until the client closes it.
pub(super) async fn serve_stream(names: &Names, mut io: impl AsyncRead + AsyncWrite + Unpin) {
    while let Ok(Ok(query)) = tokio::time::timeout(IDLE_TIMEOUT, read(&mut io)).await {
        let Some(answer) = respond(names, &query, Transport::Tcp) else {
            return;
        };
        let written = tokio::time::timeout(IDLE_TIMEOUT, write(&mut io, &answer)).await;
        if !matches!(written, Ok(Ok(()))) {
            return;
        }
    }
}

async fn read(io: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let length = io.read_u16().await?;
    let mut query = vec![0; usize::from(length)];
    io.read_exact(&mut query).await?;
    Ok(query)
}

async fn write(io: &mut (impl AsyncWrite + Unpin), answer: &[u8]) -> io::Result<()> {
    let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
    io.write_all(&[&length.to_be_bytes(), answer].concat()).await?;
    io.flush().await
}
