//! A watcher that never reads, over a real connection.

use std::time::Duration;

use stuntdouble_simulator::Profile;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use super::{MAPS, Wire, config_map, get, start};

/// Timeout of the test.
const TIMEOUT: Duration = Duration::from_secs(120);
const READERS: usize = 4;
/// Number of changes between two checks of the readers.
const ROUND: u64 = 200;
/// More changes than the history, our queues and the system's buffers can hold for a watcher.
const MAX_CHANGES: u64 = 60_000;

/// Requests a watch, and reads nothing.
async fn open_stalled_watch(simulator: &stuntdouble_simulator::Simulator) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut socket = socket.connect(simulator.address()).await.unwrap();
    socket
        .write_all(format!("GET {MAPS}?watch=true&resourceVersion=1 HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes())
        .await
        .unwrap();
    socket
}

async fn open_watches(simulator: &stuntdouble_simulator::Simulator) -> u64 {
    let text = get(simulator, "/metrics").await.text();
    text.lines()
        .find_map(|line| line.strip_prefix("apiserver_watches "))
        .unwrap()
        .parse()
        .unwrap()
}

/// Returns the version of the next event's object.
async fn next(watch: &mut Wire) -> u64 {
    let end = watch.until(b"}}\n").await.expect("the watch continues");
    let text = String::from_utf8_lossy(&end).into_owned();
    text.split("\"resourceVersion\":\"")
        .nth(1)
        .and_then(|t| t.split('"').next())
        .unwrap()
        .parse()
        .unwrap()
}

/// The writer waits for the readers after each round, so that none of them falls behind even on a slow machine. It
/// does not wait for the stalled one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_watcher_is_ended_and_the_others_receive_everything() {
    let simulator = start(Profile::Documented).await;
    let mut writer = Wire::open(simulator.address()).await;
    let created = writer.ask("POST", MAPS, "", config_map("counter")).await.json();
    let first: u64 = created["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let mut reader = Wire::open(simulator.address()).await;
        reader
            .request("GET", &format!("{MAPS}?watch=true&resourceVersion={first}"), "", "")
            .await;
        assert_eq!(reader.head().await.unwrap().code, 200);
        readers.push(reader);
    }
    let _asleep = open_stalled_watch(&simulator).await;
    timeout(TIMEOUT, async {
        while open_watches(&simulator).await != READERS as u64 + 1 {}
    })
    .await
    .expect("all watches are open");

    let (object, filler) = (format!("{MAPS}/counter"), "x".repeat(1000));
    let mut version = first;
    let ended = async {
        while open_watches(&simulator).await > READERS as u64 {
            assert!(version - first < MAX_CHANGES, "who never reads is not ended");
            for n in version..version + ROUND {
                let map = format!(r#"{{"metadata":{{"name":"counter"}},"data":{{"n":"{n}","filler":"{filler}"}}}}"#);
                assert_eq!(writer.ask("PUT", &object, "", map).await.code, 200);
            }
            for reader in &mut readers {
                for expected in version + 1..=version + ROUND {
                    assert_eq!(next(reader).await, expected);
                }
            }
            version += ROUND;
        }
    };
    timeout(TIMEOUT, ended).await.expect("the stalled watch ends in time");
    assert!(
        version - first > 4096,
        "the watch is ended because it is behind, for no other reason"
    );
}
