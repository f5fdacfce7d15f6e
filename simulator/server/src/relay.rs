//! Two connections whose bytes are passed on in both directions.

use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, sink, split},
    sync::Notify,
    time::sleep,
};

/// How long the rest may take when one direction is broken.
const PATIENCE: Duration = Duration::from_secs(5);

/// Copies in both directions until each has ended. The end of one is passed on and leaves the other open.
///
/// Where a peer takes nothing more, what it has sent before still arrives, and what is sent to it is read and dropped: a connection that is
/// closed with unread bytes is reset, by which its peer may lose what it has not read yet. This lasts 5 s at most.
pub async fn relay(near: impl AsyncRead + AsyncWrite, far: impl AsyncRead + AsyncWrite) {
    relay_with(near, far, PATIENCE).await;
}

async fn relay_with(near: impl AsyncRead + AsyncWrite, far: impl AsyncRead + AsyncWrite, patience: Duration) {
    let ((near_from, near_to), (far_from, far_to)) = (split(near), split(far));
    let broken = Notify::new();
    let both = async { tokio::join!(pass(near_from, far_to, &broken), pass(far_from, near_to, &broken)) };
    let patience = async {
        broken.notified().await;
        sleep(patience).await;
    };
    tokio::select! {
        _ = both => {}
        () = patience => {}
    }
}

/// Passes on what two connections say after they were upgraded, as [`relay`] does.
pub async fn relay_upgraded(near: OnUpgrade, far: OnUpgrade) {
    if let (Ok(near), Ok(far)) = tokio::join!(near, far) {
        relay(TokioIo::new(near), TokioIo::new(far)).await;
    }
}

async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, broken: &Notify) {
    let copied = copy(&mut from, &mut to).await;
    if copied.is_err() {
        broken.notify_one();
    }
    // Either side sees an error of its connection itself.
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
    async fn the_last_words_of_a_peer_that_takes_nothing_more_arrive() {
        let ((mut client, near), (far, mut server)) = (duplex(64), duplex(64));
        client.write_all(b"unread").await.unwrap();
        server.write_all(b"last words").await.unwrap();
        drop(server);
        let relayed = tokio::spawn(relay(near, far));
        let mut heard = String::new();
        client.read_to_string(&mut heard).await.unwrap();
        assert_eq!(heard, "last words");
        client.write_all(&[7; 100]).await.unwrap();
        drop(client);
        relayed.await.unwrap();
    }

    #[tokio::test]
    async fn a_client_that_stays_is_not_waited_for_without_end() {
        let ((mut client, near), (far, server)) = (duplex(64), duplex(64));
        client.write_all(b"unread").await.unwrap();
        drop(server);
        relay_with(near, far, Duration::from_millis(1)).await;
        assert!(client.write_all(b"more").await.is_err());
    }
}
