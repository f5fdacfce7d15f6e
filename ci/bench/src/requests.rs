//! Reads and writes at 1, 16 and 64 connections.

use std::{ops::Range, sync::Arc};

use crate::{
    Bench,
    client::{Client, Outcome, Requests, request},
    objects::{self, PODS},
    results::Bar,
    server::Server,
    turns::Turns,
};

const READS: &str = "Reads";
const WRITES: &str = "Writes";
const CONNECTIONS: [usize; 3] = [1, 16, 64];

/// One kind of read.
struct Read {
    name: &'static str,
    /// Number of pods on the server.
    objects: usize,
    path: String,
    /// Number of requests of a round.
    requests: usize,
    bar: Option<f64>,
}

pub(crate) async fn measure(bench: &mut Bench) -> Outcome {
    let list = |name, objects, query: &str, requests, bar| Read {
        name,
        objects,
        path: format!("{PODS}{query}"),
        requests,
        bar,
    };
    let reads = [
        list("GET of one pod", 1_000, "/pod-000007", 60_000, Some(0.88)),
        list("LIST of 1,000 pods", 1_000, "", 600, Some(0.90)),
        list("LIST of 10,000 pods", 10_000, "", 60, Some(0.90)),
        list(
            "LIST, 500 of 1,000 by label",
            1_000,
            "?labelSelector=tier%3Dfront",
            600,
            None,
        ),
        list(
            "LIST, 5,000 of 10,000 by label",
            10_000,
            "?labelSelector=tier%3Dfront",
            60,
            None,
        ),
        list(
            "LIST, 10 of 1,000 by node",
            1_000,
            "?fieldSelector=spec.nodeName%3Dnode-007",
            10_000,
            None,
        ),
        list(
            "LIST, 100 of 10,000 by node",
            10_000,
            "?fieldSelector=spec.nodeName%3Dnode-007",
            4_000,
            None,
        ),
    ];
    for objects in [1_000, 10_000] {
        let ours = bench.serve(&["--bare"])?;
        objects::fill(&ours.address, objects).await?;
        for read in reads.iter().filter(|read| read.objects == objects) {
            measure_read(bench, &ours, read).await?;
        }
    }
    writes(bench).await
}

async fn measure_read(bench: &mut Bench, ours: &Server, read: &Read) -> Outcome {
    let body = Client::connect(&ours.address).await?.ask("GET", &read.path, "").await?;
    let file = bench.folder.path().join("body");
    std::fs::write(&file, body)?;
    let hyper = Server::own(&["bare", &file.display().to_string()])?;
    let share = if bench.quick { 3 } else { 1 };
    let count = read.requests / share;
    let requests = |path: &str| -> Requests { Arc::new(vec![request("GET", path, ""); count]) };
    let (asked, plain) = (requests(&read.path), requests("/body"));
    for connections in CONNECTIONS {
        let turns = Turns::take(bench.rounds(), connections, (ours, &asked), (&hyper, &plain)).await?;
        let row = turns.rates(READS, read.name).at(connections);
        bench.add(match read.bar {
            Some(bar) => row.bar(Bar::RatioAtLeast(bar)),
            None => row,
        });
        bench.add(turns.costs(READS, read.name).at(connections));
    }
    Ok(())
}

/// One kind of write: name, and request for the nth pod.
type Write = (&'static str, fn(&str, usize) -> Vec<u8>);

const KINDS: [Write; 4] = [
    ("create a pod", |prefix, n| {
        request("POST", PODS, &objects::pod(prefix, n))
    }),
    ("update a pod", |prefix, n| {
        let labelled = objects::pod(prefix, n).replace(r#""app":"web""#, r#""app":"shop""#);
        request("PUT", &format!("{PODS}/{prefix}-{n:06}"), &labelled)
    }),
    ("patch a pod", |prefix, n| {
        let patch = r#"{"metadata":{"labels":{"app":"patched"}}}"#;
        request("PATCH", &format!("{PODS}/{prefix}-{n:06}"), patch)
    }),
    ("delete a pod", |prefix, n| {
        request("DELETE", &format!("{PODS}/{prefix}-{n:06}"), objects::AT_ONCE)
    }),
];

/// Returns the requests of a round: for the simulator, and for bare hyper, which echoes their bodies.
fn round(write: Write, prefix: &str, range: Range<usize>) -> (Requests, Requests) {
    let ours = range.clone().map(|n| (write.1)(prefix, n)).collect();
    let echoed = range
        .map(|n| request("POST", "/echo", &objects::pod(prefix, n)))
        .collect();
    (Arc::new(ours), Arc::new(echoed))
}

async fn writes(bench: &mut Bench) -> Outcome {
    let (ours, hyper) = (bench.serve(&["--bare"])?, Server::own(&["bare"])?);
    let count = bench.size(2_000, 10_000);
    for connections in CONNECTIONS {
        let mut all: [Turns; KINDS.len()] = Default::default();
        let count = if connections == 1 { count / 4 } else { count };
        for n in 0..bench.rounds() {
            let prefix = format!("w{connections}-{n}");
            for (write, turns) in KINDS.into_iter().zip(&mut all) {
                let (asked, echoed) = round(write, &prefix, 0..count);
                turns.ours.round(&ours, connections, &asked).await?;
                turns.bare.round(&hyper, connections, &echoed).await?;
            }
        }
        for ((name, _), turns) in KINDS.into_iter().zip(all) {
            let has_bar = name.starts_with("create") && connections == 64;
            let row = turns.rates(WRITES, name).at(connections);
            bench.add(row.bar_if(has_bar, Bar::AtLeast(15_000.0)));
            bench.add(turns.costs(WRITES, name).at(connections));
        }
    }
    Ok(())
}
