//! Misbehaving peers: the server neither hangs nor loses data, and serves the next peer.

use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use stuntdouble_simulator::{Limits, Profile, Simulator};
use tokio::time::timeout;

use super::{MAPS, Wire, ask, config_map, get, limited, start};

const ROUNDS: usize = 10_000;

/// Checks that the server responds and its state is unchanged.
async fn is_well(simulator: &Simulator) {
    let kept = get(simulator, &format!("{MAPS}/kept")).await;
    assert_eq!(kept.code, 200, "{kept:?}");
    assert_eq!(kept.json()["data"]["key"], "value");
}

fn noise(random: &mut StdRng) -> Vec<u8> {
    let mut bytes = vec![0; random.random_range(0..64)];
    random.fill_bytes(&mut bytes);
    bytes
}

/// Joins random pieces.
fn pieces(random: &mut StdRng, pieces: &[&str]) -> String {
    (0..random.random_range(0..8))
        .map(|_| pieces[random.random_range(0..pieces.len())])
        .collect()
}

#[tokio::test]
async fn random_bodies_are_rejected_with_a_status() {
    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"kind\"",
        "\"metadata\"",
        "\"a\"",
        "null",
        "1e999",
        "-",
        "\n",
        "  ",
        "a: b",
        "&x ",
        "*x",
        "!!binary ",
        "|\n",
        "\u{0}",
        "\\u00",
    ];
    let mut random = StdRng::seed_from_u64(1);
    for profile in Profile::ALL {
        let simulator = start(profile).await;
        ask(&simulator, "POST", MAPS, "", &config_map("kept")).await;
        let mut wire = Wire::open(simulator.address()).await;
        for round in 0..ROUNDS / 2 {
            let body = if round % 2 == 0 {
                noise(&mut random)
            } else {
                pieces(&mut random, PIECES).into_bytes()
            };
            let (method, path, media_type) = match round % 5 {
                0 => ("POST", MAPS.to_owned(), "application/json"),
                1 => ("PUT", format!("{MAPS}/kept"), "application/yaml"),
                2 => ("PATCH", format!("{MAPS}/kept"), "application/json-patch+json"),
                3 => (
                    "PATCH",
                    format!("{MAPS}/kept"),
                    "application/strategic-merge-patch+json",
                ),
                _ => ("POST", MAPS.to_owned(), "application/yaml"),
            };
            let answer = wire
                .ask(method, &path, &format!("content-type: {media_type}\r\n"), &body)
                .await;
            let shown = String::from_utf8_lossy(&body).into_owned();
            // An empty patch, such as [] or {}, is valid.
            assert!(
                answer.code >= 400 || method == "PATCH",
                "{method} {shown:?}: {answer:?}"
            );
            assert!(
                answer.code < 400 || answer.json()["kind"] == "Status",
                "{method} {shown:?}: {answer:?}"
            );
            assert!(
                !answer.text().contains("the server has failed"),
                "{method} {shown:?}: {answer:?}"
            );
        }
        is_well(&simulator).await;
    }
}

#[tokio::test]
async fn random_paths_get_a_response() {
    const PIECES: &[&str] = &[
        "/",
        "//",
        "/api",
        "/v1",
        "/apis",
        "/batch",
        "/namespaces",
        "/default",
        "/pods",
        "/jobs",
        "/watch",
        "/proxy",
        "/services",
        "/..",
        "/.",
        "%2F",
        "%2e",
        "%",
        "%zz",
        "?",
        "&",
        "=",
        "watch=1",
        "timeoutSeconds=-1",
        "labelSelector=",
        "fieldSelector=a",
        "pretty",
        "#",
        "\\",
        "é",
        "*",
        ":",
        "@",
        "/status",
        "/log",
    ];
    let mut random = StdRng::seed_from_u64(2);
    let simulator = start(Profile::Documented).await;
    ask(&simulator, "POST", MAPS, "", &config_map("kept")).await;
    let mut wire = Wire::open(simulator.address()).await;
    for round in 0..ROUNDS {
        let mut path = if round % 2 == 0 {
            noise(&mut random)
        } else {
            pieces(&mut random, PIECES).into_bytes()
        };
        path.retain(|byte| !matches!(byte, b'\r' | b'\n'));
        let shown = String::from_utf8_lossy(&path).into_owned();
        wire.send([b"GET ", path.as_slice(), b" HTTP/1.1\r\nhost: localhost\r\n\r\n"].concat())
            .await;
        let Some(head) = wire.head().await else {
            panic!("no response to {shown:?}")
        };
        assert!(
            (200..500).contains(&head.code) || head.code == 503,
            "{shown:?}: {head:?}"
        );
        if head.header("connection") == Some("close") {
            assert!(head.code == 400 && wire.is_closed().await, "{shown:?}: {head:?}");
        } else if let Some(length) = head.header("content-length") {
            wire.skip(length.parse().unwrap()).await;
            continue;
        }
        // Closed, or a watch that would continue.
        wire = Wire::open(simulator.address()).await;
    }
    is_well(&simulator).await;
}

#[tokio::test]
async fn a_request_that_is_not_http_gets_a_400_and_is_closed() {
    let simulator = start(Profile::Documented).await;
    for request in [
        "\r\n\r\nnonsense\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/1.1\r\nbad header\r\n\r\n",
        "GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
    ] {
        let mut wire = Wire::open(simulator.address()).await;
        wire.send(request).await;
        assert_eq!(wire.head().await.map(|head| head.code), Some(400), "{request:?}");
        assert!(wire.is_closed().await);
    }
}

