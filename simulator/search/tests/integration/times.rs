//! `_timestamp` and `_ttl` of documents.

use std::time::Duration;

use crate::support::{Backend, ask};
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

/// 2015-06-26T12:00:00Z, the start of the clock.
const NOW: i64 = 1_435_320_000_000;

/// Creates an index whose type enables both fields.
async fn make_index(backend: &Backend) {
    let mapping = json!({"_timestamp": {"enabled": true, "store": true}, "_ttl": {"enabled": true, "default": "1d"}});
    let body = json!({"settings": {"number_of_shards": 1}, "mappings": {"line": mapping}});
    ask(backend, "PUT", "/logs", body).await;
}

async fn times(backend: &Backend, id: &str) -> (Value, Value) {
    let found = ask(
        backend,
        "GET",
        &format!("/logs/line/{id}?fields=_timestamp,_ttl"),
        json!(null),
    )
    .await;
    let fields = &found["fields"];
    (fields["_timestamp"].clone(), fields["_ttl"].clone())
}

#[tokio::test]
async fn times_come_from_the_request_the_document_or_the_mapping() {
    let backend = Backend::new();
    make_index(&backend).await;
    for (uri, document) in [
        ("/logs/line/request?timestamp=2015-06-26T11:59:00Z&ttl=2m", json!({})),
        ("/logs/line/document", json!({"_ttl": "5m"})),
        ("/logs/line/mapping", json!({})),
    ] {
        ask(&backend, "PUT", uri, document).await;
    }
    let bulk = "{\"index\":{\"_id\":\"bulk\",\"_timestamp\":1435319999000,\"_ttl\":\"10s\"}}\n{}\n";
    assert_eq!(backend.post("/logs/line/_bulk", bulk).await.body["errors"], false);
    ask(&backend, "POST", "/logs/_refresh", json!(null)).await;
    assert_eq!(times(&backend, "request").await, (json!(NOW - 60_000), json!(60_000)));
    assert_eq!(times(&backend, "document").await, (json!(NOW), json!(300_000)));
    assert_eq!(times(&backend, "mapping").await, (json!(NOW), json!(86_400_000)));
    assert_eq!(times(&backend, "bulk").await, (json!(NOW - 1_000), json!(9_000)));
    let search = json!({
        "query": {"range": {"_timestamp": {"lt": "2015-06-26T12:00:00Z"}}},
        "sort": "_timestamp",
        "fields": ["_timestamp", "_ttl"],
    });
    let found = ask(&backend, "POST", "/logs/_search", search).await;
    let hits = found["hits"]["hits"].as_array().unwrap();
    let shown: Vec<Value> = hits
        .iter()
        .map(|hit| {
            json!([
                hit["_id"],
                hit["fields"]["_timestamp"],
                hit["fields"]["_ttl"],
                hit["sort"]
            ])
        })
        .collect();
    let expected = [
        json!(["request", NOW - 60_000, 60_000, [NOW - 60_000]]),
        json!(["bulk", NOW - 1_000, 9_000, [NOW - 1_000]]),
    ];
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn an_update_keeps_the_expiry() {
    let backend = Backend::new();
    make_index(&backend).await;
    ask(&backend, "PUT", "/logs/line/1?ttl=1h", json!({"a": 1})).await;
    backend.step_clock(Duration::from_secs(60));
    ask(&backend, "POST", "/logs/line/1/_update", json!({"doc": {"a": 2}})).await;
    assert_eq!(times(&backend, "1").await, (json!(NOW + 60_000), json!(3_540_000)));
    ask(
        &backend,
        "POST",
        "/logs/line/1/_update?ttl=5s",
        json!({"doc": {"a": 3}}),
    )
    .await;
    assert_eq!(times(&backend, "1").await.1, json!(5_000));
}

#[tokio::test]
async fn expired_documents_are_deleted_by_the_next_purge() {
    let backend = Backend::new();
    make_index(&backend).await;
    ask(
        &backend,
        "PUT",
        "/_cluster/settings",
        json!({"transient": {"indices.ttl.interval": "10s"}}),
    )
    .await;
    for uri in [
        "/logs/line/short?ttl=5s",
        "/logs/line/long?ttl=1h",
        "/logs/line/again?ttl=5s",
    ] {
        ask(&backend, "PUT", uri, json!({"a": 1})).await;
    }
    ask(&backend, "POST", "/logs/_refresh", json!(null)).await;
    // This version is not refreshed: the purge finds the expired one.
    ask(&backend, "PUT", "/logs/line/again?ttl=1h", json!({"a": 2})).await;
    let count = async || ask(&backend, "GET", "/logs/_count", json!(null)).await["count"].clone();
    backend.step_clock(Duration::from_secs(5));
    backend.step(Duration::from_secs(9));
    assert_eq!(count().await, 3);
    assert_eq!(times(&backend, "short").await.1, json!(0));
    ask(
        &backend,
        "PUT",
        "/logs/_settings",
        json!({"index.ttl.disable_purge": true}),
    )
    .await;
    backend.step(Duration::from_secs(1));
    assert_eq!(count().await, 3);
    ask(
        &backend,
        "PUT",
        "/logs/_settings",
        json!({"index.ttl.disable_purge": false}),
    )
    .await;
    backend.step(Duration::from_secs(10));
    count().await;
    ask(&backend, "POST", "/logs/_refresh", json!(null)).await;
    let mut left = backend.ids("/logs/_search", &json!({})).await;
    left.sort();
    assert_eq!(left, ["again", "long"]);
}

#[rstest]
#[case(
    "PUT",
    "/logs/line/1?timestamp=noon",
    500,
    "TimestampParsingException[failed to parse timestamp [noon]]"
)]
#[case(
    "PUT",
    "/logs/line/1?ttl=0",
    400,
    "ElasticsearchIllegalArgumentException[TTL value must be > 0. Illegal value provided [0]]"
)]
#[case(
    "PUT",
    "/logs/line/1?ttl=soon",
    400,
    "ElasticsearchParseException[Failed to parse [soon]]; nested: NumberFormatException[For input string: \"soon\"]; "
)]
#[case(
    "PUT",
    "/logs/line/1?timestamp=1435319000000&ttl=1000000",
    400,
    "MapperParsingException[failed to parse [_ttl]]; nested: AlreadyExpiredException[already expired [logs]/[line]/[1] \
     due to expire at [1435320000000] and was processed at [1435320000000]]; "
)]
#[tokio::test]
async fn invalid_times_are_rejected(#[case] method: &str, #[case] uri: &str, #[case] status: u16, #[case] error: &str) {
    let backend = Backend::new();
    make_index(&backend).await;
    let answer = backend.send(method, uri, "{\"a\":1}").await;
    assert_eq!((answer.status, &answer.body["error"]), (status, &json!(error)));
}

