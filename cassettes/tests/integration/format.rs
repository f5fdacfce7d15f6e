//! Released versions stay readable, newer ones are refused, and an incomplete end loses only the incomplete part.

use proptest::prelude::*;
use rstest::rstest;
use std::time::Duration;
use stuntdouble_cassettes::{
    Cassette, Data, Failure, FailureKind, FormatError, Frame, Header, Headers, Interaction, Marks, Message, Outcome,
    Payload, Request, Response, Sender,
};

const V1: &str = include_str!("../samples/v1.yaml");

fn body(interaction: &Interaction) -> String {
    String::from_utf8_lossy(&interaction.response().expect("an answer").payload.bytes()).into_owned()
}

#[test]
fn version_1_stays_readable() {
    let cassette = Cassette::parse(V1).expect("the sample");
    assert_eq!(cassette.header.upstream_version.as_deref(), Some("v1.2.0"));
    let [json, text, stream, socket, error, long, repeated] = cassette.interactions.as_slice() else {
        panic!("seven of them")
    };
    let asked = r#"{"kind": "Namespace", "number": 2.50, "empty": {}, "yes": "no"}"#;
    assert_eq!(json.request.body.as_deref(), Some(asked.as_bytes()));
    assert_eq!(json.request.headers.all("X-Twice").collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        (json.wait, json.took),
        (Duration::from_micros(1500), Some(Duration::from_micros(3700)))
    );
    let answered =
        "{\n  \"kind\": \"Namespace\",\n  \"text\": \"two\\nlines\\n\",\n  \"html\": \"\\u003cb\\u003e\"\n}\n";
    assert_eq!(body(json), answered);
    assert_eq!(body(text), "a text\n  without a last line break");
    assert_eq!(text.request.body.as_deref(), Some(&b""[..]));
    assert_eq!(text.marks.only.as_deref(), Some("kubernetes-1.2"));
    assert!(text.marks.unjudged.is_some() && text.marks.text_varies);
    let frames = stream.frames().expect("frames");
    assert_eq!((frames.len(), &frames[0].data[..]), (2, &b"{\"type\":\"ADDED\"}\n"[..]));
    assert_eq!(
        frames[1],
        Frame {
            at: Duration::from_millis(10),
            data: "no JSON".into()
        }
    );
    assert_eq!(stream.took, Some(Duration::from_millis(12)));
    let messages = socket.messages().expect("messages");
    assert_eq!(messages.len(), 7);
    assert_eq!(messages[0].data, Data::Text("{\"hello\":\"there\"}".into()));
    assert_eq!(messages[5].data, Data::Close(Some((1000, "done".into()))));
    assert!(socket.is_websocket());
    assert!(matches!(&error.outcome, Outcome::Failure(failure) if failure.kind == FailureKind::Refused));
    assert_eq!(
        long.response().expect("an answer").payload.bytes(),
        &b"one, \x00\xff"[..]
    );
    assert_eq!(
        (long.request.omitted, long.response().and_then(|a| a.cut.as_deref())),
        (10, Some("the connection was reset"))
    );
    assert_eq!(body(repeated), body(long));
    assert_eq!(Cassette::parse(&cassette.to_yaml()).expect("it again"), cassette);
    assert_eq!(Cassette::from_har(&cassette.to_har()).expect("it from HAR"), cassette);
    let contents = cassette.contents();
    assert!(
        contents.contains("7 interactions, 1 of them streams, 1 upgraded, 1 without a response"),
        "{contents}"
    );
}

#[test]
fn a_newer_version_is_refused_with_the_program_that_reads_it() {
    let newer = V1
        .replace("cassette: 1", "cassette: 7")
        .replace("stuntdouble 0.1.0", "stuntdouble 3.2.1");
    let error = Cassette::parse(&newer).expect_err("too new");
    assert!(matches!(error, FormatError::TooNew { found: 7, .. }));
    assert!(
        error.to_string().contains("stuntdouble 3.2.1 or later reads it"),
        "{error}"
    );
}

#[rstest]
#[case("", "empty")]
#[case("hello", "cassette: VERSION")]
#[case("{\"log\": {}}", "cassette: VERSION")]
#[case("---\ncassette: 1\n", "there is no `recorded`")]
#[case("---\n: [\n", "not a cassette")]
fn a_text_that_is_not_a_cassette_is_refused(#[case] text: &str, #[case] says: &str) {
    let error = Cassette::parse(text).expect_err("no cassette").to_string();
    assert!(error.contains(says), "{error}");
}

#[rstest]
#[case("  status: 201", "  status: x", "line 18", "no `status`")]
#[case("    base64: AJ+Slg==", "    base64: '!'", "line 83", "invalid base64")]
#[case("  body_of: 6", "  body_of: 8", "line 158", "no earlier interaction 8 has a body")]
#[case("  body_of: 6", "  body_of: x", "line 158", "`body_of` is no number")]
#[case("layout: spaced", "layout: wavy", "line 18", "`wavy` is no layout")]
#[case("stream_of: 3", "stream_of: 33", "line 112", "unknown interaction 33")]
#[case("id: 2\n", "id: 1\n", "line 53", "a second interaction 1")]
fn the_error_for_a_malformed_document_has_its_line(
    #[case] from: &str,
    #[case] to: &str,
    #[case] at: &str,
    #[case] what: &str,
) {
    assert!(V1.contains(from));
    let error = Cassette::parse(&V1.replacen(from, to, 1))
        .expect_err("malformed")
        .to_string();
    assert!(error.contains(what) && error.starts_with("line"), "{error}");
    let line = |text: &str| {
        text.trim_start_matches("line ")
            .split(':')
            .next()
            .and_then(|n| n.trim().parse::<usize>().ok())
    };
    let (expected, found) = (line(at).expect("a line"), line(&error).expect("a line"));
    assert!(found.abs_diff(expected) <= 15, "{error}, expected about {at}");
}

