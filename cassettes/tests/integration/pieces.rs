//! Bodies recorded in pieces: the file has no secret, and a replay has all other bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use rstest::rstest;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stuntdouble_cassettes::transport::{Body, Client, ConnectionClosed, Credentials, Handler, Server, Tasks, full};
use stuntdouble_cassettes::{Cassette, Recorder, RecorderOptions, Replayer, ReplayerOptions, Speed};

/// Responds with one document, in pieces of a given size, with a pause after each of the first ones.
struct Slow {
    body: Bytes,
    size: usize,
    pause: Duration,
}

impl Handler for Slow {
    async fn handle(self: Arc<Self>, _: Request<Incoming>, _: Tasks) -> Result<Response<Body>, ConnectionClosed> {
        let pieces: Vec<Bytes> = (0..self.body.len().div_ceil(self.size))
            .map(|n| self.body.slice(n * self.size..self.body.len().min((n + 1) * self.size)))
            .collect();
        let pause = self.pause;
        let frames = stream::iter(pieces.into_iter().enumerate()).then(move |(n, piece)| async move {
            if n < 4 {
                tokio::time::sleep(pause).await;
            }
            Ok(Frame::data(piece))
        });
        let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        Ok(response)
    }
}

async fn get(url: &str, target: &str) -> Bytes {
    let client = Client::new(url, &Credentials::default(), true).expect("a client");
    let request = Request::get(target).body(full("")).expect("a request");
    let response = client.send(request).await.expect("an answer");
    response.into_body().collect().await.expect("a body").to_bytes()
}

/// Records the response. Returns the text of the file and the replayed response.
async fn recorded(body: String, target: &str, size: usize, pause: u64) -> (String, Bytes) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let expected = Bytes::from(body);
    let slow = Slow {
        body: expected.clone(),
        size,
        pause: Duration::from_millis(pause),
    };
    let origin = Server::start(([127, 0, 0, 1], 0).into(), Arc::new(slow))
        .await
        .expect("a server");
    let recorder = Recorder::start(RecorderOptions::new(format!("http://{}", origin.address())), &path)
        .await
        .expect("a recorder");
    assert!(
        get(&recorder.url(), target).await == expected,
        "the recorder changed what it passed on"
    );
    recorder.stop().await;
    let mut options = ReplayerOptions::default();
    options.speed = Speed::Instant;
    let cassette = Cassette::open(&path).expect("a cassette");
    let replayer = Replayer::start(cassette, options).await.expect("a replayer");
    let replayed = get(&replayer.url(), target).await;
    (std::fs::read_to_string(&path).expect("text"), replayed)
}

fn secret(n: usize) -> String {
    format!("pl4nted/S3cret+{n:05}")
}

/// A list of Secrets.
fn secrets(count: usize) -> Value {
    let item = |n: usize| {
        json!({
            "metadata": {"name": format!("secret-{n}"), "annotations": {"about": "x".repeat(5_000)}},
            "data": {"password": STANDARD.encode(secret(n)), "plain": STANDARD.encode("word")},
            "type": "Opaque",
        })
    };
    json!({"kind": "SecretList", "apiVersion": "v1", "items": (0..count).map(item).collect::<Vec<_>>()})
}

/// The differences between two values, with paths.
fn differences(path: String, one: &Value, two: &Value, found: &mut Vec<String>) {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) if one.len() == two.len() => {
            for (key, value) in one {
                differences(format!("{path}.{key}"), value, &two[key], found);
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (one, two) in one.iter().zip(two) {
                differences(format!("{path}.*"), one, two, found);
            }
        }
        _ if one == two => {}
        _ => found.push(path),
    }
}

/// Number of Secrets in a list. `STUNTDOUBLE_SECRETS` sets another. 4,000 are 20 MB.
fn many() -> usize {
    std::env::var("STUNTDOUBLE_SECRETS").map_or(250, |number| number.parse().expect("a number"))
}

#[rstest]
#[case::whole(many(), 1 << 20, 0)]
#[case::pieces(many(), 1_000, 0)]
#[case::odd(250, 77_777, 0)]
#[case::slow(40, 333, 60)]
#[case::slow_and_long(250, 9_999, 60)]
#[case::tiny(20, 1, 40)]
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_secrets_in_pieces_is_redacted_and_nothing_else(
    #[case] count: usize,
    #[case] size: usize,
    #[case] pause: u64,
) {
    let list = secrets(count);
    let (text, replayed) = recorded(format!("{list}\n"), "/api/v1/secrets", size, pause).await;
    for n in 0..count {
        let (plain, code) = (secret(n), STANDARD.encode(secret(n)));
        assert!(
            !text.contains(&plain) && !text.contains(&code[..code.len() - 2]),
            "secret {n} is in the file"
        );
    }
    let back: Value = serde_json::from_slice(&replayed).expect("JSON");
    let mut found = Vec::new();
    differences(String::new(), &list, &back, &mut found);
    assert!(
        replayed == redacted(&list, &back),
        "other bytes than those of secrets differ"
    );
    let others = found.iter().filter(|path| !path.starts_with(".items.*.data.")).count();
    assert_eq!((found.len(), others), (2 * count, 0));
    assert_eq!(
        replayed.len(),
        format!("{list}\n").len() + count * (STANDARD.encode("redacted-1").len() - 8) + grown(count)
    );
}

/// The list as sent, with the data of another list.
fn redacted(list: &Value, other: &Value) -> Bytes {
    let mut list = list.clone();
    let items = list["items"].as_array_mut().expect("items");
    for (item, other) in items.iter_mut().zip(other["items"].as_array().expect("items")) {
        item["data"] = other["data"].clone();
    }
    format!("{list}\n").into()
}

/// Additional length of the placeholders of the word compared with the shortest one. They have one number.
fn grown(count: usize) -> usize {
    let number = if count > 1 { 2 } else { 1 };
    let placeholder = STANDARD.encode(format!("redacted-{number}"));
    count * (placeholder.len() - STANDARD.encode("redacted-1").len())
}

#[rstest]
#[case::pieces(1_000, 0)]
#[case::slow(50_000, 50)]
#[tokio::test(flavor = "multi_thread")]
async fn a_description_of_the_api_in_pieces_replays_byte_for_byte(#[case] size: usize, #[case] pause: u64) {
    let schema = |n: usize| {
        json!({
            "description": "a \u{fc} <b> & \"quoted\" text".repeat(10), "type": "object",
            "properties": {"secret": {"$ref": format!("#/definitions/v1.Secret{n}"), "description": "A secret."}, "token": {"type": "string"}},
        })
    };
    let definitions: serde_json::Map<String, Value> =
        (0..3_000).map(|n| (format!("v1.Secret{n}"), schema(n))).collect();
    let body = json!({"swagger": "2.0", "securityDefinitions": {"BearerToken": {"type": "apiKey"}}, "definitions": definitions}).to_string();
    let (_, replayed) = recorded(body.clone(), "/swagger.json", size, pause).await;
    assert!(replayed == body.as_bytes());
}
