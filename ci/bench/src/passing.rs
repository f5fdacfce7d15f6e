//! Proxy, recorder, replayer, verifier, and the suite.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::Instant,
};

use crate::{
    Bench,
    client::{Client, Outcome, Requests, request, throughput},
    objects::{self, PODS},
    results::Row,
    server::Server,
    statistics::median,
    turns::Turns,
};

const PROXY: &str = "Proxy";
const SESSIONS: &str = "Recorded sessions";
const SUITE: &str = "Suite";
const CONNECTIONS: [usize; 3] = [1, 16, 64];
/// Address of the backend in the cluster, which `--dial` maps to the real one.
const BACKEND: &str = "10.99.0.1:9999";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";

pub(crate) async fn measure(bench: &mut Bench) -> Outcome {
    proxy(bench).await?;
    record(bench).await?;
    verify_and_replay(bench).await?;
    suite(bench)
}

/// Compares GETs to two servers, at several numbers of connections.
async fn compare(
    bench: &mut Bench,
    section: &str,
    name: &str,
    ours: (&Server, &str),
    bare: (&Server, &str),
) -> Outcome {
    let count = bench.size(2_000, 10_000);
    let requests = |path: &str| -> Requests { Arc::new(vec![request("GET", path, ""); count]) };
    let (asked, plain) = (requests(ours.1), requests(bare.1));
    for connections in CONNECTIONS {
        let turns = Turns::take(bench.rounds(), connections, (ours.0, &asked), (bare.0, &plain)).await?;
        bench.add(turns.rates(section, name).at(connections));
        bench.add(turns.costs(section, name).at(connections));
    }
    Ok(())
}

async fn proxy(bench: &mut Bench) -> Outcome {
    let file = bench.folder.path().join("small");
    std::fs::write(&file, objects::pod("small", 0))?;
    let backend = Server::own(&["bare", &file.display().to_string()])?;
    let bare = Server::own(&["bare-proxy", &backend.address])?;
    let dial = format!("{BACKEND}={}", backend.address);
    let ours = bench.serve(&["--bare", "--dial", &dial])?;
    let mut client = Client::connect(&ours.address).await?;
    let service = r#"{"metadata":{"name":"small"},"spec":{"ports":[{"port":80,"targetPort":9999}]}}"#;
    let endpoints =
        r#"{"metadata":{"name":"small"},"subsets":[{"addresses":[{"ip":"10.99.0.1"}],"ports":[{"port":9999}]}]}"#;
    client.ask("POST", SERVICES, service).await?;
    client.ask("POST", ENDPOINTS, endpoints).await?;
    let path = format!("{SERVICES}/small/proxy/small");
    let name = "GET through a service's proxy, beside a bare reverse proxy";
    compare(bench, PROXY, name, (&ours, &path), (&bare, "/small")).await
}

/// Starts a recorder of `upstream`.
fn recorder(bench: &Bench, upstream: &str, file: &str) -> Outcome<(Server, PathBuf)> {
    let path = bench.folder.path().join(file);
    let (url, output) = (format!("http://{upstream}"), path.display().to_string());
    let arguments = ["record", "--upstream", &url, "--listen", "127.0.0.1:0", "-o", &output];
    Ok((Server::start(&bench.program, &arguments)?, path))
}

async fn record(bench: &mut Bench) -> Outcome {
    let upstream = bench.serve(&["--bare"])?;
    objects::fill(&upstream.address, 100).await?;
    let bare = Server::own(&["bare-proxy", &upstream.address])?;
    let (recorder, _) = recorder(bench, &upstream.address, "get.yaml")?;
    let path = format!("{PODS}/pod-000007");
    let name = "record GETs, beside a bare reverse proxy";
    compare(bench, SESSIONS, name, (&recorder, &path), (&bare, &path)).await
}

/// Returns a session of writes and reads.
fn session(pods: usize) -> Requests {
    let steps = (0..pods).flat_map(|n| {
        let path = format!("{PODS}/session-{n:06}");
        let patch = r#"{"metadata":{"labels":{"app":"patched"}}}"#;
        [
            request("POST", PODS, &objects::pod("session", n)),
            request("GET", &path, ""),
            request("PATCH", &path, patch),
            request("DELETE", &path, objects::AT_ONCE),
        ]
    });
    Arc::new(steps.collect())
}

async fn verify_and_replay(bench: &mut Bench) -> Outcome {
    for pods in [25, 250, bench.size(500, 2_500)] {
        let session = session(pods);
        let upstream = bench.serve(&["--bare"])?;
        let (recorder, cassette) = recorder(bench, &upstream.address, &format!("session-{pods}.yaml"))?;
        throughput(&recorder.address, 1, &session).await?;
        recorder.end()?;
        let cassette = cassette.display().to_string();
        let (mut verified, mut replayed) = (Vec::new(), Vec::new());
        for _ in 0..bench.rounds() {
            let target = bench.serve(&["--bare"])?;
            let url = format!("http://{}", target.address);
            let begun = Instant::now();
            let status = Command::new(&bench.program)
                .args(["verify", &cassette, "--against", &url])
                .stdout(Stdio::null())
                .status()?;
            if !status.success() {
                return Err(format!("verify ended with {status}").into());
            }
            verified.push(session.len() as f64 / begun.elapsed().as_secs_f64());
            let arguments = ["replay", &cassette, "--listen", "127.0.0.1:0"];
            let replay = Server::start(&bench.program, &arguments)?;
            replayed.push(throughput(&replay.address, 1, &session).await?);
        }
        for (name, rates) in [
            ("verify a session, start included", verified),
            ("replay a session", replayed),
        ] {
            bench.add(Row::new(SESSIONS, name, median(&rates), "interactions/s").at(session.len()));
        }
    }
    Ok(())
}

fn suite(bench: &mut Bench) -> Outcome {
    let mut times = Vec::new();
    for _ in 0..bench.size(1, 3) {
        let begun = Instant::now();
        let status = Command::new(&bench.program)
            .arg("conformance")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        times.push(begun.elapsed().as_secs_f64());
        if !status.success() {
            return Err(format!("the suite ended with {status}").into());
        }
    }
    bench.add(Row::new(
        SUITE,
        "`stuntdouble conformance` against its own simulator",
        median(&times),
        "s",
    ));
    Ok(())
}
