//! The log search backend beside a real Elasticsearch 1.5.2, whose URL is in `STUNTDOUBLE_ELASTICSEARCH`. It may
//! have other indices than `logstash-2015.06.*`, and has what it had when the section ends.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{
    Bench,
    client::{Client, Outcome, Requests, request, throughput},
    results::{Bar, Row},
    search::{QUERIES, bulks},
    server::Server,
    statistics::percentile,
};

pub(crate) const SECTION: &str = "Log search beside Elasticsearch";
/// One shard per index and no replicas, so that no line is written twice.
const TEMPLATE: &str = r#"{"template":"logstash-*","settings":{"number_of_shards":1,"number_of_replicas":0}}"#;
/// Number of searches of a round.
const SEARCHES: usize = 200;
/// How long a server may merge segments after its last write.
const LONGEST_MERGES: Duration = Duration::from_secs(120);

/// Waits until a server merges no segments any more, so that the other one has the machine for itself.
async fn settle(address: &str) -> Outcome {
    let mut client = Client::connect(address).await?;
    let begun = Instant::now();
    loop {
        let statistics: Value = serde_json::from_slice(&client.ask("GET", "/_stats/merge", "").await?)?;
        match statistics.pointer("/_all/total/merges/current").and_then(Value::as_u64) {
            Some(0) => return Ok(()),
            None => return Err(format!("{address} does not say how many merges run").into()),
            Some(_) if begun.elapsed() > LONGEST_MERGES => return Err(format!("{address} merges for ever").into()),
            Some(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Indexes lines in bulk into new indices, until a search finds them. Returns requests per second.
async fn index(address: &str, bulks: &Requests) -> Outcome<f64> {
    let mut client = Client::connect(address).await?;
    client.ask("DELETE", "/logstash-2015.06.*", "").await?;
    let begun = Instant::now();
    throughput(address, 2, bulks).await?;
    client.ask("POST", "/_refresh", "").await?;
    Ok(bulks.len() as f64 / begun.elapsed().as_secs_f64())
}

/// Returns the 99th percentile of the durations of searches, in milliseconds.
async fn search(address: &str, query: &str) -> Outcome<f64> {
    let mut client = Client::connect(address).await?;
    let asked = request("POST", "/_search", query);
    let mut durations = Vec::new();
    for _ in 0..SEARCHES {
        let begun = Instant::now();
        client.exchange(&asked, false).await?;
        durations.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(percentile(&durations, 0.99))
}

pub(crate) async fn measure(bench: &mut Bench) -> Outcome {
    let Ok(url) = std::env::var("STUNTDOUBLE_ELASTICSEARCH") else {
        println!("skipped: {SECTION} (STUNTDOUBLE_ELASTICSEARCH is not set)");
        return Ok(());
    };
    let real = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut client = Client::connect(&real).await?;
    let indices = client.ask("GET", "/_cat/indices/logstash-2015.06.*", "").await?;
    if indices != b"[]" {
        return Err(format!("{url} has indices logstash-2015.06.*, which the benchmark would delete").into());
    }
    let server = Server::start(&bench.program, &["search", "--listen", "127.0.0.1:0"])?;
    for address in [&server.address, &real] {
        let mut client = Client::connect(address).await?;
        client.ask("PUT", "/_template/bench", TEMPLATE).await?;
    }
    let lines = bench.size(100_000, 1_000_000);
    let requests = bulks(lines);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let per_request = lines as f64 / requests.len() as f64;
    // The first round warms up the virtual machine.
    for round in 0..=bench.rounds().min(3) {
        let mut rates = [0.0; 2];
        for (address, rate) in [&server.address, &real].into_iter().zip(&mut rates) {
            *rate = index(address, &requests).await?;
            settle(address).await?;
        }
        if round > 0 {
            ours.push(rates[0] * per_request);
            theirs.push(rates[1] * per_request);
        }
    }
    let rate = Row::beside(SECTION, "index lines in bulk", &ours, &theirs, "lines/s").at(lines);
    bench.add(rate.bar(Bar::RatioAtLeast(5.0)));
    for (name, query) in QUERIES {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=bench.rounds() {
            let durations = [search(&server.address, query).await?, search(&real, query).await?];
            if round > 0 {
                ours.push(durations[0]);
                theirs.push(durations[1]);
            }
        }
        let row = Row::beside(SECTION, &format!("{name}, 99th percentile"), &ours, &theirs, "ms");
        bench.add(row.at(lines).bar(Bar::RatioAtMost(0.25)));
    }
    for path in ["/logstash-2015.06.*", "/_template/bench"] {
        client.ask("DELETE", path, "").await?;
    }
    Ok(())
}
