//! Settings that apply once a closed index is opened.

use crate::support::{Backend, ask};
use serde_json::{Value, json};
use tempfile::TempDir;

#[tokio::test]
async fn analyzers_of_a_closed_index_apply_once_it_is_opened() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    let mapping = json!({"mappings": {"t": {"analyzer": "keyword", "properties": {"a": {"type": "string"}}}}});
    ask(&backend, "PUT", "/logs", mapping).await;
    ask(&backend, "POST", "/logs/_close", Value::Null).await;
    let invalid = json!({"analysis": {"analyzer": {"own": {"tokenizer": "none"}}}});
    ask(&backend, "PUT", "/logs/_settings", invalid).await;
    backend.server.close().unwrap();

    let backend = Backend::open(directory.path());
    let refused = backend.post("/logs/_open", "").await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    let valid = json!({"analysis": {"analyzer": {"own": {"tokenizer": "whitespace"}}}});
    ask(&backend, "PUT", "/logs/_settings", valid).await;
    ask(&backend, "POST", "/logs/_open", Value::Null).await;
    let own = json!({"properties": {"b": {"type": "string", "analyzer": "own"}}});
    ask(&backend, "PUT", "/logs/_mapping/t", own).await;
    backend.server.close().unwrap();

    let backend = Backend::open(directory.path());
    ask(
        &backend,
        "PUT",
        "/logs/t/1?refresh=true",
        json!({"a": "A B", "b": "A B"}),
    )
    .await;
    for (field, text, total) in [("a", "A B", 1), ("a", "A", 0), ("b", "A", 1), ("b", "a", 0)] {
        let found = ask(
            &backend,
            "POST",
            "/logs/_search",
            json!({"query": {"term": {field: text}}}),
        )
        .await;
        assert_eq!(found["hits"]["total"], total, "{field}:{text}");
    }
}

#[tokio::test]
async fn similarities_of_a_closed_index_apply_once_it_is_opened() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    ask(&backend, "PUT", "/logs/t/1?refresh=true", json!({"a": "b"})).await;
    ask(&backend, "POST", "/logs/_close", Value::Null).await;
    for (kind, status) in [("nope", 500), ("BM25", 200)] {
        let settings = json!({"index.similarity.default.type": kind});
        ask(&backend, "PUT", "/logs/_settings", settings).await;
        let opened = backend.post("/logs/_open", "").await;
        assert_eq!(opened.status, status, "{}", opened.text);
    }
    backend.server.close().unwrap();

    let backend = Backend::open(directory.path());
    let found = ask(
        &backend,
        "POST",
        "/logs/_search",
        json!({"query": {"match": {"a": "b"}}}),
    )
    .await;
    // The inverse document frequency of BM25 for one of one documents; that of TF-IDF is 0.30685282.
    assert_eq!(found["hits"]["max_score"], 0.287_682_1);
}
