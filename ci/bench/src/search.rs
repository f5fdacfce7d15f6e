//! The log search backend alone.

use std::{sync::Arc, time::Instant};

use rand::{SeedableRng, rngs::StdRng};

use crate::{
    Bench,
    client::{Client, Outcome, Requests, request, throughput},
    corpus::Line,
    results::Row,
    server::Server,
};

const SECTION: &str = "Log search";
/// Number of lines of one bulk request.
const BULK: usize = 1_000;
pub(crate) const QUERIES: [(&str, &str); 4] = [
    ("one word", r#"{"query":{"query_string":{"query":"log:timeout"}}}"#),
    (
        "a phrase",
        r#"{"query":{"query_string":{"query":"log:\"connection refused\""}}}"#,
    ),
    (
        "words of two fields",
        r#"{"query":{"query_string":{"query":"log:leader AND tag:pod-7"}}}"#,
    ),
    (
        "lines by hour",
        concat!(
            r#"{"size":0,"query":{"query_string":{"query":"log:retry"}},"#,
            r#""aggs":{"hours":{"date_histogram":{"field":"@timestamp","interval":"1h"}}}}"#
        ),
    ),
];

/// Returns bulk requests of some lines.
pub(crate) fn bulks(lines: usize) -> Requests {
    let mut random = StdRng::seed_from_u64(7);
    let bodies = (0..lines).step_by(BULK).map(|from| {
        let mut body = String::new();
        for number in from..(from + BULK).min(lines) {
            body += &Line::new(number, lines, &mut random).bulk();
        }
        request("POST", "/_bulk", &body)
    });
    Arc::new(bodies.collect())
}

pub(crate) async fn measure(bench: &mut Bench) -> Outcome {
    let most = bench.size(10_000, 200_000);
    for lines in [1_000, 10_000, 50_000, 200_000]
        .into_iter()
        .filter(|lines| *lines <= most)
    {
        let ours = Server::start(&bench.program, &["search", "--listen", "127.0.0.1:0"])?;
        let requests = bulks(lines);
        let begun = Instant::now();
        throughput(&ours.address, 2, &requests).await?;
        let mut client = Client::connect(&ours.address).await?;
        client.ask("POST", "/_refresh", "").await?;
        let rate = lines as f64 / begun.elapsed().as_secs_f64();
        bench.add(Row::new(SECTION, "index lines in bulk", rate, "lines/s").at(lines));
        bench.add(Row::new(SECTION, "resident memory", ours.resident()?, "MB").at(lines));
        for (name, query) in QUERIES {
            let file = bench.folder.path().join("hits");
            std::fs::write(&file, client.ask("POST", "/_search", query).await?)?;
            let hyper = Server::own(&["bare", &file.display().to_string()])?;
            let count = bench.size(200, 500);
            let asked: Requests = Arc::new(vec![request("POST", "/_search", query); count]);
            let plain: Requests = Arc::new(vec![request("GET", "/hits", ""); count]);
            let (mut left, mut right) = (Vec::new(), Vec::new());
            for _ in 0..bench.rounds() {
                left.push(throughput(&ours.address, 1, &asked).await?);
                right.push(throughput(&hyper.address, 1, &plain).await?);
            }
            bench.add(Row::beside(SECTION, name, &left, &right, "queries/s").at(lines));
        }
    }
    Ok(())
}
