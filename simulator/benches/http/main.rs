//! The HTTP layer beside a bare hyper server that sends the same bytes, in one run: `cargo bench -p stuntdouble-simulator --bench http`.
//!
//! Each server is a process of its own, this program again with another first argument. Rounds alternate between the two, and what is printed is
//! the median of the rounds' ratios: what else the machine does weighs on both.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test cannot do without fails it"
)]

mod bare;
mod client;

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use client::{Client, Outcome};
use stuntdouble_simulator::Simulator;
use tokio::runtime::Builder;

const PODS: usize = 1000;
const CONNECTIONS: usize = 4;
const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_millis(700);
const WATCHERS: usize = 100;
const WRITES: usize = 100;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match arguments.first().map(String::as_str) {
        Some("simulator") => runtime.block_on(simulator()),
        Some("bare") => runtime.block_on(bare::serve(&arguments[1..])),
        _ => runtime.block_on(measure()),
    }
}

async fn simulator() -> Outcome {
    let simulator = Simulator::builder().bare(true).start().await?;
    println!("{}", simulator.address());
    std::future::pending().await
}

/// A server in a process of its own.
struct Server {
    process: Child,
    address: String,
    ready: Duration,
}

impl Server {
    fn start(arguments: &[&str]) -> Outcome<Self> {
        let begun = Instant::now();
        let mut process = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut address = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut address)?;
        Ok(Self {
            process,
            address: address.trim().to_owned(),
            ready: begun.elapsed(),
        })
    }

    /// Resident memory in MB, where the system tells.
    fn resident(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace()
            .nth(1)?
            .parse::<f64>()
            .ok()
            .map(|kilobytes| kilobytes / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn measure() -> Outcome {
    let starts: Vec<f64> = (0..ROUNDS)
        .map(|_| Ok(Server::start(&["simulator"])?.ready.as_secs_f64() * 1e3))
        .collect::<Outcome<_>>()?;
    let ours = Server::start(&["simulator"])?;
    let idle = ours.resident();
    let pods = "/api/v1/namespaces/default/pods";
    let mut client = Client::connect(&ours.address).await?;
    let begun = Instant::now();
    for i in 0..PODS {
        client.ask("POST", pods, &pod(i)).await?;
    }
    let creates = PODS as f64 / begun.elapsed().as_secs_f64();
    let object = format!("{pods}/pod-0000");
    let directory = tempfile::tempdir()?;
    let mut files = Vec::new();
    for (name, path) in [("get", object.as_str()), ("list", pods)] {
        let file = directory.path().join(name);
        std::fs::write(&file, client.ask("GET", path, "").await?)?;
        files.push(file.display().to_string());
    }
    let bare = Server::start(&["bare", &files[0], &files[1]])?;
    println!(
        "{:<44}{:>14}{:>14}{:>8}",
        format!("median of {ROUNDS} rounds, {CONNECTIONS} connections"),
        "simulator",
        "bare hyper",
        "ratio"
    );

    let (mut left, mut right) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        left.push(throughput(&ours.address, &object).await?.0);
        right.push(throughput(&bare.address, "/get").await?.0);
    }
    report("GET of one pod, requests/s", left, right);

    let (mut left, mut right) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        left.push(throughput(&ours.address, pods).await?.1 / 1e6);
        right.push(throughput(&bare.address, "/list").await?.1 / 1e6);
    }
    report(&format!("LIST of {PODS} pods, MB/s"), left, right);

    let (mut left, mut right) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let maps = "/api/v1/namespaces/default/configmaps";
        let list = String::from_utf8(client.ask("GET", maps, "").await?)?;
        let version = list
            .split("\"resourceVersion\":\"")
            .nth(1)
            .and_then(|t| t.split('"').next())
            .ok_or("no version")?;
        let watch = format!("/api/v1/watch/configmaps?resourceVersion={version}");
        let write = |i| format!(r#"{{"metadata":{{"name":"c-{round}-{i}"}},"data":{{"key":"value"}}}}"#);
        left.push(fan_out(&ours.address, &watch, maps, write).await?);
        let frame = r#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},"data":{"key":"value"}}}"#;
        right.push(fan_out(&bare.address, "/watch", "/post", |_| format!("{frame}\n")).await?);
    }
    report(&format!("watch fan-out to {WATCHERS}, frames/s"), left, right);

    println!("{:<44}{creates:>14.0}", "POST of pods one by one, creates/s");
    println!(
        "{:<44}{:>14.1}",
        "from the start of the process to ready, ms",
        median(starts)
    );
    if let Some(idle) = idle {
        println!("{:<44}{idle:>14.1}", "resident when idle, MB");
    }
    Ok(())
}

/// Requests and bytes of bodies a second, asked for `path` over several connections.
async fn throughput(address: &str, path: &str) -> Outcome<(f64, f64)> {
    let until = Instant::now() + ROUND;
    let tasks: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (address, path) = (address.to_owned(), path.to_owned());
            tokio::spawn(async move {
                let mut client = Client::connect(&address).await?;
                let (mut requests, mut bytes) = (0_u64, 0_u64);
                while Instant::now() < until {
                    client.send("GET", &path, "").await?;
                    bytes += client.receive(false).await?.0 as u64;
                    requests += 1;
                }
                Outcome::Ok((requests, bytes))
            })
        })
        .collect();
    let (mut requests, mut bytes) = (0, 0);
    for task in tasks {
        let (r, b) = task.await??;
        requests += r;
        bytes += b;
    }
    Ok((
        requests as f64 / ROUND.as_secs_f64(),
        bytes as f64 / ROUND.as_secs_f64(),
    ))
}

/// Frames a second that all watchers together get while one connection writes.
async fn fan_out(address: &str, watch: &str, path: &str, write: impl Fn(usize) -> String) -> Outcome<f64> {
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        let mut client = Client::connect(address).await?;
        client.send("GET", watch, "").await?;
        client.head().await?;
        watchers.push(tokio::spawn(async move { client.lines(WRITES).await }));
    }
    let mut writer = Client::connect(address).await?;
    let begun = Instant::now();
    for i in 0..WRITES {
        writer.ask("POST", path, &write(i)).await?;
    }
    for watcher in watchers {
        watcher.await??;
    }
    Ok((WATCHERS * WRITES) as f64 / begun.elapsed().as_secs_f64())
}

fn pod(i: usize) -> String {
    let container = r#"{"name":"main","image":"nginx:1.9","ports":[{"containerPort":80}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}"#;
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"pod-{i:04}","labels":{{"app":"web"}}}},"spec":{{"containers":[{container}]}}}}"#
    )
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn report(what: &str, left: Vec<f64>, right: Vec<f64>) {
    let ratios = left.iter().zip(&right).map(|(l, r)| l / r).collect();
    println!(
        "{what:<44}{:>14.0}{:>14.0}{:>8.2}",
        median(left),
        median(right),
        median(ratios)
    );
}
