//! Recorded sessions are on the disk, and can be replayed, verified and compared.

use crate::origin::{Origin, url};
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::Request;
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use std::path::{Path, PathBuf};
use std::time::Duration;
use stuntdouble_cassettes::transport::{Client, Credentials, full};
use stuntdouble_cassettes::{
    Cassette, Data, FailureKind, OnMiss, Once, Outcome, Payload, Recorder, RecorderOptions, Replayer, ReplayerOptions,
    Sender, Speed, Verifier,
};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

struct Setup {
    folder: TempDir,
}

impl Setup {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("session.yaml")
    }

    async fn record(&self, upstream: &str) -> Recorder {
        Recorder::start(RecorderOptions::new(upstream), &self.path())
            .await
            .expect("a recorder")
    }
}

fn client(url: &str) -> Client {
    Client::new(url, &Credentials::default(), true).expect("a client")
}

async fn ask(client: &Client, method: &str, target: &str, body: &str) -> (u16, String, Bytes) {
    let mut request = Request::builder()
        .method(method)
        .uri(target)
        .header("content-type", "application/json");
    if target == "/gzip" {
        request = request.header("accept-encoding", "gzip, br");
    }
    let response = client
        .send(request.body(full(body.to_owned())).expect("a request"))
        .await
        .expect("an answer");
    let status = response.status().as_u16();
    let media_type = response
        .headers()
        .get("content-type")
        .map(|value| value.to_str().expect("text").to_owned());
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, media_type.unwrap_or_default(), body)
}

const REQUESTS: [(&str, &str, &str); 12] = [
    ("GET", "/count", ""),
    ("GET", "/small", ""),
    ("POST", "/echo", "{\"a\": 1}"),
    ("GET", "/count", ""),
    ("POST", "/echo", "not json\n"),
    ("GET", "/gzip", ""),
    ("GET", "/binary", ""),
    ("GET", "/watch/lines?n=4&pause=10", ""),
    ("GET", "/bytes?n=3000000", ""),
    ("GET", "/count", ""),
    ("PUT", "/echo", "{\"a\": [1, 2.50, null]}"),
    ("GET", "/flood?mib=3", ""),
];

