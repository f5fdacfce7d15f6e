//! What an interaction costs on its way into a cassette, part by part.
//!
//! `cargo bench -p stuntdouble-cassettes --bench entry`.

#![allow(clippy::expect_used, reason = "a benchmark that cannot run fails by panicking")]

use bytes::Bytes;
use jiff::Timestamp;
use std::hint::black_box;
use std::time::{Duration, Instant};
use stuntdouble_cassettes::format::{Opening, Tape};
use stuntdouble_cassettes::interaction::{Answer, Header, Headers, Outcome, Payload, Request};
use stuntdouble_cassettes::redactor::{Redactor, Rules};

const ROUNDS: u32 = 20_000;

fn time<T>(what: &str, mut work: impl FnMut() -> T) {
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        black_box(work());
    }
    println!("{what:<40} {:>8.2?}", begun.elapsed() / ROUNDS);
}

fn headers(all: &[(&str, &str)]) -> Headers {
    Headers(
        all.iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
    )
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let tape = Tape::create(
        &folder.path().join("entry.yaml"),
        &Header::new(Timestamp::UNIX_EPOCH),
        false,
    )
    .expect("a tape");
    let redactor = Redactor::new(Rules::default());
    let request = Request {
        method: "GET".into(),
        url: "/api/v1/namespaces/default/configmaps/a".into(),
        headers: headers(&[
            ("host", "127.0.0.1:8080"),
            ("user-agent", "client/1.0"),
            ("accept", "*/*"),
        ]),
        body: None,
        omitted: 0,
    };
    let body = Bytes::from(format!(
        "{{\"kind\":\"ConfigMap\",\"data\":{{\"a\":\"1\",\"b\":\"{}\"}}}}\n",
        "x".repeat(200)
    ));
    let answered = headers(&[
        ("content-type", "application/json"),
        ("content-length", "240"),
        ("date", "Sat, 21 Nov 2026 11:45:16 GMT"),
    ]);
    let outcome = |body: &Bytes| {
        let payload = Payload::Body(body.clone());
        Outcome::Answer(Answer {
            status: 200,
            headers: answered.clone(),
            payload,
            cut: None,
        })
    };
    let (whole, wait, took) = (
        outcome(&body),
        Duration::from_micros(20),
        Some(Duration::from_micros(30)),
    );
    let opening = Opening::new(1, Timestamp::UNIX_EPOCH, &request);
    time("the request without its secrets", || redactor.request(&request));
    time("the beginning of the document", || {
        Opening::new(1, Timestamp::UNIX_EPOCH, &request)
    });
    time("the answer's headers without secrets", || redactor.headers(&answered));
    time("the answer's body without secrets", || {
        redactor.body(&body, &answered, "/", false)
    });
    time("the rest of the document, written", || {
        tape.append(opening.clone(), wait, took, &whole)
    });
}
