//! No planted secret is in the file, wherever it was sent.

use std::path::Path;

use crate::origin::{Origin, url};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::Request;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper_util::rt::TokioIo;
use rstest::rstest;
use serde_json::json;
use stuntdouble_cassettes::transport::{Body, Client, Coding, Credentials, Server, full};
use stuntdouble_cassettes::{Cassette, Payload, Recorder, RecorderOptions, Redaction, Replayer, ReplayerOptions};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

const SECRET: &str = "pl4nted/S3cret+value";

/// The secret in all spellings.
fn spellings(secret: &str) -> Vec<String> {
    let mut all = vec![
        secret.to_owned(),
        url::form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
    ];
    for before in 0..3 {
        let code = STANDARD.encode([&vec![b'x'; before][..], secret.as_bytes(), b"yy"].concat());
        all.push(code.get(4..code.len() - 8).expect("its middle").to_owned());
        let code = URL_SAFE_NO_PAD.encode([&vec![b'x'; before][..], secret.as_bytes(), b"yy"].concat());
        all.push(code.get(4..code.len() - 8).expect("its middle").to_owned());
    }
    all
}

fn assert_clean(text: &str, secret: &str) {
    for spelling in spellings(secret) {
        let line = text.lines().position(|line| line.contains(&spelling));
        let near = line.map(|at| {
            text.lines()
                .skip(at.saturating_sub(12))
                .take(14)
                .collect::<Vec<_>>()
                .join("\n")
        });
        assert_eq!(near, None, "{spelling} came through");
    }
}

