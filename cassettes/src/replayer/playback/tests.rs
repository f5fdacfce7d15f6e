use super::*;
use crate::interaction::{Headers, Marks, Outcome, Payload, Response};
use rstest::rstest;
use serde_json::{Value, json};

/// Requests of a controller: it creates a pod with a random name, polls and changes it, lists and watches from its
/// version, records an event, and deletes the pod. `shift` tells one run from another.
fn round(n: usize, shift: usize) -> Vec<(&'static str, String, Option<Value>)> {
    let name = format!("web-{:05}x1", n + shift);
    let pod = format!("/api/v1/namespaces/a/pods/{name}");
    let time = format!("2026-11-21T11:{:02}:{:02}Z", n / 60 % 60, (n + shift) % 60);
    let version = n * 3;
    vec![
        ("GET", "/version".into(), None),
        (
            "POST",
            "/api/v1/namespaces/a/pods".into(),
            Some(json!({"metadata": {"name": name}})),
        ),
        ("GET", pod.clone(), None),
        (
            "PUT",
            format!("{pod}/status"),
            Some(json!({"metadata": {"name": name}, "status": {"n": n}})),
        ),
        ("GET", "/api/v1/namespaces/a/pods".into(), None),
        (
            "GET",
            format!("/api/v1/pods?watch=true&resourceVersion={version}"),
            None,
        ),
        (
            "GET",
            format!("/api/v1/nodes?watch=true&timeoutSeconds={}", n + shift),
            None,
        ),
        (
            "POST",
            "/api/v1/namespaces/a/events".into(),
            Some(json!({"count": n, "lastTimestamp": time})),
        ),
        (
            "PATCH",
            "/api/v1/namespaces/a/configmaps/leader".into(),
            Some(json!({"data": {"time": time}})),
        ),
        ("DELETE", pod, None),
    ]
}

fn request((method, url, body): (&str, String, Option<Value>)) -> Request {
    Request {
        method: method.to_owned(),
        url,
        headers: Headers::default(),
        body: body.map(|body| body.to_string().into()),
        omitted: 0,
    }
}

fn session(rounds: usize) -> Vec<Interaction> {
    recorded((0..rounds).flat_map(|n| round(n, 0)).map(request))
}

/// Requests that were answered with an empty object.
fn recorded(requests: impl Iterator<Item = Request>) -> Vec<Interaction> {
    let interaction = |(n, request): (usize, Request)| Interaction {
        id: n as u64 + 1,
        note: None,
        started: jiff::Timestamp::from_second(n as i64).expect("a time"),
        wait: Duration::ZERO,
        took: Some(Duration::ZERO),
        request,
        outcome: Outcome::Response(Response {
            status: 200,
            headers: Headers::default(),
            payload: Payload::Body("{}".into()),
            trailers: Headers::default(),
            cut: None,
        }),
        marks: Marks::default(),
    };
    requests.enumerate().map(interaction).collect()
}

/// The most comparisons for one request of a session of so many rounds.
fn most_comparisons(rounds: usize) -> usize {
    let playback = Playback::new(session(rounds));
    let mut most = 0;
    let before = |playback: &Playback| playback.index.comparisons();
    for (position, live) in (0..rounds).flat_map(|n| round(n, 50_000)).map(request).enumerate() {
        let compared = before(&playback);
        let selected = playback.select(&live).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!((selected.position, selected.again), (position, false), "{live:?}");
        most = most.max(before(&playback) - compared);
    }
    assert_eq!((playback.unplayed(), playback.misses()), (vec![], vec![]));
    most
}

#[test]
fn the_work_for_a_request_does_not_grow_with_the_session() {
    let (short, long) = (most_comparisons(3), most_comparisons(150));
    assert_eq!(short, long, "comparisons for one request");
    assert!(long <= 2, "{long} comparisons");
}

#[test]
fn an_explanation_compares_a_bounded_number_of_requests() {
    let playback = Playback::new(session(150));
    let live = request(("GET", "/api/v1/namespaces/a/pods/web-00007x2".into(), None));
    let why = playback
        .select(&live)
        .map(|selected| selected.position)
        .expect_err("it was not recorded");
    assert!(why.contains("GET /api/v1/namespaces/a/pods/web-00007x1"), "{why}");
    assert_eq!(playback.index.comparisons(), 0);
}

#[test]
fn an_explanation_is_bounded_however_long_the_requests_are() {
    let long = |name: &str| format!("/api/v1/{}{name}", "x".repeat(60_000));
    let playback = Playback::new(recorded(std::iter::once(request(("GET", long("a"), None)))));
    let why = playback
        .select(&request(("GET", long("b"), None)))
        .map(|selected| selected.position)
        .expect_err("it was not recorded");
    assert!(why.len() < 2_000, "{} bytes", why.len());
    assert!(why.starts_with("GET /api/v1/xxx"), "{why}");
}

#[rstest]
#[case::any_word("eWVz", "cmVkYWN0ZWQtMQ==", "yes", "yes")]
#[case::is_distinct("UzNjcmV0K3ZhbHVl", "cmVkYWN0ZWQtMX5+", "S3cret+value", "redacted-1~~")]
fn a_secret_of_another_run_is_replaced_where_a_recorder_replaces_it(
    #[case] code: &str,
    #[case] recorded_code: &str,
    #[case] text: &str,
    #[case] recorded_text: &str,
) {
    let requests = |code: &str, text: &str| {
        [("secrets", code), ("configmaps", text)].map(|(resource, value)| {
            let path = format!("/api/v1/namespaces/a/{resource}");
            request(("POST", path, Some(json!({"data": {"kept": value}}))))
        })
    };
    let playback = Playback::new(recorded(requests(recorded_code, recorded_text).into_iter()));
    for live in requests(code, text) {
        assert!(playback.select(&live).is_ok(), "{:?}", playback.misses());
    }
}

#[test]
fn recorded_requests_are_replayed_in_any_order() {
    let playback = Playback::new(session(40));
    let mut all: Vec<usize> = (0..400).collect();
    all.sort_by_key(|n| n * 7919 % 400);
    // Of equal requests, the first is next.
    let mut selected: Vec<usize> = Vec::new();
    let requests: Vec<Request> = (0..40).flat_map(|n| round(n, 0)).map(request).collect();
    for n in all {
        selected.extend(playback.select(&requests[n]).map(|selected| selected.position));
    }
    selected.sort_unstable();
    selected.dedup();
    assert!(selected.len() > 300, "{}", selected.len());
}
