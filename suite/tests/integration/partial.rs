//! The suite against servers that lack a part: it reports the absence, and nothing else fails.

use std::{io, net::SocketAddr};

use crate::run::{failures, run};
use rstest::rstest;
use stuntdouble_server::relay;
use stuntdouble_simulator::Simulator;
use stuntdouble_suite::{
    catalog::Profile,
    report::Summary,
    trial::{Outcome, Selection},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Trials of many parts of the API.
const FILTERS: [&str; 9] = [
    "core/v1/configmaps/",
    "core/v1/replicationcontrollers/read-scale/",
    "batch/v1/jobs/read/",
    "batch/v1/jobs/replace/",
    "extensions/v1beta1/jobs/read/",
    "extensions/v1beta1/ingresses/create/",
    "autoscaling/v1/horizontalpodautoscalers/read/",
    "discovery/",
    "GET /swaggerapi",
];

/// Runs the trials against a server that lacks a part.
async fn lacking(rule: Rule) -> Summary {
    let server = Simulator::builder().bare(true).start().await.unwrap();
    let url = partial(&server.url(), rule).await;
    let selection = Selection {
        filters: FILTERS.map(str::to_owned).to_vec(),
        ..Selection::default()
    };
    run(&url, "partial", Profile::Documented, &selection, 16).await
}

fn lacks(is_lacking: bool) -> Handling {
    if is_lacking {
        Handling::NotFound
    } else {
        Handling::Forward
    }
}

fn path(target: &str) -> &str {
    target.split('?').next().unwrap_or(target)
}

fn without_groups(target: &str) -> Handling {
    lacks(path(target) == "/apis" || path(target).starts_with("/apis/"))
}

fn without_extensions(target: &str) -> Handling {
    lacks(path(target).starts_with("/apis/extensions/"))
}

fn without_watches(target: &str) -> Handling {
    lacks(target.contains("watch=") || path(target).contains("/watch/"))
}

fn without_descriptions(target: &str) -> Handling {
    lacks(path(target).starts_with("/swaggerapi"))
}

fn without_layout(target: &str) -> Handling {
    let Some((path, query)) = target.split_once('?') else {
        return Handling::Forward;
    };
    let others: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("pretty=")).collect();
    Handling::ForwardAs(format!("{path}?{}", others.join("&")))
}

/// Returns the reasons of the trials that were not run because a kind is absent.
fn absent(summary: &Summary) -> Vec<String> {
    let aside = summary.set_aside().into_keys();
    aside
        .filter_map(|(verdict, reason)| (verdict == "absent").then_some(reason))
        .collect()
}

#[rstest]
#[case::groups(
    without_groups,
    &[
        "autoscaling/v1/horizontalpodautoscalers",
        "batch/v1/jobs",
        "extensions/v1beta1/ingresses",
        "extensions/v1beta1/jobs",
    ]
)]
#[case::extensions(
    without_extensions,
    &[
        "extensions/v1beta1/horizontalpodautoscalers",
        "extensions/v1beta1/ingresses",
        "extensions/v1beta1/jobs",
    ]
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_absent_kind_is_reported_in_one_line(#[case] rule: Rule, #[case] kinds: &[&str]) {
    let summary = lacking(rule).await;
    let expected: Vec<String> = kinds
        .iter()
        .map(|kind| format!("the target does not serve {kind}"))
        .collect();
    assert_eq!(absent(&summary), expected);
    // Only the discovery trials may fail: discovery must list the groups.
    let failed = |outcome: &&Outcome| outcome.trial.case.kind.group != "discovery";
    let failed: Vec<&str> = summary
        .failures()
        .filter(failed)
        .map(|outcome| outcome.trial.case.id.as_str())
        .collect();
    assert_eq!(failed, Vec::<&str>::new(), "{:?}", failures(&summary));
    assert!(summary.total().passed > 100, "{:?}", summary.total());
}

#[rstest]
#[case::watches(without_watches, "404")]
#[case::descriptions(without_descriptions, "404")]
#[case::layout(without_layout, "indented lines")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_trials_of_the_lacking_part_fail(#[case] rule: Rule, #[case] reason: &str) {
    let summary = lacking(rule).await;
    assert_eq!(absent(&summary), Vec::<String>::new());
    let failures = failures(&summary);
    assert!(!failures.is_empty());
    let others: Vec<&String> = failures.iter().filter(|failure| !failure.contains(reason)).collect();
    assert_eq!(others, Vec::<&String>::new());
    assert!(summary.total().passed > 200, "{:?}", summary.total());
}

/// Maximum size of a request's head, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Response to a request for the lacking part.
const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 19\r\n\
                         Connection: close\r\n\r\n404 page not found\n";

/// Chooses the handling of a request by its target.
type Rule = fn(&str) -> Handling;

/// Handling of a request.
enum Handling {
    /// Forward it.
    Forward,
    /// Forward it with another target.
    ForwardAs(String),
    /// Respond with 404.
    NotFound,
}

/// Starts a proxy that hides a part of a server. It runs until the runtime of the test ends.
async fn partial(url: &str, rule: Rule) -> String {
    let upstream: SocketAddr = url.strip_prefix("http://").unwrap().parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass(client, upstream, rule));
        }
    });
    format!("http://{here}")
}

/// Forwards one request, and then the rest of the connection.
async fn pass(mut client: TcpStream, upstream: SocketAddr, rule: Rule) -> io::Result<()> {
    let mut head = Vec::new();
    let end = loop {
        if let Some(end) = head.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end;
        }
        if client.read_buf(&mut head).await? == 0 || head.len() > MAX_HEAD_BYTES {
            return Ok(());
        }
    };
    let body = head.split_off(end);
    let head = String::from_utf8_lossy(&head).into_owned();
    let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let target = match rule(target) {
        Handling::Forward => target.to_owned(),
        Handling::ForwardAs(other) => other,
        Handling::NotFound => {
            client.write_all(NOT_FOUND.as_bytes()).await?;
            client.shutdown().await?;
            // Reads the rest, so that the connection is not reset before the client has read the response.
            tokio::io::copy(&mut client, &mut tokio::io::sink()).await?;
            return Ok(());
        }
    };
    // One request per connection, unless it is upgraded.
    let is_upgrade = |header: &str| header.to_ascii_lowercase().starts_with("upgrade:");
    let upgrades = headers.split("\r\n").any(is_upgrade);
    let close = if upgrades { "" } else { "\r\nConnection: close" };
    let mut server = TcpStream::connect(upstream).await?;
    server
        .write_all(format!("{method} {target} HTTP/1.1\r\n{headers}{close}").as_bytes())
        .await?;
    server.write_all(&body).await?;
    relay(client, server).await;
    Ok(())
}
