//! When the disk is full, the recorder keeps forwarding, returns the error, and leaves a valid cassette.

#![cfg(unix)]

use crate::child::RecorderProcess;
use crate::origin::{Origin, url};
use http::Request;
use http_body_util::BodyExt;
use stuntdouble_cassettes::Cassette;
use stuntdouble_cassettes::transport::{Client, Credentials, full};
use tokio::process::Command;

/// The recorder with a file size limit, run by this test in a child process. It ends at the end of its input.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_until_its_input_ends() {
    let Some(recorder) = crate::child::recorder().await else {
        return;
    };
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().lines().count());
    ended.await.expect("its end");
    println!("failure {:?}", recorder.stop().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_the_recording_and_not_the_traffic() {
    let origin = Origin::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "ulimit -f 64; exec \"$0\" --exact full_disk::records_until_its_input_ends --nocapture",
    ]);
    command.arg(std::env::current_exe().expect("this test"));
    let mut child = RecorderProcess::start(&mut command, &url(&origin), &path).await;
    let client = Client::new(&child.url, &Credentials::default(), true).expect("a client");
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
    drop(child.process.stdin.take());
    let failure = child.line("failure ").await;
    assert!(failure.contains("File too large"), "{failure}");
    assert!(child.process.wait().await.expect("its end").success());
    let cassette = Cassette::open(&path).expect("a cassette");
    assert!(!cassette.interactions.is_empty());
}