struct Case {
    method: &'static str,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

fn case(
    method: &'static str,
    target: impl Into<String>,
    headers: &[(&'static str, &str)],
    body: impl Into<String>,
) -> Case {
    let headers = headers.iter().map(|(name, value)| (*name, value.to_string())).collect();
    Case {
        method,
        target: target.into(),
        headers,
        body: body.into(),
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const YAML: (&str, &str) = ("content-type", "application/yaml");

/// Positions at which a rule matches an unknown secret. The origin echoes bodies.
fn positions(secret: &str) -> Vec<Case> {
    let code = STANDARD.encode(secret);
    let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let object =
        json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"password-file": code}});
    let applied =
        json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": object.to_string()}}});
    let yaml = format!(
        "kind: Secret\napiVersion: v1\nstringData:\n  a: {secret}\n  b: |\n    {secret}\nmetadata:\n  name: x\n"
    );
    let pem = format!("-----BEGIN RSA PRIVATE KEY-----\n{secret}\n-----END RSA PRIVATE KEY-----\n");
    vec![
        case("GET", "/e", &[("authorization", &format!("Bearer {secret}"))], ""),
        case(
            "GET",
            "/e",
            &[(
                "authorization",
                &format!("Basic {}", STANDARD.encode(format!("user:{secret}"))),
            )],
            "",
        ),
        case("GET", "/e", &[("cookie", &format!("session={secret}; theme=dark"))], ""),
        case(
            "GET",
            "/e",
            &[(
                "x-say",
                &format!("https://user:{secret}@example.com")
                    .replace('/', "%2F")
                    .replace("%2F%2F", "//"),
            )],
            "",
        ),
        case(
            "GET",
            "/e",
            &[(
                "sec-websocket-protocol",
                &format!(
                    "base64url.bearer.authorization.k8s.io.{}, v4",
                    URL_SAFE_NO_PAD.encode(secret)
                ),
            )],
            "",
        ),
        case("GET", format!("/e?access_token={encoded}&a=b"), &[], ""),
        case(
            "POST",
            "/e",
            &[("content-type", "application/x-www-form-urlencoded")],
            format!("user=me&password={encoded}"),
        ),
        case("POST", "/e", &[JSON], object.to_string()),
        case(
            "POST",
            "/e",
            &[JSON],
            json!({"kind": "SecretList", "items": [{"data": {"a": code}}]}).to_string(),
        ),
        case(
            "POST",
            "/e",
            &[JSON],
            format!("{:#}", json!({"type": "ADDED", "object": object})),
        ),
        case("POST", "/e", &[JSON], applied.to_string()),
        case(
            "PATCH",
            "/api/v1/namespaces/a/secrets/b",
            &[JSON],
            json!({"data": {"a": code}}).to_string(),
        ),
        case(
            "PATCH",
            "/api/v1/namespaces/a/secrets/b",
            &[JSON],
            json!([{"op": "add", "path": "/data/x", "value": code}]).to_string(),
        ),
        case(
            "POST",
            "/e",
            &[JSON],
            json!({"spec": {"env": [{"name": "DB_PASSWORD", "value": secret}]}}).to_string(),
        ),
        case(
            "POST",
            "/e",
            &[JSON],
            json!({"users": [{"user": {"token": secret, "client-key-data": code}}]}).to_string(),
        ),
        case("POST", "/e", &[YAML], yaml),
        case(
            "POST",
            "/e",
            &[YAML],
            format!("kind: Secret\ndata:\n  a: {code}\n---\nkind: Secret\ndata: {{b: {code}}}\n"),
        ),
        case("POST", "/e", &[JSON], format!("{{\"password\": \"{secret}\", broken")),
        case("POST", "/e", &[JSON], json!({"file": pem}).to_string()),
        case(
            "POST",
            "/e",
            &[],
            format!("curl -H 'Authorization: Bearer {secret}' said no"),
        ),
    ]
}

/// Positions at which only a known secret is found.
fn echoes(secret: &str) -> Vec<Case> {
    let inside = STANDARD.encode(format!("ab{secret}cd"));
    let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    vec![
        case("GET", format!("/e/{encoded}?q={encoded}"), &[("x-say", secret)], ""),
        case(
            "POST",
            "/e",
            &[JSON],
            json!({"message": format!("no user has {secret}"), "raw": inside}).to_string(),
        ),
        case("POST", "/e", &[YAML], format!("message: \"no user has {secret}\"\n")),
        case("POST", "/e", &[], format!("panic: {secret}\n\tat main")),
        case("POST", "/e", &[], format!("\u{0}binary {secret}\u{1}")),
    ]
}

async fn send(client: &Client, case: &Case) -> Bytes {
    let mut request = Request::builder().method(case.method).uri(&case.target);
    for (name, value) in &case.headers {
        request = request.header(*name, value);
    }
    let response = client
        .send(request.body(full(case.body.clone())).expect("a request"))
        .await
        .expect("an answer");
    response.into_body().collect().await.expect("a body").to_bytes()
}

async fn record(origin: &Server, path: &Path) -> Recorder {
    Recorder::start(RecorderOptions::new(url(origin)), path)
        .await
        .expect("a recorder")
}

async fn replay(cassette: Cassette) -> Replayer {
    Replayer::start(cassette, ReplayerOptions::default())
        .await
        .expect("a replayer")
}

fn client(url: &str) -> Client {
    Client::new(url, &Credentials::default(), true).expect("a client")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_planted_secret_reaches_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let origin = Origin::start().await;
    for (n, case) in positions(SECRET).iter().enumerate() {
        // One cassette for each, so that the secret is unknown.
        let path = folder.path().join(format!("{n}.yaml"));
        let recorder = record(&origin, &path).await;
        let client = client(&recorder.url());
        send(&client, case).await;
        recorder.stop().await;
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(
            text.contains("redacted-") || text.contains("cmVkYWN0ZWQt"),
            "nothing was taken out of {n}:\n{text}"
        );
        assert_clean(&text, SECRET);
        Cassette::parse(&text).expect("a cassette");
    }
    let path = folder.path().join("echoes.yaml");
    let recorder = record(&origin, &path).await;
    let client = client(&recorder.url());
    send(&client, &positions(SECRET)[0]).await;
    for case in &echoes(SECRET) {
        send(&client, case).await;
    }
    streams(&client, &recorder.url()).await;
    recorder.stop().await;
    let text = std::fs::read_to_string(&path).expect("text");
    assert_clean(&text, SECRET);
    let cassette = Cassette::parse(&text).expect("a cassette");
    assert_eq!(cassette.interactions.len(), 9);
    assert!(cassette.header.redactions.contains(&"credentials".to_owned()));
}

/// A body in chunks that split the secret, an error response, and a WebSocket.
async fn streams(client: &Client, at: &str) {
    let whole = format!("a line with {SECRET} in it\n").repeat(3);
    for size in [7, 19] {
        let chunks: Vec<_> = whole
            .as_bytes()
            .chunks(size)
            .map(|chunk| Ok(Frame::data(chunk.to_vec().into())))
            .collect();
        let body: Body = StreamBody::new(futures::stream::iter(chunks)).boxed_unsync();
        let request = Request::post("/api/v1/watch/e").body(body).expect("a request");
        client
            .send(request)
            .await
            .expect("an answer")
            .into_body()
            .collect()
            .await
            .expect("a body");
    }
    let request = Request::get("/ws")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .body(full(""))
        .expect("a request");
    let response = self::client(at).send(request).await.expect("an answer");
    let upgraded = hyper::upgrade::on(response).await.expect("upgraded");
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, None).await;
    for say in [
        format!("say {SECRET}"),
        STANDARD.encode(format!("x{SECRET}")),
        "bye".into(),
    ] {
        socket.send(Message::text(say)).await.expect("sent");
    }
    while let Some(Ok(_)) = socket.next().await {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_request_is_recorded_without_its_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let origin = Origin::start().await;
    let recorder = record(&origin, &path).await;
    let body = Coding::Gzip
        .encode(json!({"password": SECRET}).to_string().as_bytes())
        .expect("encoded");
    let post = async |at: &str| {
        let request = Request::post("/small")
            .header("content-encoding", "gzip")
            .body(full(body.clone()))
            .expect("a request");
        let response = client(at).send(request).await.expect("an answer");
        response.into_body().collect().await.expect("a body").to_bytes()
    };
    let answered = post(&recorder.url()).await;
    recorder.stop().await;
    let cassette = Cassette::open(&path).expect("a cassette");
    let request = &cassette.interactions[0].request;
    assert_eq!(
        request.text(),
        json!({"password": format!("redacted-1{}", "~".repeat(10))}).to_string()
    );
    let replayer = replay(cassette).await;
    assert_eq!(post(&replayer.url()).await, answered);
    replayer.assert_all_played();
}

#[rstest]
#[case::with_media_type(&[JSON])]
#[case::without_media_type(&[])]
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_several_lines_is_replayed_as_json(#[case] headers: &[(&'static str, &str)]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let origin = Origin::start().await;
    let recorder = record(&origin, &path).await;
    let body = |secret: &str| json!({"password": format!("{secret}\n\"{secret}\"")}).to_string();
    let post = async |at: &str, body: String| send(&client(at), &case("POST", "/e", headers, body)).await;
    assert_eq!(post(&recorder.url(), body(SECRET)).await, body(SECRET));
    recorder.stop().await;
    let replayer = replay(Cassette::open(&path).expect("a cassette")).await;
    let other: String = SECRET.chars().rev().collect();
    assert_eq!(post(&replayer.url(), body(&other)).await, body(&other));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_were_redacted_still_match() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let origin = Origin::start().await;
    let recorder = record(&origin, &path).await;
    let cases: Vec<Case> = positions(SECRET)
        .into_iter()
        .chain(positions("an0ther-S3cret/value"))
        .chain([case("POST", "/api/v1/namespaces/a/secrets", &[YAML], "a: [b")])
        .collect();
    let to_recorder = client(&recorder.url());
    for case in &cases {
        send(&to_recorder, case).await;
    }
    recorder.stop().await;
    let replayer = replay(Cassette::open(&path).expect("a cassette")).await;
    let to_replayer = client(&replayer.url());
    for case in &cases {
        send(&to_replayer, case).await;
    }
    assert_eq!(replayer.misses(), Vec::<String>::new());
}

fn recorded(cases: &[Case]) -> Cassette {
    let entries: Vec<serde_json::Value> = cases
        .iter()
        .map(|case| {
            let headers: Vec<_> = case.headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
            json!({
                "startedDateTime": "2026-11-21T11:45:16Z", "time": 1, "timings": {},
                "request": {"method": case.method, "url": format!("http://h{}", case.target), "headers": headers, "postData": {"text": case.body}},
                "response": {"status": 200, "headers": headers, "content": {"text": case.body}},
            })
        })
        .collect();
    Cassette::from_har(&json!({"log": {"entries": entries}}).to_string()).expect("a cassette")
}

#[test]
fn scrubbing_finds_occurrences_before_a_secret_is_known() {
    let mut cases = echoes(SECRET);
    cases.extend(positions(SECRET));
    let mut cassette = recorded(&cases);
    cassette.redact(Redaction::default());
    let once = cassette.to_yaml();
    assert_clean(&once, SECRET);
    cassette.redact(Redaction::default());
    let twice = cassette.to_yaml();
    let changed: Vec<_> = once
        .lines()
        .zip(twice.lines())
        .filter(|(one, two)| one != two)
        .collect();
    assert_eq!(changed, [], "to scrub twice is to scrub once");
}

#[rstest]
#[case(Redaction::none().header("X-Mine"), "header x-mine")]
#[case(Redaction::none().query("mine"), "query mine")]
#[case(Redaction::none().path("spec.*.mine"), "path spec.*.mine")]
#[case(Redaction::none().path("**.mine"), "path **.mine")]
#[case(Redaction::none().pattern("mine:([0-9]+)").expect("a pattern"), "pattern mine:([0-9]+)")]
#[case(Redaction::none().literal("4711471147"), "1 given secrets")]
fn own_rules_apply_and_are_named_in_the_header(#[case] rules: Redaction, #[case] named: &str) {
    let body = json!({"spec": {"a": {"mine": "4711471147"}}, "log": "mine:4711471147", "kept": "else"}).to_string();
    let mut cassette = recorded(&[case(
        "POST",
        "/e?mine=4711471147",
        &[("x-mine", "4711471147"), JSON],
        body,
    )]);
    cassette.redact(rules);
    let text = cassette.to_yaml();
    assert!(!text.contains("4711471147"), "{text}");
    assert!(text.contains("redacted-1") && text.contains("kept: else"), "{text}");
    assert_eq!(cassette.header.redactions, [named]);
}

#[test]
fn other_values_are_unchanged() {
    let object =
        json!({"kind": "Secret", "metadata": {"name": "default"}, "data": {"user": STANDARD.encode("default")}});
    let body =
        json!({"kind": "Pod", "metadata": {"name": "default"}, "secretName": "a", "tokens": 5, "key": "b"}).to_string();
    let mut cassette = recorded(&[
        case("POST", "/e", &[JSON], object.to_string()),
        case("POST", "/default", &[JSON], body.clone()),
    ]);
    cassette.redact(Redaction::default());
    let Payload::Body(kept) = &cassette.interactions[1].response().expect("an answer").payload else {
        panic!("a body")
    };
    assert_eq!(*kept, body);
    assert_eq!(cassette.interactions[1].request.url, "/default");
    assert!(cassette.interactions[0].request.text().contains("\"name\":\"default\""));
    assert!(
        !cassette.interactions[0]
            .request
            .text()
            .contains(&STANDARD.encode("default"))
    );
}
