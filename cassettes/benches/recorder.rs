//! The recorder beside a bare reverse proxy, in one run: latency, bytes per second, delay of a frame, memory.
//!
//! `cargo bench -p stuntdouble-cassettes --bench recorder [-- latency|cost [TARGET]|throughput|lists|frames|memory]`.
//! The server, the bare proxy, the recorders and the client each have threads of their own, as programs have. Latency
//! and bytes per second are also those of a recorder that has seen 20 secrets. Prints medians and ratios, and fails
//! where a bar is missed. `cost` prints processor time per request, which other work on the machine changes less than
//! it changes rates.

#![allow(clippy::expect_used, reason = "a benchmark that cannot run fails by panicking")]

#[path = "../tests/integration/origin.rs"]
mod origin;

use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use origin::{Origin, url};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stuntdouble_cassettes::transport::{
    self, Body, Client, ConnectionClosed, Credentials, Handler, Server, Tasks, full,
};
use stuntdouble_cassettes::{Recorder, RecorderOptions};

const GETS: usize = 6_000;
const FRAMES: usize = 400;

/// Maximum ratio of the median latency of a GET.
const LATENCY: f64 = 1.15;
/// Minimum ratio of the bare proxy's bytes per second.
const THROUGHPUT: f64 = 0.70;
const FRAME: Duration = Duration::from_millis(1);
/// Number of known secrets of the second recorder.
const SECRETS: usize = 20;
/// Maximum growth of memory during a body of 2 GB.
const MEMORY: u64 = 64 << 20;

/// A reverse proxy that only forwards.
struct Bare(Client);

impl Handler for Bare {
    async fn handle(self: Arc<Self>, request: Request<Incoming>, _: Tasks) -> Result<Response<Body>, ConnectionClosed> {
        let mut request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        transport::strip_hop_by_hop(request.headers_mut());
        let mut response = self.0.send(request).await.map_err(|_| ConnectionClosed)?;
        transport::strip_hop_by_hop(response.headers_mut());
        Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
    }
}

/// Sends frames with their times.
struct Ticker(Instant);

impl Handler for Ticker {
    async fn handle(self: Arc<Self>, _: Request<Incoming>, _: Tasks) -> Result<Response<Body>, ConnectionClosed> {
        let epoch = self.0;
        let frames = stream::unfold(0, move |n| async move {
            tokio::time::sleep(Duration::from_millis(3)).await;
            let nanos = epoch.elapsed().as_nanos();
            let line = format!(
                "{{\"type\":\"MODIFIED\",\"sent\":{nanos},\"object\":{{\"kind\":\"Pod\",\"spec\":\"{}\"}}}}\n",
                "x".repeat(900)
            );
            (n < FRAMES).then_some((Ok(Frame::data(Bytes::from(line))), n + 1))
        });
        Ok(Response::new(StreamBody::new(frames).boxed_unsync()))
    }
}

fn client(at: &str) -> Client {
    Client::new(at, &Credentials::default(), true).expect("a client")
}

async fn get(client: &Client, target: &str) -> usize {
    let request = Request::get(target).body(full("")).expect("a request");
    let mut body = client.send(request).await.expect("an answer").into_body();
    let mut count = 0;
    while let Some(frame) = body.frame().await {
        count += frame.expect("a frame").into_data().map_or(0, |data| data.len());
    }
    count
}

/// Processor time of the threads of this name.
fn processor_time(name: &str) -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").expect("the threads of this process");
    let of_task = |folder: PathBuf| {
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        let is_named = read("comm").trim_end() == name;
        let nanos = read("schedstat")
            .split(' ')
            .next()
            .and_then(|nanos| nanos.parse::<u64>().ok());
        is_named.then_some(nanos).flatten().unwrap_or_default()
    };
    Duration::from_nanos(tasks.flatten().map(|task| of_task(task.path())).sum())
}