async fn session(url: &str) -> Vec<(u16, String, Bytes)> {
    let client = client(url);
    let mut answers = Vec::new();
    for (method, target, body) in REQUESTS {
        answers.push(ask(&client, method, target, body).await);
    }
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_gives_the_answers_that_were_recorded() {
    let setup = Setup::new();
    let origin = Origin::start().await;
    let recorder = setup.record(&url(&origin)).await;
    let recorded = session(&recorder.url()).await;
    assert_eq!(recorder.failure(), None);
    recorder.stop().await;
    origin.stop().await;
    let cassette = Cassette::open(&setup.path()).expect("a cassette");
    assert_eq!(cassette.interactions.len(), REQUESTS.len());
    assert_eq!(cassette.header.upstream_version.as_deref(), Some("v1.2.0-test"));
    let replayer = Replayer::start(cassette, ReplayerOptions::default())
        .await
        .expect("a replayer");
    let replayed = session(&replayer.url()).await;
    for (one, two) in recorded.iter().zip(&replayed) {
        assert_eq!((one.0, &one.1, one.2.len()), (two.0, &two.1, two.2.len()));
        assert!(one.2 == two.2);
    }
    assert_eq!(replayer.misses(), Vec::<String>::new());
    assert_eq!(replayer.unplayed(), Vec::<u64>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_recorded_once_and_then_replayed() {
    let setup = Setup::new();
    let origin = Origin::start().await;
    let start = async || {
        let record = RecorderOptions::new(url(&origin));
        Once::start(&setup.path(), record, ReplayerOptions::default())
            .await
            .expect("a session")
    };
    let first = start().await;
    assert!(first.is_recording());
    let counted = ask(&client(&first.url()), "GET", "/count", "").await;
    first.stop().await;
    for _ in 0..2 {
        let again = start().await;
        assert!(!again.is_recording());
        assert_eq!(ask(&client(&again.url()), "GET", "/count", "").await, counted);
        again.assert_all_played();
        again.stop().await;
    }
    let idle = start().await;
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| idle.assert_all_played())).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_verifies_against_the_server_that_it_came_from() {
    let setup = Setup::new();
    let origin = Origin::start().await;
    let recorder = setup.record(&url(&origin)).await;
    session(&recorder.url()).await;
    recorder.stop().await;
    let cassette = Cassette::open(&setup.path()).expect("a cassette");
    let fresh = Origin::start().await;
    let mut verifier = Verifier::new(url(&fresh));
    verifier.profile = Some("own".into());
    let report = verifier.verify(&cassette).await.expect("a report");
    assert!(report.is_exact(), "{}", report.to_text());
    let report = verifier.verify(&cassette).await.expect("a report");
    let differing: Vec<&str> = report
        .verdicts
        .iter()
        .filter(|verdict| !verdict.exact)
        .map(|verdict| verdict.target.as_str())
        .collect();
    assert_eq!(differing, ["/count"; 3], "the counter has gone on");
}

/// Waits until a cassette that is being recorded has this many frames of the first interaction.
async fn frames_come(path: &Path, count: usize) {
    let frames = || {
        let cassette = Cassette::open(path).expect("a cassette that is being recorded");
        let first = cassette.interactions.first();
        first.and_then(|each| each.frames()).map_or(0, <[_]>::len)
    };
    while frames() < count {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_is_in_the_file_before_its_stream_ends() {
    let setup = Setup::new();
    let origin = Origin::start().await;
    let recorder = setup.record(&url(&origin)).await;
    let client = client(&recorder.url());
    let request = Request::get("/watch/lines?n=5&pause=30")
        .body(full(""))
        .expect("a request");
    let mut body = client.send(request).await.expect("an answer").into_body();
    let mut came = 0;
    while let Some(frame) = body.frame().await {
        frame.expect("a frame");
        came += 1;
        frames_come(&setup.path(), came).await;
        if came == 2 {
            // Another interaction ends the document, and the stream continues in a later one.
            ask(&client, "GET", "/small", "").await;
        }
    }
    recorder.stop().await;
    let cassette = Cassette::open(&setup.path()).expect("a cassette");
    let frames = cassette.interactions[0].frames().expect("frames");
    assert_eq!(frames.len(), 5);
    assert!(frames.windows(2).all(|pair| pair[1].at >= pair[0].at), "{frames:?}");
    assert!(
        std::fs::read_to_string(setup.path())
            .expect("text")
            .contains("stream_of: 1")
    );
    assert_eq!(Cassette::parse(&cassette.to_yaml()).expect("a cassette"), cassette);
}

async fn converse(url: &str) -> Vec<Message> {
    let request = Request::get("/ws")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-extensions", "permessage-deflate")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .body(full(""))
        .expect("a request");
    let response = client(url).send(request).await.expect("an answer");
    assert_eq!(response.status(), 101);
    assert_eq!(
        response.headers()["sec-websocket-accept"],
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    );
    let upgraded = hyper::upgrade::on(response).await.expect("upgraded");
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, None).await;
    let mut heard = vec![socket.next().await.expect("a greeting").expect("a message")];
    for say in ["one", "two"] {
        socket.send(Message::text(say)).await.expect("sent");
        heard.push(socket.next().await.expect("a text").expect("a message"));
        heard.push(socket.next().await.expect("bytes").expect("a message"));
    }
    socket.send(Message::text("bye")).await.expect("sent");
    while let Some(Ok(message)) = socket.next().await {
        heard.push(message);
    }
    heard
}

#[tokio::test(flavor = "multi_thread")]
async fn websockets_are_recorded_both_ways_and_replayed() {
    let setup = Setup::new();
    let origin = Origin::start().await;
    let recorder = setup.record(&url(&origin)).await;
    let heard = converse(&recorder.url()).await;
    recorder.stop().await;
    let cassette = Cassette::open(&setup.path()).expect("a cassette");
    let messages = cassette.interactions[0].messages().expect("messages");
    let texts: Vec<(Sender, &str)> = messages
        .iter()
        .filter_map(|message| match &message.data {
            Data::Text(text) => Some((message.from, text.as_str())),
            _ => None,
        })
        .collect();
    let (client, server) = (Sender::Client, Sender::Server);
    let expected = [
        (server, "{\"hello\":\"there\"}"),
        (client, "one"),
        (server, "oneone"),
        (client, "two"),
        (server, "twotwo"),
        (client, "bye"),
    ];
    assert_eq!(texts, expected);
    assert!(messages.iter().any(|message| matches!(message.data, Data::Close(_))));
    for speed in [Speed::Instant, Speed::Factor(1.0)] {
        let mut options = ReplayerOptions::default();
        options.speed = speed;
        let replayer = Replayer::start(cassette.clone(), options).await.expect("a replayer");
        assert_eq!(converse(&replayer.url()).await, heard);
    }
    let report = Verifier::new(url(&origin)).verify(&cassette).await.expect("a report");
    assert!(report.is_exact(), "{}", report.to_text());
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_outcomes() {
    let setup = Setup::new();
    let origin = Origin::start().await;
    let recorder = setup.record(&url(&origin)).await;
    let asked = client(&recorder.url());
    let get = |target: &str| Request::get(target).body(full("")).expect("a request");
    assert!(asked.send(get("/gone")).await.is_err());
    let body = asked.send(get("/cut")).await.expect("a head").into_body();
    assert!(body.collect().await.is_err());
    origin.stop().await;
    assert!(asked.send(get("/refused")).await.is_err());
    recorder.stop().await;
    let cassette = Cassette::open(&setup.path()).expect("a cassette");
    let outcome = |n: usize| cassette.interactions[n].outcome.clone();
    assert!(matches!(outcome(0), Outcome::Failure(failure) if failure.kind == FailureKind::Closed));
    assert!(matches!(outcome(2), Outcome::Failure(failure) if failure.kind == FailureKind::Refused));
    let Outcome::Response(answer) = outcome(1) else {
        panic!("an answer that was cut short")
    };
    assert!(answer.cut.is_some());
    assert_eq!(answer.payload.bytes(), "half\n");
    let replayer = Replayer::start(cassette, ReplayerOptions::default())
        .await
        .expect("a replayer");
    let asked = client(&replayer.url());
    assert!(asked.send(get("/gone")).await.is_err());
    assert!(
        asked
            .send(get("/cut"))
            .await
            .expect("a head")
            .into_body()
            .collect()
            .await
            .is_err()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_miss_lists_the_nearest_request_and_its_differences() {
    let setup = Setup::new();
    let origin = Origin::start().await;
    let recorder = setup.record(&url(&origin)).await;
    session(&recorder.url()).await;
    recorder.stop().await;
    let cassette = Cassette::open(&setup.path()).expect("a cassette");
    let replayer = Replayer::start(cassette.clone(), ReplayerOptions::default())
        .await
        .expect("a replayer");
    let (status, _, body) = ask(&client(&replayer.url()), "POST", "/echo", "{\"a\": 2}").await;
    let told = String::from_utf8_lossy(&body).into_owned();
    assert_eq!(status, 501);
    assert!(
        told.contains("Near is 3 (POST /echo)") && told.contains("body.a"),
        "{told}"
    );
    assert_eq!(replayer.misses().len(), 1);
    let on_miss = OnMiss::Forward(url(&origin), Credentials::default());
    let mut options = ReplayerOptions::default();
    options.on_miss = on_miss;
    let replayer = Replayer::start(cassette, options).await.expect("a replayer");
    let (status, _, body) = ask(&client(&replayer.url()), "POST", "/echo", "{\"a\": 2}").await;
    assert_eq!((status, &body[..]), (200, &b"{\"a\": 2}"[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_no_http_is_told_so() {
    let setup = Setup::new();
    let origin = Origin::start().await;
    let recorder = setup.record(&url(&origin)).await;
    session(&recorder.url()).await;
    recorder.stop().await;
    let cassette = Cassette::open(&setup.path()).expect("a cassette");
    let replayer = Replayer::start(cassette, ReplayerOptions::default())
        .await
        .expect("a replayer");
    let mut socket = TcpStream::connect(replayer.address()).await.expect("a connection");
    let request = "POST /echo HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n\r\n";
    socket.write_all(request.as_bytes()).await.expect("sent");
    let mut text = String::new();
    socket.read_to_string(&mut text).await.expect("a response");
    assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
    assert!(text.contains("the request's body cannot be read"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_are_recorded_at_once_without_confusion() {
    let setup = Setup::new();
    let origin = Origin::start().await;
    let recorder = setup.record(&url(&origin)).await;
    let clients: Vec<_> = (0..16)
        .map(|n| {
            let url = recorder.url();
            tokio::spawn(async move {
                let client = client(&url);
                for round in 0..20 {
                    let body = format!("{{\"client\":{n},\"round\":{round}}}");
                    let (_, _, echoed) = ask(&client, "POST", "/echo", &body).await;
                    assert_eq!(echoed, body);
                    if round % 7 == 0 {
                        ask(&client, "GET", &format!("/watch/lines?n=3&pause=1&client={n}"), "").await;
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.await.expect("no panic");
    }
    recorder.stop().await;
    let cassette = Cassette::open(&setup.path()).expect("a cassette");
    assert_eq!(cassette.interactions.len(), 16 * 23);
    for interaction in &cassette.interactions {
        let answer = interaction.response().expect("an answer");
        match &answer.payload {
            Payload::Body(body) => assert_eq!(Some(body), interaction.request.body.as_ref()),
            Payload::Stream(frames) => assert_eq!(frames.len(), 3),
            Payload::Messages(_) => panic!("no messages"),
        }
    }
}
