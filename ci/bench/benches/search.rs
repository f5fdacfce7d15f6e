//! The log search backend against tantivy alone: the same lines, fields and threads in the same run.
//!
//! `cargo bench -p stuntdouble-bench --bench search -- [--lines 1000000] [--threads 2] [--shards 5] [--rounds 100]
//! [--repeats 3] [--seed 1]`
//!
//! Both sides start from the same JSON lines of about 300 bytes, over seven days. tantivy has the same number of
//! indexing threads, and the same number of threads that parse lines. It uses one index per day with the fields `log`,
//! `stream`, `tag`, `_all` (text, with positions), `@timestamp` (fast), `_id` and the stored source. Its queries return
//! the ten best documents and the count, like those of the backend. The backend's index is also measured with one shard
//! per day, as tantivy has it. Both sides use the allocator of the program. The index rates are measured several times
//! in turn; a ratio is the median of the ratios.
#![expect(clippy::expect_used, reason = "a benchmark may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mimalloc::MiMalloc;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use stuntdouble_search::{Options, SearchServer};

#[path = "search/alone.rs"]
mod alone;
#[path = "../src/corpus.rs"]
mod corpus;
#[path = "../src/statistics.rs"]
mod statistics;

use corpus::Line;
use statistics::{median, percentile};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

struct Settings {
    lines: usize,
    threads: usize,
    seed: u64,
    rounds: usize,
    repeats: usize,
    shards: u32,
}

fn settings() -> Settings {
    let mut settings = Settings {
        lines: 1_000_000,
        threads: 2,
        seed: 1,
        rounds: 100,
        repeats: 3,
        shards: Options::default().shards,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || {
            arguments
                .next()
                .and_then(|text| text.parse::<usize>().ok())
                .expect("expected a number")
        };
        match argument.as_str() {
            "--lines" => settings.lines = number(),
            "--threads" => settings.threads = number(),
            "--seed" => settings.seed = number() as u64,
            "--rounds" => settings.rounds = number(),
            "--repeats" => settings.repeats = number().max(1),
            "--shards" => settings.shards = number() as u32,
            // Arguments that Cargo adds.
            _ => {}
        }
    }
    settings
}

/// Returns the resident memory and its peak, in MB.
fn memory() -> (usize, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok())
            .unwrap_or(0)
            / 1024
    };
    (of("VmRSS:"), of("VmHWM:"))
}

/// Returns the processor time of the process in seconds, which depends little on other load.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks = |at: usize| {
        after
            .split_whitespace()
            .nth(at)
            .and_then(|text| text.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}

/// Distributes the lines to threads, a thousand at a time.
fn share(threads: usize, lines: &[Line], work: impl Fn(&[Line]) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(1_000, Ordering::Relaxed);
                    if from >= lines.len() {
                        return;
                    }
                    work(&lines[from..(from + 1_000).min(lines.len())]);
                }
            });
        }
    });
}

fn rate(name: &str, lines: usize, took: Duration) -> f64 {
    let rate = lines as f64 / took.as_secs_f64();
    println!("{name:<28} {rate:>10.0} lines a second ({:.1} s)", took.as_secs_f64());
    rate
}

fn options(shards: u32) -> Options {
    Options {
        shards,
        ..Options::default()
    }
}

fn by_library(settings: &Settings, shards: u32, lines: &[Line]) -> (SearchServer, f64) {
    let server = SearchServer::new(options(shards));
    let began = Instant::now();
    share(settings.threads, lines, |part| {
        for line in part {
            server
                .index(&line.index, "fluentd", Some(&line.id()), line.source.as_bytes())
                .expect("indexing failed");
        }
    });
    server.refresh().expect("refresh failed");
    let name = format!("library, shards: {shards}");
    (server, rate(&name, lines.len(), began.elapsed()))
}

fn by_http(runtime: &tokio::runtime::Runtime, settings: &Settings, lines: &[Line]) -> f64 {
    let server = SearchServer::new(options(settings.shards));
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .expect("cannot bind a port");
    let url = format!("http://{}/_bulk", listener.local_addr().expect("no local address"));
    let serving = server.clone();
    let task = runtime.spawn(async move { serving.serve(listener).await });
    // Several providers may be compiled in, so one must be installed.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    let began = Instant::now();
    share(settings.threads, lines, |part| {
        let mut body = String::new();
        for line in part {
            body.push_str(&line.bulk());
        }
        let response = runtime
            .block_on(async { client.post(&url).body(body).send().await?.text().await })
            .expect("the bulk request failed");
        assert!(
            response.contains("\"errors\":false"),
            "{}",
            &response[..response.len().min(300)]
        );
    });
    server.refresh().expect("refresh failed");
    let rate = rate("HTTP bulk", lines.len(), began.elapsed());
    task.abort();
    rate
}

