//! A recorder whose disk is full passes traffic on, says why it does not record, and leaves a cassette that opens.

#![cfg(unix)]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod origin;

use http::Request;
use http_body_util::BodyExt;
use origin::{Origin, url};
use std::path::Path;
use std::process::Stdio;
use stuntdouble_cassettes::transport::{Client, Credentials, full};
use stuntdouble_cassettes::{Cassette, Recorder, RecorderOptions};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

const UPSTREAM: &str = "STUNTDOUBLE_TEST_UPSTREAM";
const FILE: &str = "STUNTDOUBLE_TEST_FILE";

/// The recorder whose files may not grow: this very test, started by the other one. It ends with its input.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_until_its_input_ends() {
    let (Ok(upstream), Ok(file)) = (std::env::var(UPSTREAM), std::env::var(FILE)) else {
        return;
    };
    let recorder = Recorder::start(RecorderOptions::new(upstream), Path::new(&file))
        .await
        .expect("a recorder");
    println!("\nready {}", recorder.url());
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().lines().count());
    ended.await.expect("its end");
    println!("failure {:?}", recorder.stop().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_the_recording_and_not_the_traffic() {
    let origin = Origin::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let mut child = Command::new("sh")
        .args([
            "-c",
            "ulimit -f 64; exec \"$0\" --exact records_until_its_input_ends --nocapture",
        ])
        .arg(std::env::current_exe().expect("this test"))
        .env(UPSTREAM, url(&origin))
        .env(FILE, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("a child");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut after = async |mark: &str| {
        while let Some(line) = lines.next_line().await.expect("a line") {
            if let Some(rest) = line.strip_prefix(mark) {
                return rest.to_owned();
            }
        }
        panic!("no {mark}");
    };
    let client = Client::new(&after("ready ").await, &Credentials::default(), true).expect("a client");
    for target in [
        "/list?n=10",
        "/list?n=2000",
        "/bytes?n=1000000",
        "/watch/lines?n=9&pause=1",
        "/list?n=10",
    ]
    .repeat(3)
    {
        let request = Request::get(target).body(full("")).expect("a request");
        let response = client.send(request).await.expect("an answer");
        assert_eq!(response.status(), 200);
        response.into_body().collect().await.expect("a body");
    }
    drop(child.stdin.take());
    let failure = after("failure ").await;
    assert!(failure.contains("File too large"), "{failure}");
    assert!(child.wait().await.expect("its end").success());
    let cassette = Cassette::open(&path).expect("a cassette");
    assert!(!cassette.interactions.is_empty());
}
