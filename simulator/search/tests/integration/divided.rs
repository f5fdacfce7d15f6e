//! Searches of many documents, whose segments are divided among threads.

use std::fmt::Write;
use std::ops::Range;

use crate::support::{Backend, ask};
use rstest::rstest;
use serde_json::{Value, json};

/// Number of documents, above that from which on a search is divided.
const DOCS: usize = 21_000;

/// An index of several segments.
async fn backend(shards: u64) -> Backend {
    let backend = Backend::new();
    ask(
        &backend,
        "PUT",
        "/logs",
        json!({"settings": {"number_of_shards": shards}}),
    )
    .await;
    for from in (0..DOCS).step_by(DOCS / 7) {
        write(&backend, from..from + DOCS / 7).await;
    }
    backend
}

async fn write(backend: &Backend, numbers: Range<usize>) {
    let mut bulk = String::new();
    for n in numbers {
        let text = if n % 3 == 0 { "red fox" } else { "fox red" };
        let action = json!({"index": {"_id": n.to_string()}});
        let document = json!({"n": n, "word": format!("w{}", n % 7), "text": text});
        writeln!(bulk, "{action}\n{document}").unwrap();
    }
    let written = backend.post("/logs/line/_bulk?refresh=true", &bulk).await;
    assert_eq!(written.body["errors"], false);
}

async fn search(backend: &Backend, body: Value) -> Value {
    let answer = ask(backend, "POST", "/logs/_search", body).await;
    assert_eq!(answer["_shards"]["failed"], 0);
    answer
}

fn sources(answer: &Value, field: &str) -> Vec<Value> {
    let hits = answer["hits"]["hits"].as_array().unwrap();
    hits.iter().map(|hit| hit["_source"][field].clone()).collect()
}

#[rstest]
#[case::several_shards(3)]
#[case::one_shard(1)]
#[tokio::test]
async fn the_parts_of_a_divided_search_are_merged(#[case] shards: u64) {
    let backend = backend(shards).await;
    let sorted = search(&backend, json!({"sort": [{"n": "desc"}], "from": 5, "size": 3})).await;
    let expected = [DOCS - 6, DOCS - 7, DOCS - 8];
    assert_eq!(sources(&sorted, "n"), expected.map(|n| json!(n)));
    assert_eq!(sorted["hits"]["total"], DOCS);

    let phrase = json!({"query": {"match_phrase": {"text": "red fox"}}});
    assert_eq!(search(&backend, phrase).await["hits"]["total"], DOCS / 3);

    let counted = json!({
        "size": 0,
        "aggs": {
            "words": {"terms": {"field": "word"}},
            "numbers": {"histogram": {"field": "n", "interval": 5_000}},
        },
    });
    let counted = search(&backend, counted).await;
    let numbers = (0..DOCS).step_by(5_000);
    let numbers: Vec<Value> = numbers
        .map(|from| json!({"key": from, "doc_count": (DOCS - from).min(5_000)}))
        .collect();
    assert_eq!(counted["aggregations"]["numbers"]["buckets"], json!(numbers));
    let buckets = counted["aggregations"]["words"]["buckets"].as_array().unwrap();
    let counts: Vec<&Value> = buckets.iter().map(|bucket| &bucket["doc_count"]).collect();
    assert_eq!(
        counts,
        [DOCS / 7; 7].map(|count| json!(count)).iter().collect::<Vec<_>>()
    );

    let ended = ask(&backend, "POST", "/logs/_search?terminate_after=10", json!({})).await;
    assert_eq!(
        (&ended["hits"]["total"], &ended["terminated_early"]),
        (&json!(10 * shards), &json!(true))
    );
    let stats = ask(&backend, "GET", "/logs/_stats/search", Value::Null).await;
    assert_eq!(stats["_all"]["total"]["search"]["query_total"], 4 * shards);
}

#[rstest]
#[case::several_shards(3)]
#[case::one_shard(1)]
#[tokio::test]
async fn a_divided_search_has_the_order_of_one_that_is_not(#[case] shards: u64) {
    let backend = backend(shards).await;
    let query = json!({"match": {"word": "w1 w2"}});
    let divided = search(&backend, json!({"query": query, "size": 50})).await;
    // A script can fail on a document: such a search is not divided.
    let script =
        json!({"query": query, "script_score": {"script": "_score", "lang": "expression"}, "boost_mode": "replace"});
    let whole = search(&backend, json!({"query": {"function_score": script}, "size": 50})).await;
    assert_eq!(sources(&divided, "n").len(), 50);
    assert_eq!(sources(&divided, "n"), sources(&whole, "n"));
    assert_eq!(divided["hits"]["max_score"], whole["hits"]["max_score"]);
}