#[rstest]
#[case(
    json!({"_timestamp": {"enabled": true, "path": "at", "format": "yyyy", "ignore_missing": false}}),
    json!({"_timestamp": {"enabled": true, "path": "at", "format": "yyyy", "ignore_missing": false}})
)]
#[case(
    json!({"_timestamp": {"enabled": false, "default": "1970-01-01", "index": "no"}}),
    json!({"_timestamp": {"enabled": false, "default": "1970-01-01", "index": "no"}})
)]
#[case(json!({"_ttl": {"enabled": true, "default": "5m"}}), json!({"_ttl": {"enabled": true, "default": 300_000}}))]
#[case(json!({"_timestamp": {"default": "now"}, "_ttl": {}}), json!({}))]
#[tokio::test]
async fn a_mapping_has_only_non_default_settings(#[case] given: Value, #[case] shown: Value) {
    let backend = Backend::new();
    ask(&backend, "PUT", "/logs", json!({"mappings": {"line": given}})).await;
    let mapping = ask(&backend, "GET", "/logs/_mapping", json!(null)).await;
    let mut expected = shown;
    expected["properties"] = json!({});
    assert_eq!(mapping["logs"]["mappings"]["line"], expected);
}

#[tokio::test]
async fn a_timestamp_can_be_read_from_the_document_and_required() {
    let backend = Backend::new();
    let timestamp = json!({"enabled": true, "store": true, "path": "meta.at", "ignore_missing": false});
    ask(
        &backend,
        "PUT",
        "/logs",
        json!({"mappings": {"line": {"_timestamp": timestamp}}}),
    )
    .await;
    ask(&backend, "PUT", "/logs/line/1", json!({"meta": {"at": "2015-06-26"}})).await;
    assert_eq!(times(&backend, "1").await.0, json!(NOW - 43_200_000));
    let missing = backend.put("/logs/line/2", "{\"a\":1}").await;
    let error = "TimestampParsingException[failed to parse timestamp [timestamp is required by mapping]]";
    assert_eq!((missing.status, &missing.body["error"]), (500, &json!(error)));
}

#[rstest]
#[case(
    json!({"_timestamp": {"enabled": true, "default": "1970-01-01"}}),
    "mapper [_timestamp] has different store values, \
     Cannot update default in _timestamp value. Value is now now encountering 1970-01-01"
)]
#[case(json!({"_timestamp": {"enabled": true, "store": false}}), "mapper [_timestamp] has different store values")]
#[case(
    json!({"_ttl": {"enabled": false}}),
    "mapper [_timestamp] has different store values, _ttl cannot be disabled once it was enabled."
)]
#[tokio::test]
async fn incompatible_changes_of_times_are_rejected(#[case] change: Value, #[case] conflict: &str) {
    let backend = Backend::new();
    make_index(&backend).await;
    let answer = backend.put("/logs/_mapping/line", &change.to_string()).await;
    let error = format!("MergeMappingException[Merge failed with failures {{[{conflict}]}}]");
    assert_eq!((answer.status, &answer.body["error"]), (400, &json!(error)));
}

#[tokio::test]
async fn times_survive_a_restart() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    make_index(&backend).await;
    ask(&backend, "PUT", "/logs/line/flushed?ttl=1h", json!({"a": 1})).await;
    ask(&backend, "POST", "/logs/_flush", json!(null)).await;
    ask(
        &backend,
        "PUT",
        "/logs/line/logged?timestamp=1435319000000&ttl=1h",
        json!({"a": 1}),
    )
    .await;
    let before = (times(&backend, "flushed").await, times(&backend, "logged").await);
    backend.server.close().unwrap();
    drop(backend);
    let backend = Backend::open(directory.path());
    assert_eq!(
        (times(&backend, "flushed").await, times(&backend, "logged").await),
        before
    );
    assert_eq!(before.1, (json!(1_435_319_000_000i64), json!(2_600_000)));
}
