//! A paced writer and a thousand watchers, with and without one that never reads.
//!
//! `cargo bench -p stuntdouble-bench --bench fanout [-- [--quick] [--rate N]]`
//!
//! The server is a separate process: this program with another first argument. All connections use the loopback
//! interface. The result is meaningful only if the machine can keep up with the rate; `--rate` lowers it on a busy
//! machine. Rounds come in pairs, without and with the watcher that never reads, in alternating order; the result is
//! the median of their ratios. Each watcher counts every change; one whose stream ends resumes after the last change
//! that it has seen. The benchmark fails if a change is lost or repeated, or if the watcher that never reads is not
//! closed by the server.
//!
//! The thousand connections need `ulimit -n 4096` on a machine that limits open files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark may panic, and so may its helpers"
)]

#[path = "../src/client.rs"]
#[expect(dead_code, reason = "the other functions are used by the program of this crate")]
mod client;
#[path = "../src/own_process.rs"]
mod own_process;
#[path = "../src/statistics.rs"]
mod statistics;

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use client::{Client, Outcome};
use memchr::{memchr, memmem::Finder};
use own_process::OwnProcess;
use statistics::median;
use stuntdouble_simulator::Simulator;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    runtime::Builder,
    time::{sleep_until, timeout},
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Time limit of each wait.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Size of the measurement.
struct Scale {
    watchers: usize,
    /// Number of changes per round.
    changes: usize,
    /// Maximum changes per second.
    rate: f64,
    pairs: usize,
}

const FULL: Scale = Scale {
    watchers: 1000,
    changes: 8_000,
    rate: 2000.0,
    pairs: 5,
};
const QUICK: Scale = Scale {
    watchers: 100,
    changes: 8_000,
    rate: 4000.0,
    pairs: 1,
};

fn main() -> Outcome {
    let arguments = own_process::arguments();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if arguments.iter().any(|argument| argument == "simulator") {
        return Builder::new_multi_thread().enable_all().build()?.block_on(simulator());
    }
    let scale = if arguments.iter().any(|argument| argument == "--quick") {
        QUICK
    } else {
        FULL
    };
    let rate = arguments
        .iter()
        .skip_while(|argument| *argument != "--rate")
        .nth(1)
        .map_or(Ok(scale.rate), |rate| rate.parse())?;
    runtime.block_on(measure(&Scale { rate, ..scale }))
}

async fn simulator() -> Outcome {
    let simulator = Simulator::builder().bare(true).start().await?;
    println!("{}", simulator.address());
    std::future::pending().await
}

/// Results of a round.
#[derive(Default)]
struct Round {
    /// Changes per second made by the writer.
    rate: f64,
    /// Events received by all watchers together.
    events: usize,
    /// Number of watches that were closed and resumed.
    resumed: usize,
    /// Time from the last response to the writer until the last watcher has the change.
    behind: Duration,
    /// Bytes still unread by the watcher that never reads when it was closed.
    unread: Option<usize>,
}

async fn measure(scale: &Scale) -> Outcome {
    let Scale {
        watchers,
        changes,
        rate,
        pairs,
    } = *scale;
    println!("{watchers} watchers, {changes} changes a round at up to {rate:.0} a second");
    println!(
        "{:<10}{:>12}{:>14}{:>12}{:>12}  the one that never reads",
        "", "changes/s", "events", "resumed", "behind, ms"
    );
    let (mut ratios, mut without, mut with) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..pairs {
        let mut rates = [0.0; 2];
        for stalled in if pair % 2 == 0 { [false, true] } else { [true, false] } {
            let server = OwnProcess::start(&["simulator"])?;
            let round = round(&server.address, scale, stalled).await?;
            let fate = round
                .unread
                .map_or("-".to_owned(), |unread| format!("closed, {unread} bytes unread"));
            let name = if stalled { "with" } else { "without" };
            let behind = round.behind.as_secs_f64() * 1e3;
            println!(
                "{name:<10}{:>12.0}{:>14}{:>12}{behind:>12.0}  {fate}",
                round.rate, round.events, round.resumed
            );
            rates[usize::from(stalled)] = round.rate;
        }
        ratios.push(rates[1] / rates[0]);
        without.push(rates[0]);
        with.push(rates[1]);
    }
    println!(
        "median of {pairs}: {:.0} changes/s without, {:.0} with, ratio {:.3}; no event lost",
        median(&without),
        median(&with),
        median(&ratios)
    );
    Ok(())
}

