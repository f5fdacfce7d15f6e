//! Bidirectional copying between two connections.

use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, sink, split},
    sync::Notify,
    time::sleep,
};

/// Time for which the other direction continues after one direction has failed.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);

/// Copies in both directions until both have ended. The end of one direction closes it and leaves the other open.
///
/// After a write error, what the peer has sent before is still delivered, and data for it is read and dropped: a
/// connection closed with unread bytes is reset, and its peer could lose data that it has not read yet. This takes at
/// most 5 s.
pub async fn relay(near: impl AsyncRead + AsyncWrite, far: impl AsyncRead + AsyncWrite) {
    relay_with(near, far, LINGER_TIMEOUT).await;
}

async fn relay_with(near: impl AsyncRead + AsyncWrite, far: impl AsyncRead + AsyncWrite, linger_timeout: Duration) {
    let ((near_from, near_to), (far_from, far_to)) = (split(near), split(far));
    let broken = Notify::new();
    let both = async { tokio::join!(forward(near_from, far_to, &broken), forward(far_from, near_to, &broken)) };
    let linger_timeout = async {
        broken.notified().await;
        sleep(linger_timeout).await;
    };
    tokio::select! {
        _ = both => {}
        () = linger_timeout => {}
    }
}

/// Relays two connections after their upgrade, like [`relay`].
pub async fn relay_upgraded(near: OnUpgrade, far: OnUpgrade) {
    if let (Ok(near), Ok(far)) = tokio::join!(near, far) {
        relay(TokioIo::new(near), TokioIo::new(far)).await;
    }
}

async fn forward(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, broken: &Notify) {
    let copied = copy(&mut from, &mut to).await;
    if copied.is_err() {
        broken.notify_one();
    }
    // Both sides observe errors on their own connections.
    let _ = to.shutdown().await;
    if copied.is_err() {
        let _ = copy(&mut from, &mut sink()).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    #[tokio::test]
    async fn the_end_of_one_direction_leaves_the_other_open() {
        let ((mut client, near), (far, mut server)) = (duplex(64), duplex(64));
        let relayed = tokio::spawn(relay(near, far));
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        let mut asked = String::new();
        server.read_to_string(&mut asked).await.unwrap();
        server.write_all(b"answer").await.unwrap();
        drop(server);
        let mut answered = String::new();
        client.read_to_string(&mut answered).await.unwrap();
        assert_eq!((asked.as_str(), answered.as_str()), ("question", "answer"));
        relayed.await.unwrap();
    }

    #[tokio::test]
    async fn data_of_a_peer_that_no_longer_reads_is_delivered() {
        let ((mut client, near), (far, mut server)) = (duplex(64), duplex(64));
        client.write_all(b"unread").await.unwrap();
        server.write_all(b"last words").await.unwrap();
        drop(server);
        let relayed = tokio::spawn(relay(near, far));
        let mut received = String::new();
        client.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "last words");
        client.write_all(&[7; 100]).await.unwrap();
        drop(client);
        relayed.await.unwrap();
    }

    #[tokio::test]
    async fn a_client_that_stays_connected_is_closed_after_a_timeout() {
        let ((mut client, near), (far, server)) = (duplex(64), duplex(64));
        client.write_all(b"unread").await.unwrap();
        drop(server);
        relay_with(near, far, Duration::from_millis(1)).await;
        assert!(client.write_all(b"more").await.is_err());
    }
}
