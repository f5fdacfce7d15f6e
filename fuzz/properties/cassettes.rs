//! Properties of cassettes, for the fuzz targets and the tests of the crate.

use std::time::Duration;

use stuntdouble_cassettes::{Cassette, Frame, Outcome, Payload, Redaction};

const SECRET: &str = "pl4nted/S3cret+value";

const HEAD: &str = concat!(
    "cassette: 1\nrecorded: 2026-11-21T11:45:16Z\n---\nid: 1\nstarted: 2026-11-21T11:45:16Z\n",
    "request: {method: GET, url: /}\nresponse: {status: 200}\n...\n",
);

/// The reader: any text is a cassette or an error, and a cassette survives writing and reading without loss.
pub(crate) fn cassette(text: &str) {
    if let Ok(cassette) = Cassette::parse(text) {
        let again = Cassette::parse(&cassette.to_yaml()).expect("a written cassette cannot be read");
        assert_eq!(again.interactions.len(), cassette.interactions.len());
        let contents = cassette.contents();
        assert!(!contents.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    }
}

/// HAR: any text is a HAR or an error, and a HAR survives export and import without loss.
pub(crate) fn har(text: &str) {
    if let Ok(cassette) = Cassette::from_har(text) {
        let again = Cassette::from_har(&cassette.to_har()).expect("an exported HAR cannot be imported");
        assert_eq!(again.interactions.len(), cassette.interactions.len());
    }
}

/// The redactor: no planted secret survives, however the body is split into frames and whatever surrounds it.
pub(crate) fn redactor(around: &str, cuts: &[u16]) {
    let quoted = format!("{around:?}")
        .replace("\\u{", "\\\\u{")
        .replace("\\'", "'")
        .replace("\\0", "");
    let body = format!("{{\"a\":{quoted},\"password\":\"{SECRET}\",\"b\":{quoted}}}\nPASSWORD={SECRET}\n{around}");
    let body = body.into_bytes();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| usize::from(*cut) % body.len()).collect();
    cuts.extend([0, body.len()]);
    cuts.sort_unstable();
    let frames = cuts.windows(2).map(|pair| Frame {
        at: Duration::ZERO,
        data: body[pair[0]..pair[1]].to_vec().into(),
    });
    let mut cassette = Cassette::parse(HEAD).expect("invalid cassette");
    let Outcome::Response(answer) = &mut cassette.interactions[0].outcome else {
        panic!("the interaction has no response");
    };
    answer.payload = Payload::Stream(frames.collect());
    cassette.redact(Redaction::default());
    let out = cassette.interactions[0]
        .response()
        .expect("the interaction has no response")
        .payload
        .bytes();
    if !around.contains("S3cret") {
        assert!(!String::from_utf8_lossy(&out).contains(SECRET));
    }
}
