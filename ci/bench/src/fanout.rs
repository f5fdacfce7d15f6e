//! Watches: delay of a change to each of many watchers, and frames per second.
//!
//! Each change has a number. A watcher checks that it gets every number that concerns it, once and in order. A lost or
//! repeated change ends the measurement with an error.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use memchr::{memchr, memmem::Finder};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Builder,
    task::JoinSet,
    time::{sleep_until, timeout},
};

use crate::{
    Bench,
    client::{Client, Outcome},
    objects::{MAPS, NODES, PODS, config_map, pod},
    results::{Bar, Row},
    server::Server,
    statistics::percentile,
};

const SECTION: &str = "Watches";
/// Changes per second that the writer makes.
const RATE: f64 = 200.0;
/// Time limit of each wait.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Text before the number of a change.
const MARK: &[u8] = br#""count":""#;

/// Distribution of changes to watchers.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Every watcher gets every change.
    All,
    /// Each watcher follows the pods of one of a hundred nodes, as kubelets do.
    Node,
    /// Every watcher gets every change from bare hyper.
    Bare,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::All | Kind::Bare => "every change to every watcher",
            Kind::Node => "pods of one of 100 nodes to each watcher",
        }
    }

    /// Difference between two consecutive numbers that a watcher gets.
    fn step(self) -> usize {
        if self == Kind::Node { NODES } else { 1 }
    }

    fn watch(self, watcher: usize, version: u64) -> String {
        match self {
            Kind::All => format!("/api/v1/watch/configmaps?resourceVersion={version}"),
            Kind::Node => {
                let node = watcher % NODES;
                format!("/api/v1/watch/pods?fieldSelector=spec.nodeName%3Dnode-{node:03}&resourceVersion={version}")
            }
            Kind::Bare => "/watch".to_owned(),
        }
    }

    /// Returns method, path and body of a change.
    fn change(self, number: usize) -> (&'static str, String, String) {
        match self {
            Kind::All => ("PUT", format!("{MAPS}/counter"), config_map("counter", number)),
            Kind::Node => {
                let counted = pod("node", number % NODES).replace(r#""app":"web""#, &format!(r#""count":"{number}""#));
                ("PUT", format!("{PODS}/node-{:06}", number % NODES), counted)
            }
            Kind::Bare => {
                let object = config_map("counter", number);
                let frame = format!("{{\"type\":\"MODIFIED\",\"object\":{object}}}\n");
                ("POST", "/post".to_owned(), frame)
            }
        }
    }
}

pub(crate) async fn measure(bench: &mut Bench) -> Outcome {
    for kind in [Kind::All, Kind::Node] {
        for watchers in [1, 100, 1_000, 10_000] {
            let changes = bench.size(400, 2_000);
            let ours = round(bench, kind, watchers, changes, RATE).await?;
            let bare = match kind {
                Kind::All => Some(round(bench, Kind::Bare, watchers, changes, RATE).await?),
                _ => None,
            };
            delivery(bench, kind, watchers, &ours, bare.as_ref());
        }
    }
    for watchers in [1, 100, 1_000] {
        let changes = bench.size(1_000, 4_000).min(1_000_000 / watchers);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for _ in 0..bench.rounds() {
            left.push(round(bench, Kind::All, watchers, changes, f64::INFINITY).await?.rate);
            right.push(round(bench, Kind::Bare, watchers, changes, f64::INFINITY).await?.rate);
        }
        let name = "frames of all watchers, one writer as fast as it can";
        bench.add(Row::beside(SECTION, name, &left, &right, "frames/s").at(watchers));
    }
    Ok(())
}

fn delivery(bench: &mut Bench, kind: Kind, watchers: usize, ours: &Round, bare: Option<&Round>) {
    for (name, share) in [("median", 0.5), ("99 %", 0.99)] {
        let name = format!("{}, {name} delivered within", kind.name());
        let of = |round: &Round| percentile(&round.delays, share);
        let row = match bare {
            Some(bare) => Row::beside(SECTION, &name, &[of(ours)], &[of(bare)], "ms"),
            None => Row::new(SECTION, &name, of(ours), "ms"),
        };
        bench.add(
            row.at(watchers)
                .bar_if(share > 0.9 && watchers == 10_000, Bar::AtMost(50.0)),
        );
    }
    if watchers >= 1_000 {
        let name = format!("{}, memory of a watcher", kind.name());
        bench.add(Row::new(SECTION, &name, ours.memory, "KB").at(watchers));
    }
    let frames = ours.delays.len().max(1) as f64;
    let name = format!("{}, processor time of a frame", kind.name());
    let cost = |round: &Round| round.processor * 1e6 / frames;
    bench.add(match bare {
        Some(bare) => Row::beside(SECTION, &name, &[cost(ours)], &[cost(bare)], "µs").at(watchers),
        None => Row::new(SECTION, &name, cost(ours), "µs").at(watchers),
    });
}

/// Results of a round.
struct Round {
    /// Milliseconds from the request of each change to its frame, for all watchers.
    delays: Vec<f64>,
    /// Frames per second.
    rate: f64,
    /// Processor time of the server, in seconds.
    processor: f64,
    /// Resident memory of the server per watcher, in KB.
    memory: f64,
}

