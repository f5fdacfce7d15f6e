//! The redactor: no planted secret survives, however a body is cut and whatever is around it.
//!
//! `cargo +nightly fuzz run redactor -- -max_total_time=60 -max_len=2048`
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::time::Duration;
use stuntdouble_cassettes::{Cassette, Frame, Outcome, Payload, Redaction};

const SECRET: &str = "pl4nted/S3cret+value";

const HEAD: &str = concat!(
    "cassette: 1\nrecorded: 2026-11-21T11:45:16Z\n---\nid: 1\nstarted: 2026-11-21T11:45:16Z\n",
    "request: {method: GET, url: /}\nresponse: {status: 200}\n...\n",
);

fuzz_target!(|input: (&str, Vec<u16>)| {
    let (around, cuts) = input;
    let quoted = format!("{around:?}").replace("\\u{", "\\\\u{").replace("\\'", "'").replace("\\0", "");
    let body = format!("{{\"a\":{quoted},\"password\":\"{SECRET}\",\"b\":{quoted}}}\nPASSWORD={SECRET}\n{around}").into_bytes();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| usize::from(*cut) % body.len()).collect();
    cuts.extend([0, body.len()]);
    cuts.sort_unstable();
    let frames = cuts.windows(2).map(|pair| Frame {
        at: Duration::ZERO,
        data: body[pair[0]..pair[1]].to_vec().into(),
    });
    let mut cassette = Cassette::parse(HEAD).expect("a cassette");
    let Outcome::Answer(answer) = &mut cassette.interactions[0].outcome else {
        panic!("an answer");
    };
    answer.payload = Payload::Stream(frames.collect());
    cassette.redact(Redaction::default());
    let out = cassette.interactions[0].answer().expect("an answer").payload.bytes();
    if !around.contains("S3cret") {
        assert!(!String::from_utf8_lossy(&out).contains(SECRET));
    }
});
