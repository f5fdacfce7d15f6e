//! The suite against slow, busy and distant servers: a correct server fails no trial.

use std::{
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use crate::left::left;
use crate::run::{failures, run};
use futures::future::join_all;
use rstest::rstest;
use stuntdouble_simulator::{Clock, Simulator};
use stuntdouble_suite::{
    catalog::Profile,
    trial::{Partition, Selection, Verdict},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

/// Starts a relay to the server at `url` that delays bytes in each direction by `away`. It runs until the runtime of
/// the test ends.
async fn far(url: &str, away: impl Fn(&[u8]) -> Duration + Clone + Send + 'static) -> String {
    let upstream: SocketAddr = url.strip_prefix("http://").unwrap().parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let away = away.clone();
            tokio::spawn(async move {
                let server = TcpStream::connect(upstream).await?;
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(late(from_client, to_server, away.clone()));
                late(from_server, to_client, away).await
            });
        }
    });
    format!("http://{here}")
}

/// Copies bytes, each delayed by `away`.
async fn late(
    mut from: impl AsyncReadExt + Unpin + Send + 'static,
    mut to: impl AsyncWriteExt + Unpin,
    away: impl Fn(&[u8]) -> Duration + Send + 'static,
) -> io::Result<()> {
    let (sender, mut receiver) = mpsc::channel::<(Instant, Vec<u8>)>(1024);
    tokio::spawn(async move {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count) = from.read(&mut buffer).await
            && count > 0
            && sender
                .send((Instant::now() + away(&buffer[..count]), buffer[..count].to_vec()))
                .await
                .is_ok()
        {}
    });
    while let Some((at, bytes)) = receiver.recv().await {
        tokio::time::sleep_until(at.into()).await;
        to.write_all(&bytes).await?;
    }
    to.shutdown().await
}

/// Selects one of `of` parts of all trials.
fn part(part: usize, of: usize) -> Selection {
    Selection {
        partition: Some(Partition { part, of }),
        ..Selection::default()
    }
}

#[rstest]
#[case::documented(stuntdouble_simulator::Profile::Documented, Profile::Documented)]
#[case::kubernetes_1_2(stuntdouble_simulator::Profile::Kubernetes12, Profile::Kubernetes12)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_far_away_and_whose_watch_cache_lags(
    #[case] of: stuntdouble_simulator::Profile,
    #[case] profile: Profile,
) {
    let lag = Duration::from_millis(200);
    let server = Simulator::builder()
        .bare(true)
        .profile(of)
        .watch_lag(lag)
        .start()
        .await
        .unwrap();
    let url = far(&server.url(), |_| Duration::from_millis(100)).await;
    let summary = run(&url, "far", profile, &part(5, 12), 64).await;
    assert_eq!(failures(&summary), Vec::<String>::new());
    assert_eq!(left(&server.url()).await, Vec::<String>::new());
}

/// A trial waits longer for events and messages while the target is slow with every request.
#[rstest]
#[case::events("core/v1/configmaps/watch/changes", r#"{"type":"ADDED""#, 6)]
#[case::messages("behaviour/pods/attach/ends", "one and two\n", 6)]
#[case::writes("core/v1/configmaps/list/watch-contract", r#"p0-end","labels""#, 11)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_busy_for_seconds(#[case] trial: &str, #[case] held: &'static str, #[case] seconds: u64) {
    let server = Simulator::builder().start().await.unwrap();
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    let url = far(&server.url(), move |bytes| match () {
        () if has(bytes, held) => Duration::from_secs(seconds),
        () if has(bytes, "GET /api HTTP") => Duration::from_secs(1),
        () => Duration::ZERO,
    })
    .await;
    let selection = Selection {
        only: Some(vec![trial.to_owned()]),
        ..Selection::default()
    };
    let summary = run(&url, "busy", Profile::Documented, &selection, 1).await;
    let passed = summary
        .outcomes
        .values()
        .filter(|outcome| matches!(outcome.verdict, Verdict::Passed))
        .count();
    assert_eq!((passed, failures(&summary)), (1, Vec::new()));
}

/// The node controller deletes a pod on a node that does not exist, and the event is late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_by_a_controller_of_a_busy_server_fails_no_trial() {
    // With a frozen clock, it deletes the pod at once.
    let start = "2016-03-16T12:00:00Z".parse().unwrap();
    let server = Simulator::builder().clock(Clock::frozen(start)).start().await.unwrap();
    let url = far(&server.url(), |bytes| {
        let has = |text: &str| String::from_utf8_lossy(bytes).contains(text);
        match () {
            () if has(r#"{"type":"DELETED""#) => Duration::from_secs(5),
            () if has("GET /api HTTP") => Duration::from_secs(1),
            // Long enough for the deletion.
            () if has("/pods/sd-deleted-") => Duration::from_millis(500),
            () => Duration::ZERO,
        }
    })
    .await;
    let selection = Selection {
        only: Some(vec!["core/v1/bindings/create/annotations".to_owned()]),
        ..Selection::default()
    };
    let summary = run(&url, "deleted", Profile::Documented, &selection, 1).await;
    assert_eq!((summary.outcomes.len(), failures(&summary)), (1, Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_runs_at_once() {
    let server = Simulator::builder().bare(true).start().await.unwrap();
    let url = server.url();
    let runs = (1..=8).map(async |number| {
        let (name, selection) = (format!("run{number}"), part(number, 48));
        failures(&run(&url, &name, Profile::Documented, &selection, 16).await)
    });
    assert_eq!(join_all(runs).await.concat(), Vec::<String>::new());
    assert_eq!(left(&url).await, Vec::<String>::new());
}