/// Processor time of a request: of the proxy's threads, and of all recording threads. Other work on the machine changes
/// it little.
async fn cost(targets: &[(&str, &Client)], target: &str, rounds: usize, requests: usize) {
    let names = |proxy| [proxy, "recorder", "origin", "client"];
    let mut all = vec![vec![Vec::new(); 4]; targets.len()];
    for _ in 0..rounds {
        for ((proxy, client), times) in targets.iter().zip(&mut all) {
            let before = names(*proxy).map(processor_time);
            for _ in 0..requests {
                get(client, target).await;
            }
            // Wait until all events are recorded.
            tokio::time::sleep(Duration::from_millis(200)).await;
            for ((times, before), name) in times.iter_mut().zip(before).zip(names(*proxy)) {
                times.push((processor_time(name) - before) / requests as u32);
            }
        }
    }
    for ((proxy, _), times) in targets.iter().zip(all) {
        let shown: Vec<String> = times
            .into_iter()
            .zip(names("proxy"))
            .map(|(times, name)| format!("{name} {:?}", median(times)))
            .collect();
        println!("{target} {proxy:<10} {}", shown.join(", "));
    }
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// Sends requests to each in turn, so that other work on the machine affects all of them.
async fn latency(targets: &[&Client]) -> Vec<Duration> {
    let mut all = vec![Vec::new(); targets.len()];
    for round in 0..GETS {
        for (client, times) in targets.iter().zip(&mut all) {
            let begun = Instant::now();
            get(client, "/small").await;
            if round > GETS / 10 {
                times.push(begun.elapsed());
            }
        }
    }
    all.into_iter().map(median).collect()
}

/// Sends several requests to each in turn. Work after a response then mostly delays the next one of the same proxy.
async fn throughput(targets: &[&Client], target: &str, rounds: usize, requests: usize) -> Vec<f64> {
    let mut all = vec![Vec::new(); targets.len()];
    for _ in 0..rounds {
        for (client, rates) in targets.iter().zip(&mut all) {
            let (begun, mut count) = (Instant::now(), 0);
            for _ in 0..requests {
                count += get(client, target).await;
            }
            rates.push(count as f64 / begun.elapsed().as_secs_f64() / f64::from(1 << 20));
        }
    }
    all.into_iter()
        .map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates.get(rates.len() / 2).copied().unwrap_or_default()
        })
        .collect()
}

async fn delay(client: &Client, epoch: Instant) -> Duration {
    let request = Request::get("/watch/ticks").body(full("")).expect("a request");
    let mut body = client.send(request).await.expect("an answer").into_body();
    let mut delays = Vec::new();
    // A read can return a part of a frame, or two frames.
    let mut came = Vec::new();
    while let Some(frame) = body.frame().await {
        let now = epoch.elapsed();
        came.extend_from_slice(&frame.expect("a frame").into_data().unwrap_or_default());
        while let Some(end) = came.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = came.drain(..=end).collect();
            let value: serde_json::Value = serde_json::from_slice(&line).expect("a frame");
            let sent = Duration::from_nanos(value["sent"].as_u64().expect("a time"));
            delays.push(now.saturating_sub(sent));
        }
    }
    median(delays)
}

/// Resident memory of this process, including server and client.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse::<u64>().ok())
        .unwrap_or_default()
        << 10
}

/// Runs a future on its own threads, like a separate program.
async fn apart<T: Send + 'static>(name: &str, start: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name(name)
        .enable_all()
        .build()
        .expect("a runtime");
    let started = runtime.spawn(start).await.expect("no panic");
    // It must run until the process ends.
    std::mem::forget(runtime);
    started
}

async fn record(name: &str, upstream: String, path: PathBuf) -> Recorder {
    apart(name, async move {
        Recorder::start(RecorderOptions::new(upstream), &path)
            .await
            .expect("a recorder")
    })
    .await
}

async fn bare(upstream: String) -> Server {
    let start = async move { Server::start(([127, 0, 0, 1], 0).into(), Arc::new(Bare(client(&upstream)))).await };
    apart("bare", start).await.expect("a proxy")
}

/// Sends requests with different bearer tokens, which the recorder then searches for.
async fn show_secrets(client: &Client) {
    for n in 0..SECRETS {
        let request = Request::get("/version").header("authorization", format!("Bearer t0ken/{n:04}+S3cret.value"));
        let request = request.body(full("")).expect("a request");
        let response = client.send(request).await.expect("an answer");
        response.into_body().collect().await.expect("a body");
    }
}

fn bar(name: &str, value: String, met: bool, missed: &mut u32) {
    println!("{name:<44} {value:<24} {}", if met { "met" } else { "MISSED" });
    *missed += u32::from(!met);
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_name("client")
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    // A task, so that it runs on a thread with the name of the client's.
    runtime.block_on(async { tokio::spawn(measure()).await.expect("no panic") });
}