/// Times at which changes were sent, in nanoseconds since the start.
struct Sent {
    start: Instant,
    times: Vec<AtomicU64>,
}

async fn round(bench: &Bench, kind: Kind, watchers: usize, changes: usize, rate: f64) -> Outcome<Round> {
    let server = match kind {
        Kind::Bare => Server::own(&["bare"])?,
        _ => bench.serve(&["--bare", "--history", "20000"])?,
    };
    let mut client = Client::connect(&server.address).await?;
    let mut version = 0;
    let present = match kind {
        Kind::Bare => Vec::new(),
        // Differs from the number of the first change, which would otherwise change nothing.
        Kind::All => vec![(MAPS, config_map("counter", changes))],
        Kind::Node => (0..NODES).map(|n| (PODS, pod("node", n))).collect(),
    };
    for (path, body) in present {
        let created: serde_json::Value = serde_json::from_slice(&client.ask("POST", path, &body).await?)?;
        version = created["metadata"]["resourceVersion"]
            .as_str()
            .ok_or("no version")?
            .parse()?;
    }
    let sent = Arc::new(Sent {
        start: Instant::now(),
        times: (0..changes).map(|_| AtomicU64::new(0)).collect(),
    });
    let empty = server.resident()?;
    let mut followers = JoinSet::new();
    for watcher in 0..watchers {
        let watch = Watch::start(&server.address, &kind.watch(watcher, version)).await?;
        let first = if kind == Kind::Node { watcher % NODES } else { 0 };
        followers.spawn(watch.follow(sent.clone(), first, kind.step()));
    }
    let memory = server.resident()? - empty;
    let (begun, before) = (Instant::now(), server.processor()?);
    let (address, times) = (server.address.clone(), sent.clone());
    // The writer has a separate thread, so that the watchers in this process do not slow it.
    let writer = std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(write(&address, kind, &times, rate))
    });
    let mut delays = Vec::new();
    while let Some(followed) = timeout(TIMEOUT, followers.join_next())
        .await
        .map_err(|_| "a watcher hangs")?
    {
        delays.extend(followed??);
    }
    let took = begun.elapsed().as_secs_f64();
    writer.join().map_err(|_| "the writer panicked")??;
    Ok(Round {
        rate: delays.len() as f64 / took,
        processor: server.processor()? - before,
        memory: memory * 1024.0 / watchers as f64,
        delays,
    })
}

/// Makes the changes at this rate, or as fast as the server responds.
async fn write(address: &str, kind: Kind, sent: &Sent, rate: f64) -> Outcome {
    let mut client = Client::connect(address).await?;
    let begun = Instant::now();
    for (number, time) in sent.times.iter().enumerate() {
        sleep_until((begun + Duration::from_secs_f64(number as f64 / rate)).into()).await;
        let (method, path, body) = kind.change(number);
        time.store(sent.start.elapsed().as_nanos() as u64, Ordering::Release);
        client.ask(method, &path, &body).await?;
    }
    Ok(())
}

/// The stream of a watch.
struct Watch {
    socket: TcpStream,
    read: Vec<u8>,
}

impl Watch {
    async fn start(address: &str, path: &str) -> Outcome<Self> {
        let mut socket = TcpStream::connect(address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        socket.write_all(request.as_bytes()).await?;
        let mut read = Vec::with_capacity(4096);
        while !read.windows(4).any(|end| end == b"\r\n\r\n") {
            if socket.read_buf(&mut read).await? == 0 {
                return Err("a watch was refused".into());
            }
        }
        if read.starts_with(b"HTTP/1.1 200") {
            Ok(Self { socket, read })
        } else {
            Err(String::from_utf8_lossy(&read).into())
        }
    }

    /// Reads the changes from `first` on. Returns the delay of each in milliseconds.
    async fn follow(mut self, sent: Arc<Sent>, first: usize, step: usize) -> Outcome<Vec<f64>> {
        let finder = Finder::new(MARK);
        let (mut next, mut delays) = (first, Vec::new());
        while next < sent.times.len() {
            if self.socket.read_buf(&mut self.read).await? == 0 {
                return Err(format!("a watch ended before change {next}").into());
            }
            let now = sent.start.elapsed().as_nanos() as u64;
            let mut done = 0;
            while let Some(at) = finder.find(&self.read[done..]) {
                let digits = done + at + MARK.len();
                let Some(length) = memchr(b'"', &self.read[digits..]) else {
                    break;
                };
                let number: usize = std::str::from_utf8(&self.read[digits..digits + length])?.parse()?;
                if number != next {
                    return Err(format!("received change {number}, expected {next}").into());
                }
                delays.push(now.saturating_sub(sent.times[number].load(Ordering::Acquire)) as f64 / 1e6);
                next += step;
                done = digits + length;
            }
            // Keep a possible start of a mark.
            let kept = self.read.len().min(4096);
            done = done.max(self.read.len() - kept);
            self.read.drain(..done);
            self.read.reserve(4096);
        }
        Ok(delays)
    }
}