fn ask(runtime: &tokio::runtime::Runtime, server: &SearchServer, uri: &str, body: &str) -> (Duration, u64) {
    use http_body_util::{BodyExt, Full};
    let request = http::Request::post(uri)
        .body(Full::new(bytes::Bytes::from(body.to_owned())))
        .expect("invalid request");
    let began = Instant::now();
    let answer = runtime.block_on(async {
        server
            .handle(request)
            .await
            .into_body()
            .collect()
            .await
            .expect("no body")
            .to_bytes()
    });
    let took = began.elapsed();
    let answer: serde_json::Value = serde_json::from_slice(&answer).expect("the response is not JSON");
    (
        took,
        answer["hits"]["total"].as_u64().unwrap_or_else(|| panic!("{answer}")),
    )
}

fn main() {
    let settings = settings();
    let runtime = tokio::runtime::Runtime::new().expect("cannot start the runtime");
    let mut random = StdRng::seed_from_u64(settings.seed);
    println!(
        "{} lines, {} threads, seed {}",
        settings.lines, settings.threads, settings.seed
    );
    let lines: Arc<[Line]> = (0..settings.lines)
        .map(|number| Line::new(number, settings.lines, &mut random))
        .collect();
    let bytes: usize = lines.iter().map(|line| line.source.len()).sum();
    println!(
        "{} bytes a line; {} MB resident with the lines alone",
        bytes / lines.len().max(1),
        memory().0
    );

    let before = memory().0;
    let mut kept = None;
    let mut ratios: [Vec<[f64; 2]>; 2] = Default::default();
    let shard_counts = [1, settings.shards];
    for _ in 0..settings.repeats {
        drop(kept.take());
        let spent = processor();
        let days = alone::Days::new(settings.threads, &lines);
        let tantivy_time = processor() - spent;
        let tantivy = rate("tantivy alone", lines.len(), days.took);
        let mut server = None;
        for (shards, ratios) in shard_counts.into_iter().zip(&mut ratios) {
            drop(server.take());
            let occupied = memory().0;
            let spent = processor();
            let (own, rate) = by_library(&settings, shards, &lines);
            ratios.push([rate / tantivy, tantivy_time / (processor() - spent)]);
            println!(
                "{:<28} {:>10} MB more",
                "memory of the index",
                memory().0.saturating_sub(occupied)
            );
            server = Some(own);
        }
        kept = server.map(|server| (server, days, tantivy));
    }
    let (server, days, tantivy) = kept.expect("at least one repetition");
    println!(
        "{:<28} {:>10} MB at the peak",
        "memory",
        memory().1.saturating_sub(before)
    );
    for (shards, ratios) in shard_counts.into_iter().zip(&ratios) {
        let [by_rate, by_time] = [0, 1].map(|kind| median(&ratios.iter().map(|both| both[kind]).collect::<Vec<_>>()));
        println!(
            "{:<28} {by_rate:>10.2} of tantivy's rate; {by_time:.2} by processor time",
            format!("library, shards: {shards}")
        );
    }

    let kinds = ["term", "phrase", "wildcard", "date range", "date histogram"];
    for kind in kinds {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut totals = (0, 0);
        for _ in 0..settings.rounds {
            let words = [corpus::word(&mut random), corpus::word(&mut random)];
            let day = random.random_range(22..28);
            let (uri, body) = match kind {
                "term" => (format!("/_search?q=log:{}", words[0]), String::new()),
                "phrase" => (format!("/_search?q=log:%22{}+{}%22", words[0], words[1]), String::new()),
                "wildcard" => (format!("/_search?q=log:{}*", &words[0][..3]), String::new()),
                "date range" => (
                    format!(
                        "/_search?q=@timestamp:[2015-06-{day}T06:00:00+TO+2015-06-{}T18:00:00]",
                        day + 1
                    ),
                    String::new(),
                ),
                _ => (
                    "/_search".to_owned(),
                    format!(
                        "{{\"size\":0,\"query\":{{\"term\":{{\"log\":\"{}\"}}}},\
                         \"aggs\":{{\"h\":{{\"date_histogram\":\
                         {{\"field\":\"@timestamp\",\"interval\":\"hour\"}}}}}}}}",
                        words[0]
                    ),
                ),
            };
            let (took, total) = ask(&runtime, &server, &uri, &body);
            ours.push(took.as_secs_f64() * 1_000.0);
            totals.0 += total;
            let (took, total) = days.ask(kind, &words, day);
            theirs.push(took.as_secs_f64() * 1_000.0);
            totals.1 += total;
        }
        let (half, most) = (percentile(&ours, 0.5), percentile(&ours, 0.99));
        let (their_half, their_most) = (percentile(&theirs, 0.5), percentile(&theirs, 0.99));
        println!(
            "{kind:<16} p50 {half:>7.2} ms, p99 {most:>7.2} ms; tantivy alone p50 {their_half:>7.2} ms, \
             p99 {their_most:>7.2} ms; {:.2} of its p99; hits {} and {}",
            most / their_most,
            totals.0,
            totals.1
        );
    }
    drop((server, days));
    let http = by_http(&runtime, &settings, &lines);
    println!("{:<28} {:>10.2} of tantivy's rate", "HTTP bulk", http / tantivy);
}