async fn measure() {
    let part = std::env::args()
        .nth(1)
        .filter(|part| !part.starts_with('-'))
        .unwrap_or_default();
    let wanted = |name: &str| part.is_empty() || part == name;
    let folder = tempfile::tempdir().expect("a folder");
    let mut missed = 0;
    let origin = apart("origin", Origin::start()).await;
    let proxy = bare(url(&origin)).await;
    let recorder = record("plain", url(&origin), folder.path().join("session.yaml")).await;
    let knowing = record("knowing", url(&origin), folder.path().join("secrets.yaml")).await;
    let (direct, through, recorded) = (client(&url(&origin)), client(&url(&proxy)), client(&recorder.url()));
    let known = client(&knowing.url());
    show_secrets(&known).await;
    if wanted("latency") {
        let found = latency(&[&direct, &through, &recorded, &known]).await;
        println!(
            "GET, median: direct {:?}, bare proxy {:?}, recorder {:?}, with {SECRETS} secrets {:?}",
            found[0], found[1], found[2], found[3]
        );
        for (what, time) in [("", found[2]), (" with secrets", found[3])] {
            let ratio = time.as_secs_f64() / found[1].as_secs_f64();
            let shown = format!("{ratio:.3} (at most {LATENCY})");
            bar(&format!("latency{what}"), shown, ratio <= LATENCY, &mut missed);
        }
    }
    if wanted("cost") {
        let of_target = std::env::args().nth(2).filter(|target| target.starts_with('/'));
        let targets = [("bare", &through), ("plain", &recorded), ("knowing", &known)];
        for (target, rounds, requests) in [("/small", 9, 1000), ("/list?n=1000", 9, 100), ("/list?n=25000", 9, 8)] {
            if of_target.as_deref().is_none_or(|only| only == target) {
                cost(&targets, target, rounds, requests).await;
            }
        }
    }
    for (what, target, rounds, requests) in [
        ("a body of 64 MiB", "/bytes?n=67108864", 9, 1),
        ("a text stream of 256 MiB", "/flood?mib=256", 5, 1),
        ("a JSON list of 200 KiB", "/list?n=1000", 15, 20),
        ("a JSON list of 5 MiB", "/list?n=25000", 7, 4),
        ("a JSON list of 200 KiB that changes", "/list?n=1000&changes", 15, 20),
        ("a JSON list of 5 MiB that changes", "/list?n=25000&changes", 7, 4),
    ] {
        if wanted("throughput") || (wanted("lists") && target.starts_with("/list")) {
            let rates = throughput(&[&through, &recorded, &known], target, rounds, requests).await;
            println!(
                "{what}: bare proxy {:.0} MiB/s, recorder {:.0} MiB/s, with {SECRETS} secrets {:.0} MiB/s",
                rates[0], rates[1], rates[2]
            );
            for (how, rate) in [("", rates[1]), (" with secrets", rates[2])] {
                let ratio = rate / rates[0];
                let shown = format!("{ratio:.3} (at least {THROUGHPUT})");
                bar(&format!("{what}{how}"), shown, ratio >= THROUGHPUT, &mut missed);
            }
        }
    }
    if wanted("frames") {
        let epoch = Instant::now();
        let ticker = apart("ticker", async move {
            Server::start(([127, 0, 0, 1], 0).into(), Arc::new(Ticker(epoch))).await
        })
        .await
        .expect("a server");
        let other = bare(url(&ticker)).await;
        let ticking = record("ticking", url(&ticker), folder.path().join("frames.yaml")).await;
        let direct = delay(&client(&url(&ticker)), epoch).await;
        let through = delay(&client(&url(&other)), epoch).await;
        let recorded = delay(&client(&ticking.url()), epoch).await;
        println!("a frame, median: direct {direct:?}, bare proxy {through:?}, recorder {recorded:?}");
        let passing = recorded.saturating_sub(direct);
        bar(
            "a frame is passed on in",
            format!("{passing:?} (at most {FRAME:?})"),
            passing <= FRAME,
            &mut missed,
        );
    }
    if wanted("memory") {
        let before = memory();
        let (mut most, begun) = (before, Instant::now());
        let asked = tokio::spawn(async move { get(&recorded, "/flood?mib=2048").await });
        while !asked.is_finished() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            most = most.max(memory());
        }
        let count = asked.await.expect("no panic");
        let (grown, took) = (most.saturating_sub(before), begun.elapsed().as_secs_f64());
        println!(
            "{count} bytes in {took:.1} s, {} MiB before, {} MiB at most",
            before >> 20,
            most >> 20
        );
        let shown = format!("{} MiB (at most {})", grown >> 20, MEMORY >> 20);
        bar("memory for 2 GB grows by", shown, grown <= MEMORY, &mut missed);
    }
    // Delete the recordings, which are gigabytes.
    drop(folder);
    std::process::exit(i32::from(missed > 0));
}