/// The contents of a cassette that is cut at a position: everything before the incomplete document or frame.
#[test]
fn an_incomplete_end_loses_only_the_incomplete_part() {
    let whole = Cassette::parse(V1).expect("the sample");
    let start = V1.find("id: 1\n").expect("the first interaction");
    let mut least = 0;
    for end in start..V1.len() {
        let torn = Cassette::parse(V1.get(..end).unwrap_or_else(|| panic!("the sample is ASCII")));
        let torn = torn.unwrap_or_else(|error| panic!("cut at {end}: {error}"));
        let pieces: usize = torn.interactions.iter().map(weight).sum();
        assert!(pieces >= least, "cut at {end}: {pieces} after {least}");
        least = pieces;
        for interaction in &torn.interactions {
            let original = whole
                .interactions
                .iter()
                .find(|each| each.id == interaction.id)
                .expect("one of them");
            assert_eq!(interaction.request, original.request, "cut at {end}");
        }
        let ended = V1.get(..end).unwrap_or_default().matches("\ntook_ms").count();
        assert!(torn.interactions.len() + 3 >= ended, "cut at {end}");
    }
    assert_eq!(least, whole.interactions.iter().map(weight).sum::<usize>());
}

fn weight(interaction: &Interaction) -> usize {
    1 + interaction.frames().map_or(0, <[_]>::len) + interaction.messages().map_or(0, <[_]>::len)
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        any::<String>().prop_map(String::into_bytes),
        "(\\{\"[a-z]\": ?(\"\\PC{0,9}\"|[0-9]{1,3}|\\[\\])\\}\n?|[ -~\n]{0,40})".prop_map(String::into_bytes),
    ]
}

fn time() -> impl Strategy<Value = Duration> {
    (0..10_000_000_u64).prop_map(Duration::from_micros)
}

fn payload() -> impl Strategy<Value = Payload> {
    let frame = (time(), bytes()).prop_filter("a frame has bytes", |(_, data)| !data.is_empty());
    let data = prop_oneof![
        any::<String>().prop_map(Data::Text),
        any::<Vec<u8>>().prop_map(|bytes| Data::Binary(bytes.into())),
        any::<Vec<u8>>().prop_map(|bytes| Data::Ping(bytes.into())),
        prop::option::of((1000..5000_u16, ".{0,9}")).prop_map(Data::Close),
    ];
    let message = (time(), any::<bool>(), data).prop_map(|(at, client, data)| Message {
        at,
        from: if client { Sender::Client } else { Sender::Server },
        data,
    });
    prop_oneof![
        bytes().prop_map(|bytes| Payload::Body(bytes.into())),
        prop::collection::vec(frame.prop_map(|(at, data)| Frame { at, data: data.into() }), 0..4)
            .prop_map(Payload::Stream),
        prop::collection::vec(message, 0..4).prop_map(Payload::Messages),
    ]
}

fn interaction() -> impl Strategy<Value = Interaction> {
    let outcome = prop_oneof![
        4 => (100..600_u16, payload(), prop::option::of("\\PC{0,12}")).prop_map(|(status, payload, cut)| {
            let headers = Headers(vec![("content-type".into(), "x/y; z".into()), ("set-cookie".into(), "a: b #c".into())]);
            let trailers = Headers(cut.iter().map(|cut: &String| ("x-cut".into(), cut.trim().to_owned())).collect());
            Outcome::Response(Response { status, headers, payload, trailers, cut })
        }),
        1 => any::<String>().prop_map(|text| Outcome::Failure(Failure { kind: FailureKind::Timeout, text })),
    ];
    let request = (
        "(GET|POST|yes)",
        "/[a-z?&=#:%]{0,12}",
        prop::option::of(bytes()),
        0..9_u64,
    );
    (request, outcome, time(), prop::option::of(any::<String>())).prop_map(
        |((method, url, body, omitted), outcome, took, note)| Interaction {
            id: 1,
            note,
            started: "2026-11-21T11:45:16.5Z".parse().expect("a time"),
            wait: took / 2000 * 1000,
            took: Some(took),
            request: Request {
                method,
                url,
                headers: Headers::default(),
                body: body.map(Into::into),
                omitted,
            },
            outcome,
            marks: Marks::default(),
        },
    )
}

proptest! {
    #[test]
    fn every_interaction_survives_both_formats(interaction in interaction()) {
        let header = Header::new("2026-11-21T11:45:16Z".parse().expect("a time"));
        let cassette = Cassette { header, interactions: vec![interaction] };
        let text = cassette.to_yaml();
        let read = Cassette::parse(&text);
        prop_assert!(read.as_ref().is_ok_and(|read| *read == cassette), "{:?}\n{}\n{:?}", cassette, text, read);
        prop_assert_eq!(Cassette::from_har(&cassette.to_har()).expect("from HAR"), cassette);
    }
}

#[test]
fn a_list_of_contents_has_no_characters_that_a_terminal_obeys() {
    let cassette = Cassette::parse(
        "---\ncassette: 1\nrecorded: 2026-11-21T11:45:16Z\ncomment: \"a\\x1b[2Jb\"\n...\n---\nid: 1\nstarted: 2026-11-21T11:45:16Z\nrequest:\n  method: GET\n  url: \"/\\x1b]0;x\\x07\"\nresponse:\n  status: 200\n...\n",
    )
    .expect("a cassette");
    let text = cassette.contents();
    assert!(
        text.contains("\\u{1b}[2J") && !text.contains(|c: char| c.is_control() && c != '\n'),
        "{text:?}"
    );
}
