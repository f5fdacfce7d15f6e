//! Tests of sessions with a client that sends single frames.

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use tokio::io::AsyncWriteExt;

use super::{
    frame::{self, Control, Reset},
    peer::{Peer, Received},
    state::MAX_STREAMS,
    stream::{Stream, WINDOW_UPDATE_BYTES},
};

#[tokio::test]
async fn streams_are_opened_used_and_ended() {
    let (mut peer, mut session) = Peer::connect();
    for (id, kind) in [(1, "error"), (3, "stdin")] {
        peer.open(id, kind).await;
        peer.reply(id).await;
        let Stream {
            headers,
            mut reader,
            writer,
        } = session.accept().await.unwrap();
        assert_eq!(headers, [("streamtype".to_owned(), kind.to_owned())]);
        peer.data(id, false, b"to").await;
        peer.data(id, true, b"gether").await;
        assert_eq!(reader.read().await.unwrap(), "to");
        assert_eq!(reader.read().await.unwrap(), "gether");
        assert_eq!(reader.read().await, None);
        writer.write(Bytes::from_static(b"answer")).await.unwrap();
        writer.finish().await.unwrap();
        assert_eq!(
            peer.next().await,
            Received::Data {
                stream: id,
                fin: false,
                bytes: b"answer".to_vec()
            }
        );
        assert_eq!(
            peer.next().await,
            Received::Data {
                stream: id,
                fin: true,
                bytes: vec![0; 0]
            }
        );
    }
    peer.control(Control::Ping(7)).await;
    assert_eq!(peer.next().await, Received::Control(Control::Ping(7)));
    let closing = tokio::spawn(session.close());
    assert_eq!(
        peer.next().await,
        Received::Control(Control::GoAway { last: 0, status: 0 })
    );
    drop(peer);
    tokio::time::timeout(Duration::from_secs(20), closing)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_peer_with_flow_control_receives_no_more_than_its_window() {
    let (mut peer, mut session) = Peer::connect();
    peer.control(Control::Settings(vec![(frame::INITIAL_WINDOW, 10)])).await;
    peer.open(1, "stdout").await;
    peer.reply(1).await;
    let stream = session.accept().await.unwrap();
    let writing = tokio::spawn(async move { stream.writer.write(Bytes::from_static(&[0; 25])).await });
    assert_eq!(
        peer.next().await,
        Received::Data {
            stream: 1,
            fin: false,
            bytes: vec![0; 10]
        }
    );
    peer.control(Control::Ping(9)).await;
    assert_eq!(peer.next().await, Received::Control(Control::Ping(9)));
    peer.control(Control::WindowUpdate { stream: 1, delta: 15 }).await;
    assert_eq!(
        peer.next().await,
        Received::Data {
            stream: 1,
            fin: false,
            bytes: vec![0; 15]
        }
    );
    writing.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_peer_without_flow_control_receives_everything() {
    let (mut peer, mut session) = Peer::connect();
    peer.open(1, "stdout").await;
    peer.reply(1).await;
    let stream = session.accept().await.unwrap();
    stream.writer.write(Bytes::from(vec![0; 300_000])).await.unwrap();
    let mut got = 0;
    while got < 300_000 {
        let Received::Data { bytes, .. } = peer.next().await else {
            panic!("no data")
        };
        got += bytes.len();
    }
    assert_eq!(got, 300_000);
}

#[tokio::test]
async fn reading_enlarges_the_windows_of_the_peer() {
    let (mut peer, mut session) = Peer::connect();
    peer.open(1, "stdin").await;
    peer.reply(1).await;
    let mut stream = session.accept().await.unwrap();
    peer.data(1, true, &[0; WINDOW_UPDATE_BYTES as usize]).await;
    while stream.reader.read().await.is_some() {}
    for id in [1, 0] {
        assert_eq!(
            peer.next().await,
            Received::Control(Control::WindowUpdate {
                stream: id,
                delta: WINDOW_UPDATE_BYTES
            })
        );
    }
}

#[tokio::test]
async fn invalid_frames_reset_the_stream_or_end_the_connection() {
    let (mut peer, mut session) = Peer::connect();
    peer.data(5, false, b"lost").await;
    assert_eq!(
        peer.next().await,
        Received::Control(Control::Reset {
            stream: 5,
            status: Reset::Invalid as u32
        })
    );
    peer.open(7, "stdin").await;
    peer.reply(7).await;
    let stream = session.accept().await.unwrap();
    peer.control(Control::Reset { stream: 7, status: 5 }).await;
    peer.control(Control::Ping(1)).await;
    assert_eq!(peer.next().await, Received::Control(Control::Ping(1)));
    assert!(stream.writer.write(Bytes::from_static(b"x")).await.is_err());
    peer.open(4, "even").await;
    assert_eq!(
        peer.next().await,
        Received::Control(Control::GoAway { last: 7, status: 1 })
    );
    assert!(session.accept().await.is_none());
}

#[tokio::test]
async fn too_many_streams_are_refused() {
    let (mut peer, mut session) = Peer::connect();
    let mut held = Vec::new();
    for at in 0..MAX_STREAMS {
        peer.open(at as u32 * 2 + 1, "data").await;
        held.push(session.accept().await.unwrap());
        peer.reply(at as u32 * 2 + 1).await;
    }
    let next = MAX_STREAMS as u32 * 2 + 1;
    peer.open(next, "data").await;
    assert_eq!(
        peer.next().await,
        Received::Control(Control::Reset {
            stream: next,
            status: Reset::Refused as u32
        })
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_bytes_end_silently_or_with_goaway(noise in proptest::collection::vec(any::<u8>(), 0..400), control: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut peer, mut session) = Peer::connect();
            peer.open(1, "stdin").await;
            if control {
                let _ = peer.io.write_all(&[0x80, 3, 0, 1]).await;
            }
            let _ = peer.io.write_all(&noise).await;
            drop(peer);
            let ended = async { while session.accept().await.is_some() {} };
            tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap();
        });
    }
}
