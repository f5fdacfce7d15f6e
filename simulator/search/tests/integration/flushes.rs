//! Flushes and syncs of a data directory.

use std::time::Duration;

use crate::data_directory::crashed;
use crate::support::{Backend, ask};
use serde_json::{Value, json};
use tempfile::TempDir;

#[tokio::test]
async fn operations_are_synced_after_the_interval_or_at_once() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    ask(&backend, "PUT", "/slow", json!({})).await;
    ask(&backend, "PUT", "/fast", json!({"settings": {"gateway.local.sync": 0}})).await;
    for index in ["slow", "fast"] {
        ask(&backend, "PUT", &format!("/{index}/t/1"), json!({"a": 1})).await;
    }
    let found = |copy: TempDir| async move {
        let backend = Backend::open(copy.path());
        let (slow, fast) = (backend.get("/slow/t/1").await, backend.get("/fast/t/1").await);
        [slow.status, fast.status]
    };
    assert_eq!(found(crashed(directory.path())).await, [404, 200]);
    backend.step(Duration::from_secs(5));
    ask(&backend, "GET", "/_search", Value::Null).await;
    assert_eq!(found(crashed(directory.path())).await, [200, 200]);
}

#[tokio::test]
async fn a_deletion_by_query_is_synced_at_once() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    ask(&backend, "PUT", "/i", json!({"settings": {"gateway.local.sync": 0}})).await;
    for id in 1..=3 {
        ask(&backend, "PUT", &format!("/i/t/{id}"), json!({"n": id})).await;
    }
    ask(&backend, "POST", "/i/_refresh", Value::Null).await;
    let high = json!({"query": {"range": {"n": {"gte": 2}}}});
    ask(&backend, "DELETE", "/i/_query", high).await;
    let copy = crashed(directory.path());
    let found = ask(&Backend::open(copy.path()), "GET", "/i/_count", Value::Null).await;
    assert_eq!(found["count"], 1);
}

#[tokio::test]
async fn new_fields_and_types_of_failed_writes_are_saved_at_once() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    ask(&backend, "PUT", "/i", json!({"settings": {"gateway.local.sync": 0}})).await;
    ask(&backend, "PUT", "/i/t/1", json!({"n": 1})).await;
    for (path, body, status) in [
        ("/i/t/1?op_type=create", r#"{"taken": 1}"#, 409),
        ("/i/other/1?version=7", r#"{"m": 1}"#, 409),
    ] {
        let answer = backend.send("PUT", path, body).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
    }
    let mapping = ask(&backend, "GET", "/i/_mapping", Value::Null).await;
    let copy = crashed(directory.path());
    assert_eq!(
        ask(&Backend::open(copy.path()), "GET", "/i/_mapping", Value::Null).await,
        mapping
    );
    let fields = &mapping["i"]["mappings"];
    for (type_name, field) in [("t", "taken"), ("other", "m")] {
        assert!(fields[type_name]["properties"][field].is_object(), "{field}: {mapping}");
    }
}

/// A mapping is saved with the documents so far, which stay invisible until the next refresh or flush.
#[tokio::test]
async fn a_change_of_a_mapping_makes_nothing_visible() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    let quiet = json!({"settings": {"number_of_shards": 1, "refresh_interval": -1}});
    ask(&backend, "PUT", "/i", quiet).await;
    ask(&backend, "PUT", "/i/t/1?refresh=true", json!({"n": 1})).await;
    ask(&backend, "PUT", "/i/t/1", json!({"n": 2})).await;
    ask(&backend, "PUT", "/i/t/2", json!({"n": 2})).await;
    let mapping = json!({"properties": {"m": {"type": "long"}}});
    ask(&backend, "PUT", "/i/_mapping/t", mapping).await;
    let all = json!({"query": {"match_all": {}}, "fields": ["n"], "version": true, "sort": "n"});
    let found = async |backend: &Backend| {
        let answer = ask(backend, "POST", "/i/_search", all.clone()).await;
        let hits = answer["hits"]["hits"].as_array().unwrap().clone();
        let shown = |hit: &Value| json!([hit["_id"], hit["_version"], hit["fields"]["n"]]);
        hits.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(found(&backend).await, [json!(["1", 1, [1]])]);
    let copy = crashed(directory.path());
    let after = [json!(["1", 2, [2]]), json!(["2", 1, [2]])];
    assert_eq!(found(&Backend::open(copy.path())).await, after);
    ask(&backend, "POST", "/i/_flush", Value::Null).await;
    assert_eq!(found(&backend).await, after);
}

#[tokio::test]
async fn flushes_empty_the_translog_and_commit_the_segments() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    ask(
        &backend,
        "PUT",
        "/i",
        json!({"settings": {"translog.flush_threshold_ops": 3}}),
    )
    .await;
    let statistics = |backend: Backend| async move {
        let stats = ask(&backend, "GET", "/i/_stats", Value::Null).await;
        let segments = ask(&backend, "GET", "/i/_segments", Value::Null).await;
        let translog = stats["_all"]["primaries"]["translog"].clone();
        let shard = &segments["indices"]["i"]["shards"]["0"][0];
        let committed = [
            shard["num_committed_segments"].clone(),
            shard["num_search_segments"].clone(),
        ];
        (
            backend,
            translog["operations"].as_u64().unwrap(),
            translog["size_in_bytes"].as_u64().unwrap(),
            committed,
        )
    };
    for n in 0..3 {
        ask(&backend, "PUT", &format!("/i/t/{n}"), json!({})).await;
    }
    ask(&backend, "POST", "/_refresh", Value::Null).await;
    let (backend, operations, bytes, segments) = statistics(backend).await;
    assert_eq!((operations, segments), (3, [json!(0), json!(1)]));
    assert!(bytes > 17);
    ask(&backend, "POST", "/_flush", Value::Null).await;
    let (backend, operations, bytes, segments) = statistics(backend).await;
    assert_eq!((operations, bytes, segments), (0, 17, [json!(1), json!(1)]));
    // The flush threshold is checked every five seconds.
    for n in 0..4 {
        ask(&backend, "PUT", &format!("/i/t/{n}"), json!({})).await;
    }
    backend.step(Duration::from_secs(5));
    ask(&backend, "GET", "/_search", Value::Null).await;
    let (backend, operations, ..) = statistics(backend).await;
    assert_eq!(operations, 0);
    ask(&backend, "PUT", "/i/t/late", json!({})).await;
    backend.server.close().unwrap();
    let response = backend.put("/i/t/closed", "{}").await;
    assert_eq!(response.status, 500, "{}", response.text);
}
