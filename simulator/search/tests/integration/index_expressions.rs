//! Index expressions as Elasticsearch 1.5.2 resolves them in every API, by answers recorded with
//! `recorded/index_expressions.jsonl`: two open and two closed indices, each with an alias.
//!
//! Of a success, the keys of the answer are recorded, or the number of words of a text.

use crate::support::Backend;
use serde_json::{Value, json};

const OPEN: [&str; 2] = ["gb", "gc"];
const CLOSED: [&str; 2] = ["cl1", "cl2"];

async fn set_state(backend: &Backend) {
    for (names, action) in [(OPEN, "_open"), (CLOSED, "_close")] {
        for name in names {
            assert_eq!(backend.post(&format!("/{name}/{action}"), "").await.status, 200);
        }
    }
}

/// Returns what is recorded of an answer, with the request.
async fn answered(backend: &Backend, recorded: &Value) -> Value {
    let text = |key: &str| recorded[key].as_str().unwrap_or_default();
    let response = backend.send_json(text("method"), text("uri"), &recorded["body"]).await;
    let mut line = recorded.clone();
    let parts = line.as_object_mut().unwrap();
    parts.retain(|key, _| matches!(key.as_str(), "method" | "uri" | "body"));
    parts.insert("status".to_owned(), json!(response.status));
    if response.text.is_empty() {
        return line;
    }
    match (response.status, response.body.as_object()) {
        (200, Some(body)) => {
            let mut keys: Vec<&String> = body.keys().collect();
            keys.retain(|key| !matches!(key.as_str(), "took" | "_shards"));
            keys.sort();
            line["keys"] = json!(keys);
        }
        (200, None) => line["words"] = json!(response.text.split_whitespace().count()),
        _ => {
            let error = &response.body["error"];
            line["error"] = json!(error.as_str().unwrap_or(&response.text));
        }
    }
    line
}

#[tokio::test]
async fn every_api_resolves_expressions_as_elasticsearch() {
    let backend = Backend::new();
    for name in OPEN.iter().chain(&CLOSED) {
        let index = json!({
            "settings": {"number_of_replicas": 0},
            "mappings": {"t": {"properties": {"k": {"type": "long"}}}},
            "aliases": {format!("al_{name}"): {}},
        });
        assert_eq!(backend.put(&format!("/{name}"), &index.to_string()).await.status, 200);
    }
    set_state(&backend).await;
    let mut differing = Vec::new();
    let mut count = 0;
    for line in include_str!("../recorded/index_expressions.jsonl").lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let answered = answered(&backend, &recorded).await;
        if answered != recorded {
            differing.push(format!("recorded {recorded}\nanswered {answered}\n"));
        }
        let uri = recorded["uri"].as_str().unwrap_or_default();
        if uri.contains("/_open") || uri.contains("/_close") {
            set_state(&backend).await;
        }
        count += 1;
    }
    assert!(count > 500 && differing.is_empty(), "{}", differing.join("\n"));
}