#[tokio::test]
async fn a_path_that_does_not_decode_gets_a_status_and_is_closed() {
    let simulator = start(Profile::Documented).await;
    let mut wire = Wire::open(simulator.address()).await;
    let answer = wire.ask("GET", "/api/v1/namespaces/%zz", "", "").await;
    assert_eq!((answer.code, answer.json()["kind"].as_str()), (400, Some("Status")));
    assert!(wire.is_closed().await);
}

#[tokio::test]
async fn a_body_over_the_limit_is_rejected_and_the_connection_stays_open() {
    let simulator = limited(Limits {
        body: 1 << 20,
        ..Limits::default()
    })
    .await;
    let mut wire = Wire::open(simulator.address()).await;
    let large = vec![b' '; (1 << 20) + 1];
    let answer = wire.ask("POST", MAPS, "", &large).await;
    assert_eq!(
        (answer.code, answer.json()["reason"].as_str()),
        (413, Some("RequestEntityTooLarge"))
    );
    let chunked = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        large.len(),
        " ".repeat(large.len())
    );
    wire.send(chunked).await;
    assert_eq!(wire.answer().await.code, 413);
    assert_eq!(wire.ask("POST", MAPS, "", config_map("a")).await.code, 200);
}

#[tokio::test]
async fn an_endless_body_times_out() {
    let simulator = limited(Limits {
        body: 1 << 16,
        body_timeout: Duration::from_millis(100),
        ..Limits::default()
    })
    .await;
    let mut slow = Wire::open(simulator.address()).await;
    slow.send(format!(
        "POST {MAPS} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{{"
    ))
    .await;
    let answer = slow.answer().await;
    assert_eq!((answer.code, answer.json()["reason"].as_str()), (408, Some("Timeout")));
    let mut endless = Wire::open(simulator.address()).await;
    endless
        .send(format!(
            "POST {MAPS} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\n{{"
        ))
        .await;
    assert_eq!(endless.answer().await.code, 413);
}

#[tokio::test]
async fn a_slow_head_times_out() {
    let simulator = limited(Limits {
        head_timeout: Duration::from_millis(100),
        ..Limits::default()
    })
    .await;
    let mut wire = Wire::open(simulator.address()).await;
    wire.send("GET /healthz HTTP/1.1\r\nx-a: ").await;
    assert!(wire.is_closed().await);
}

#[tokio::test]
async fn a_head_over_the_limit_is_rejected() {
    let simulator = start(Profile::Documented).await;
    for request in [
        format!("GET / HTTP/1.1\r\nx-a: {}\r\n\r\n", "a".repeat(128 << 10)),
        format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200)),
    ] {
        let mut wire = Wire::open(simulator.address()).await;
        wire.send(request).await;
        assert_eq!(wire.head().await.map(|head| head.code), Some(431));
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let simulator = start(Profile::Documented).await;
    let mut wire = Wire::open(simulator.address()).await;
    let paths: Vec<String> = (0..200).map(|i| format!("/api/v1/namespaces/n{i}")).collect();
    wire.send(
        paths
            .iter()
            .map(|path| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"))
            .collect::<String>(),
    )
    .await;
    for i in 0..paths.len() {
        assert_eq!(wire.answer().await.json()["details"]["name"], format!("n{i}"));
    }
}

#[tokio::test]
async fn connections_over_the_limit_wait_for_one_to_end() {
    let simulator = limited(Limits {
        connections: 1,
        ..Limits::default()
    })
    .await;
    let mut first = Wire::open(simulator.address()).await;
    assert_eq!(first.ask("GET", "/healthz", "", "").await.code, 200);
    let mut second = Wire::open(simulator.address()).await;
    second.request("GET", "/healthz", "", "").await;
    assert!(
        timeout(Duration::from_millis(100), second.head()).await.is_err(),
        "the second request does not wait for the first"
    );
    drop(first);
    assert_eq!(second.head().await.unwrap().code, 200);
}

#[tokio::test]
async fn a_watcher_that_never_reads_is_closed_and_delays_no_other() {
    let simulator = limited(Limits {
        write_timeout: Duration::from_millis(100),
        ..Limits::default()
    })
    .await;
    let mut watch = Wire::open(simulator.address()).await;
    watch.request("GET", "/api/v1/watch/configmaps", "", "").await;
    assert_eq!(watch.head().await.unwrap().code, 200);
    let mut writer = Wire::open(simulator.address()).await;
    let large = |i: usize| {
        format!(
            r#"{{"metadata":{{"name":"large"}},"data":{{"key":"{i}{}"}}}}"#,
            "x".repeat(900_000)
        )
    };
    assert_eq!(writer.ask("POST", MAPS, "", large(0)).await.code, 200);
    let cut = async {
        let mut writes = 0;
        while writer
            .ask("GET", "/metrics", "", "")
            .await
            .text()
            .contains("apiserver_watches 1")
        {
            writes += 1;
            assert_eq!(
                writer
                    .ask("PUT", &format!("{MAPS}/large"), "", large(writes % 10))
                    .await
                    .code,
                200
            );
        }
    };
    timeout(Duration::from_secs(20), cut)
        .await
        .expect("the watch is closed");
}
