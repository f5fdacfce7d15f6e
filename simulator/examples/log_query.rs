//! Tests a log query: it indexes lines in a search backend inside the process, and checks the result of the query.
//!
//! `cargo run -p stuntdouble-simulator --example log_query`

use std::error::Error;

use serde_json::{Value, json};
use stuntdouble_simulator::search::{Options, SearchServer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = SearchServer::new(Options::default());
    let lines = [
        ("2015-06-26T10:00:00+00:00", "GET /healthz 200"),
        ("2015-06-26T10:00:01+00:00", "connection refused by 10.0.0.7"),
        ("2015-06-26T10:00:02+00:00", "connection reset"),
        ("2015-06-26T10:00:03+00:00", "GET /pods 500 connection refused"),
    ];
    for (time, log) in lines {
        let record = json!({"log": log, "stream": "stdout", "tag": "kubernetes.web", "@timestamp": time});
        server.index("logstash-2015.06.26", "fluentd", None, record.to_string().as_bytes())?;
    }
    server.refresh()?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let serving = tokio::spawn(async move { server.serve(listener).await });

    // The query under test: refused connections except health checks.
    let client = reqwest::Client::new();
    let query = [
        ("q", r#"log:"connection refused" AND NOT log:healthz"#),
        ("sort", "@timestamp"),
    ];
    let answer = client
        .get(format!("{url}/logstash-*/_search"))
        .query(&query)
        .send()
        .await?;
    let found: Value = answer.json().await?;
    assert_eq!(found["hits"]["total"], 2);
    assert_eq!(
        found["hits"]["hits"][0]["_source"]["log"],
        "connection refused by 10.0.0.7"
    );
    serving.abort();
    println!("found {} lines of 4", found["hits"]["total"]);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs() {
        // The workspace builds the client without a default cryptography provider.
        let _installed = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        super::main().expect("the example succeeds");
    }
}
