//! Port forwarding to a pod, over streams of one connection.
//!
//! - A client opens two streams per connection to a port: one for errors, one for data.
//! - Limits: the number of streams of the session; [`PAIR_TIMEOUT`] between the two streams of a pair.
//!
//! Source: Kubernetes v1.2 (`pkg/kubelet/server/portforward`): headers `port`, `streamtype` (`error`, `data`) and
//! `requestID`.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    task::JoinSet,
};

use crate::http::spdy::{Session, Stream};

/// Maximum time between the two streams of a pair.
const PAIR_TIMEOUT: Duration = Duration::from_secs(30);

/// Size of the copy buffer in bytes.
const COPY_BUFFER_BYTES: usize = 16 * 1024;

/// A bidirectional connection.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Connects to a port. Fails with the reason.
pub(crate) type Connect = Arc<dyn Fn(u16) -> BoxFuture<'static, Result<Box<dyn Duplex>, String>> + Send + Sync>;

/// Forwards ports for a client over SPDY.
pub(crate) async fn forward_ports(io: impl AsyncRead + AsyncWrite + Send + 'static, connect: Connect) {
    let mut session = Session::start(io);
    let mut halves: HashMap<String, (Stream, tokio::time::Instant)> = HashMap::new();
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            stream = session.accept() => stream,
            Some(_) = connections.join_next() => continue,
        };
        let Some(stream) = stream else { break };
        let now = tokio::time::Instant::now();
        halves.retain(|_, (_, since)| now.duration_since(*since) < PAIR_TIMEOUT);
        // For clients without requestID, the error stream of a pair is the one before the data stream.
        let id = stream.header("requestid").to_owned();
        match halves.remove(&id) {
            None => {
                halves.insert(id, (stream, now));
            }
            Some((other, _)) => {
                let (error, data) = if stream.header("streamtype") == "data" {
                    (other, stream)
                } else {
                    (stream, other)
                };
                connections.spawn(forward(error, data, Arc::clone(&connect)));
            }
        }
    }
    connections.shutdown().await;
    session.close().await;
}

async fn forward(error: Stream, data: Stream, connect: Connect) {
    let port = data
        .header("port")
        .parse::<u16>()
        .map_err(|_| format!("unable to parse port {:?}", data.header("port")));
    let connected = match port {
        Ok(port) => connect(port)
            .await
            .map_err(|why| format!("an error occurred forwarding {port}: {why}")),
        Err(why) => Err(why),
    };
    let complaint = match connected {
        Ok(far) => copy_both_ways(data, far).await.err().map(|error| error.to_string()),
        Err(why) => {
            let _ = data.writer.finish().await;
            Some(why)
        }
    };
    if let Some(complaint) = complaint {
        let _ = error.writer.write(complaint.into()).await;
    }
    let _ = error.writer.finish().await;
}

async fn copy_both_ways(data: Stream, far: Box<dyn Duplex>) -> std::io::Result<()> {
    let Stream { mut reader, writer, .. } = data;
    let (mut from, mut to) = tokio::io::split(far);
    let there = async {
        while let Some(piece) = reader.read().await {
            to.write_all(&piece).await?;
        }
        to.shutdown().await
    };
    let back = async {
        let mut piece = BytesMut::zeroed(COPY_BUFFER_BYTES);
        loop {
            let read = from.read(&mut piece).await?;
            if read == 0 {
                return writer.finish().await;
            }
            writer
                .write(Bytes::copy_from_slice(piece.get(..read).unwrap_or_default()))
                .await?;
        }
    };
    // The connection ends when the server closes it.
    tokio::select! {
        done = back => done,
        Err(error) = there => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::spdy::peer::{Peer, Received};

    #[tokio::test]
    async fn a_pair_of_streams_is_a_connection_to_a_port() {
        let connect: Connect = Arc::new(|port| {
            Box::pin(async move {
                if port != 80 {
                    return Err(format!("nothing listens on {port}"));
                }
                let (near, mut far) = tokio::io::duplex(64);
                tokio::spawn(async move {
                    let mut received = [0; 4];
                    far.read_exact(&mut received).await.unwrap();
                    far.write_all(b"pong").await.unwrap();
                });
                Ok(Box::new(near) as Box<dyn Duplex>)
            })
        });
        let (mut peer, far) = Peer::new();
        tokio::spawn(forward_ports(far, connect));
        for (stream, port) in [(1, "80"), (3, "81")] {
            peer.open_with(stream, &[("streamtype", "error"), ("port", port), ("requestID", port)])
                .await;
            peer.reply(stream).await;
        }
        let data = |stream, text: &str| Received::Data {
            stream,
            fin: false,
            bytes: text.into(),
        };
        let end = |stream| Received::Data {
            stream,
            fin: true,
            bytes: Vec::new(),
        };
        peer.open_with(5, &[("streamtype", "data"), ("port", "80"), ("requestID", "80")])
            .await;
        peer.reply(5).await;
        peer.data(5, false, b"ping").await;
        for seen in [data(5, "pong"), end(5), end(1)] {
            assert_eq!(peer.next().await, seen);
        }
        peer.open_with(7, &[("streamtype", "data"), ("port", "81"), ("requestID", "81")])
            .await;
        peer.reply(7).await;
        for seen in [
            end(7),
            data(3, "an error occurred forwarding 81: nothing listens on 81"),
            end(3),
        ] {
            assert_eq!(peer.next().await, seen);
        }
    }
}
