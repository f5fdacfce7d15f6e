//! The proxy compared with a bare hyper reverse proxy in front of the same server, in one run.
//!
//! `cargo bench -p stuntdouble-bench --bench proxy`
//!
//! Each server is a separate process: this program with another first argument. Rounds alternate between the two, and
//! the result is the median of the ratios of the rounds, so other load on the machine affects both.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark may panic, and so may its helpers"
)]

#[path = "../../src/own_process.rs"]
mod own_process;
mod servers;
#[path = "../../src/statistics.rs"]
mod statistics;

use std::time::Instant;

use own_process::OwnProcess;
use statistics::median;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Builder,
};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const ROUNDS: usize = 5;
const BODY: u64 = 1 << 30;
const STREAMS: usize = 500;

fn main() -> Outcome {
    let arguments = own_process::arguments();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["source"] => runtime.block_on(servers::source(BODY)),
        ["bare", source] => runtime.block_on(servers::bare(source)),
        ["simulator", source] => runtime.block_on(servers::simulator(source)),
        _ => runtime.block_on(measure()),
    }
}

/// Returns a line of `/proc/PID/status`, in MB.
fn memory(server: &OwnProcess, line: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).ok()?;
    let line = status.lines().find(|known| known.starts_with(line))?;
    line.split_whitespace()
        .nth(1)?
        .parse::<f64>()
        .ok()
        .map(|kilobytes| kilobytes / 1024.0)
}

const PROXY: &str = "/api/v1/namespaces/default/services/source/proxy";

async fn measure() -> Outcome {
    let source = OwnProcess::start(&["source"])?;
    let ours = OwnProcess::start(&["simulator", &source.address])?;
    let bare = OwnProcess::start(&["bare", &source.address])?;
    // Warm up: both have connections before the measurement.
    for (server, prefix) in [(&ours, PROXY), (&bare, "")] {
        small(&server.address, &format!("{prefix}/small"), 100).await?;
    }
    let idle = memory(&ours, "VmRSS:");
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        left.push(large(&ours.address, &format!("{PROXY}/large")).await?);
        right.push(large(&bare.address, "/large").await?);
    }
    println!(
        "{:<44}{:>14}{:>14}{:>8}",
        format!("median of {ROUNDS} rounds"),
        "simulator",
        "bare hyper",
        "ratio"
    );
    report(&format!("a body of {} MiB, MB/s", BODY >> 20), left, right);
    if let (Some(idle), Some(peak)) = (idle, memory(&ours, "VmHWM:")) {
        println!("{:<44}{:>14.1}", "growth of resident memory meanwhile, MB", peak - idle);
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        left.push(small(&ours.address, &format!("{PROXY}/small"), 3000).await?);
        right.push(small(&bare.address, "/small", 3000).await?);
    }
    report("small requests one by one, requests/s", left, right);
    let begun = Instant::now();
    let streams = streams(&ours.address).await?;
    println!(
        "{:<44}{streams:>14} in {:.2} s",
        "streams at once",
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}

async fn ask(address: &str, path: &str) -> Outcome<TcpStream> {
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    socket
        .write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: identity\r\n\r\n").as_bytes())
        .await?;
    Ok(socket)
}

/// Returns the MB per second of one large body.
async fn large(address: &str, path: &str) -> Outcome<f64> {
    let mut socket = ask(address, path).await?;
    let mut buffer = vec![0; 256 * 1024];
    let (begun, mut read) = (Instant::now(), 0);
    while read < BODY {
        let piece = socket.read(&mut buffer).await?;
        if piece == 0 {
            return Err(format!("{path} ended after {read} bytes").into());
        }
        read += piece as u64;
    }
    Ok(BODY as f64 / 1e6 / begun.elapsed().as_secs_f64())
}

/// Returns requests per second, one after the other on one connection.
async fn small(address: &str, path: &str, count: usize) -> Outcome<f64> {
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: identity\r\n\r\n");
    let (begun, mut answer) = (Instant::now(), Vec::new());
    for _ in 0..count {
        socket.write_all(request.as_bytes()).await?;
        answer.clear();
        while !answer.ends_with(b"\r\n\r\nsmall") {
            if socket.read_buf(&mut answer).await? == 0 {
                return Err(format!("{path}: {}", String::from_utf8_lossy(&answer)).into());
            }
        }
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

/// Returns the number of simultaneous streams: all have the first chunk before any gets its last.
async fn streams(address: &str) -> Outcome<usize> {
    let mut open = Vec::new();
    for _ in 0..STREAMS {
        open.push((ask(address, &format!("{PROXY}/stream")).await?, Vec::new()));
    }
    for end in [&b"first"[..], b"last"] {
        for (socket, seen) in &mut open {
            until(socket, seen, end).await?;
        }
    }
    Ok(open.len())
}

async fn until(socket: &mut TcpStream, seen: &mut Vec<u8>, end: &[u8]) -> Outcome {
    while !seen.windows(end.len()).any(|part| part == end) {
        if tokio::time::timeout(std::time::Duration::from_secs(30), socket.read_buf(seen)).await?? == 0 {
            return Err(format!("a stream ended: {}", String::from_utf8_lossy(seen)).into());
        }
    }
    Ok(())
}

fn report(what: &str, left: Vec<f64>, right: Vec<f64>) {
    let ratios: Vec<f64> = left.iter().zip(&right).map(|(l, r)| l / r).collect();
    println!(
        "{what:<44}{:>14.0}{:>14.0}{:>8.2}",
        median(&left),
        median(&right),
        median(&ratios)
    );
}