async fn round(address: &str, scale: &Scale, stalled: bool) -> Outcome<Round> {
    let writer = address.to_owned();
    let created = Client::connect(address).await?.ask("POST", MAPS, &map(0)).await?;
    let first = version(&created).ok_or("an object without a version")?;
    let last = first + scale.changes as u64;

    let mut stalled_watch = if stalled {
        Some(start_stalled_watch(address, first).await?)
    } else {
        None
    };
    let mut watchers = Vec::new();
    for _ in usize::from(stalled)..scale.watchers {
        watchers.push(tokio::spawn(follow(
            address.to_owned(),
            first,
            last,
            Watching::start(address, first).await?,
        )));
    }

    // The writer has a separate thread, so that the watchers in this process do not slow it.
    let (changes, rate) = (scale.changes, scale.rate);
    let written = std::thread::spawn(move || {
        Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(write(writer, changes, rate))
    });
    let (written, over) = tokio::task::spawn_blocking(|| written.join())
        .await?
        .map_err(|_| "the writer panicked")??;
    let mut round = Round {
        rate: changes as f64 / written.as_secs_f64(),
        ..Round::default()
    };
    for watcher in watchers {
        let (events, resumed) = timeout(TIMEOUT, watcher).await.map_err(|_| "a watcher hangs")???;
        round.events += events;
        round.resumed += resumed;
    }
    round.behind = over.elapsed();
    if let Some(stalled_watch) = &mut stalled_watch {
        round.unread = Some(
            timeout(TIMEOUT, rest(stalled_watch))
                .await
                .map_err(|_| "the watcher that never reads was not closed")?,
        );
    }
    Ok(round)
}

/// Makes changes at this rate, or as fast as the server responds. Returns the duration and the end.
async fn write(address: String, changes: usize, rate: f64) -> Outcome<(Duration, Instant)> {
    let mut client = Client::connect(&address).await?;
    let object = format!("{MAPS}/counter");
    let begun = Instant::now();
    for n in 0..changes {
        sleep_until((begun + Duration::from_secs_f64(n as f64 / rate)).into()).await;
        client.ask("PUT", &object, &map(n + 1)).await?;
    }
    Ok((begun.elapsed(), Instant::now()))
}

fn map(n: usize) -> String {
    format!(r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"counter"}},"data":{{"count":"{n}"}}}}"#)
}

/// Starts a watch and reads nothing. The receive buffer is small.
async fn start_stalled_watch(address: &str, after: u64) -> Outcome<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    let mut socket = socket.connect(address.parse()?).await?;
    socket.write_all(request(after).as_bytes()).await?;
    Ok(socket)
}

/// Counts the bytes until the connection ends.
async fn rest(socket: &mut TcpStream) -> usize {
    let (mut buffer, mut count) = (vec![0; 1 << 16], 0);
    while let Ok(read @ 1..) = socket.read(&mut buffer).await {
        count += read;
    }
    count
}

fn request(after: u64) -> String {
    format!("GET /api/v1/watch/configmaps?resourceVersion={after} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

/// The stream of a watch.
struct Watching {
    socket: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

impl Watching {
    async fn start(address: &str, after: u64) -> Outcome<Self> {
        let mut socket = TcpStream::connect(address).await?;
        socket.write_all(request(after).as_bytes()).await?;
        let mut watching = Self {
            socket,
            buffer: vec![0; 1 << 16],
            filled: 0,
        };
        loop {
            if watching.fill().await? == 0 {
                return Err("a watch was refused".into());
            }
            if let Some(end) = watching.buffer[..watching.filled]
                .windows(4)
                .position(|w| w == b"\r\n\r\n")
            {
                let head = String::from_utf8_lossy(&watching.buffer[..end]).into_owned();
                watching.keep(end + 4);
                return if head.starts_with("HTTP/1.1 200") {
                    Ok(watching)
                } else {
                    Err(head.into())
                };
            }
        }
    }

    async fn fill(&mut self) -> Outcome<usize> {
        let read = self.socket.read(&mut self.buffer[self.filled..]).await.unwrap_or(0);
        self.filled += read;
        Ok(read)
    }

    fn keep(&mut self, from: usize) {
        self.buffer.copy_within(from..self.filled, 0);
        self.filled -= from;
    }
}

/// Reads every change after `first` up to `last`, each once and in order. Returns the number of changes, and how often
/// the stream was resumed.
async fn follow(address: String, first: u64, last: u64, mut watching: Watching) -> Outcome<(usize, usize)> {
    let (mut seen, mut resumed) = (first, 0);
    loop {
        let mut from = 0;
        while let Some(end) = line(&watching.buffer[from..watching.filled]) {
            let event = &watching.buffer[from..from + end];
            if let Some(version) = version(event) {
                if version != seen + 1 {
                    let received = String::from_utf8_lossy(event);
                    return Err(format!("expected the change after {seen}, received {received}").into());
                }
                seen = version;
            }
            from += end;
        }
        watching.keep(from);
        if seen == last {
            return Ok(((last - first) as usize, resumed));
        }
        if watching.fill().await? == 0 {
            resumed += 1;
            watching = Watching::start(&address, seen).await?;
        }
    }
}

/// Returns the length of the first line.
fn line(text: &[u8]) -> Option<usize> {
    memchr(b'\n', text).map(|at| at + 1)
}

/// Returns the resource version in a text.
fn version(text: &[u8]) -> Option<u64> {
    const FIELD: &[u8] = br#""resourceVersion":""#;
    static FIND: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(FIELD));
    let at = FIND.find(text)? + FIELD.len();
    Some(
        text[at..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .fold(0, |sum, b| sum * 10 + u64::from(b - b'0')),
    )
}
