//! A recorder that is killed at any time leaves a valid cassette, which lacks at most the last events.

use crate::child::RecorderProcess;
use crate::origin::{Origin, url};
use http::Request;
use http_body_util::BodyExt;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stuntdouble_cassettes::Cassette;
use stuntdouble_cassettes::transport::{Client, Credentials, full};
use tokio::process::Command;

/// Number of kills. `STUNTDOUBLE_KILLS` sets another.
const KILLS: u64 = 100;

/// The recorder that is killed, run by this test in a child process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_until_it_is_killed() {
    let Some(_recorder) = crate::child::recorder().await else {
        return;
    };
    tokio::time::sleep(Duration::from_secs(60)).await;
}

async fn start(upstream: &str, path: &Path) -> RecorderProcess {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "crash::records_until_it_is_killed", "--nocapture"]);
    RecorderProcess::start(command.stderr(Stdio::null()), upstream, path).await
}

/// The responses that each client received, in order.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<HashMap<String, Vec<String>>>>);

impl Received {
    fn note(&self, client: String, text: String) {
        let mut received = self.0.lock().expect("no panic before");
        received.entry(client).or_default().push(text);
    }
}

/// Sends requests until the recorder is killed. Returns the complete responses.
async fn ask(client: Client, number: u64, received: Received) {
    for round in 0.. {
        let body = format!("{{\"client\":{number},\"round\":{round}}}");
        let request = Request::post("/echo")
            .header("content-type", "application/json")
            .body(full(body.clone()));
        let Ok(response) = client.send(request.expect("a request")).await else {
            return;
        };
        let Ok(answer) = response.into_body().collect().await else {
            return;
        };
        assert_eq!(answer.to_bytes(), body);
        received.note(format!("ask {number}"), body);
    }
}

/// Watches until the recorder is killed. Returns the frames.
async fn watch(client: Client, number: u64, received: Received) {
    let request = Request::get(format!("/watch/lines?n=1000&pause=2&client={number}"))
        .body(full(""))
        .expect("a request");
    let Ok(response) = client.send(request).await else {
        return;
    };
    let mut body = response.into_body();
    let mut count = 0;
    while let Some(Ok(frame)) = body.frame().await {
        let data = frame.into_data().unwrap_or_default();
        count += data.iter().filter(|byte| **byte == b'\n').count();
        received.note(format!("watch {number}"), format!("watch {number} frame {count}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_recording_lacks_at_most_the_last_events() {
    let origin = Origin::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let kills = std::env::var("STUNTDOUBLE_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(KILLS);
    let mut most = 0;
    for kill in 0..kills {
        let path = folder.path().join(format!("{kill}.yaml"));
        let mut child = start(&url(&origin), &path).await;
        let client = Client::new(&child.url, &Credentials::default(), true).expect("a client");
        let received = Received::default();
        let mut clients = Vec::new();
        for number in 0..3 {
            clients.push(tokio::spawn(ask(client.clone(), number, received.clone())));
            clients.push(tokio::spawn(watch(client.clone(), number, received.clone())));
        }
        // Each round kills at another time.
        tokio::time::sleep(Duration::from_micros(3_000 + (kill * 7_919) % 60_000)).await;
        child.process.kill().await.expect("killed");
        for client in clients {
            client.await.expect("no panic");
        }
        let cassette = Cassette::open(&path).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        let mut recorded = HashSet::new();
        for interaction in &cassette.interactions {
            match interaction.frames() {
                Some(frames) => {
                    let client = interaction
                        .request
                        .query()
                        .rsplit('=')
                        .next()
                        .expect("a number")
                        .to_owned();
                    recorded.extend((1..=frames.len()).map(|n| format!("watch {client} frame {n}")));
                }
                None => {
                    let answer = interaction.response().expect("an answer").payload.bytes();
                    recorded.insert(String::from_utf8_lossy(&answer).into_owned());
                }
            }
        }
        for (client, received) in received.0.lock().expect("no panic before").iter() {
            let lacks = received.iter().position(|text| !recorded.contains(text));
            let later: Vec<&String> = received
                .iter()
                .skip(lacks.unwrap_or(received.len()))
                .filter(|text| recorded.contains(*text))
                .collect();
            assert!(
                later.is_empty(),
                "kill {kill}: {client}: {lacks:?} is not there, and {later:?} are"
            );
        }
        most = most.max(recorded.len());
    }
    assert!(most > 50, "nothing was recorded: {most}");
}
