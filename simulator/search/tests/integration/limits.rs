//! Limits: expensive requests are rejected with the limit that they exceed.

use rstest::rstest;
use serde_json::{Value, json};
use stuntdouble_search::Limits;

use crate::support::{Backend, TestResponse};

async fn backend(limits: Limits) -> Backend {
    let backend = Backend::with(limits);
    for (id, text) in ["alpha beta gamma", "delta epsilon zeta", "eta theta iota"]
        .iter()
        .enumerate()
    {
        backend
            .put(&format!("/a/t/{id}?refresh=true"), &json!({"log": text}).to_string())
            .await;
    }
    backend
}

fn expect_rejected(answer: &TestResponse, status: u16, reason: &str) {
    let error = answer.body["error"].as_str().unwrap_or("");
    assert_eq!(answer.status, status, "{}", answer.text);
    assert!(error.contains(reason), "{error}");
}

#[tokio::test]
async fn terms_visited_by_patterns_are_counted_per_request() {
    let limits = Limits {
        terms: 200,
        ..Limits::default()
    };
    let backend = backend(limits).await;
    let wildcards = |count: usize| {
        let clauses = (0..count).map(|number| json!({"wildcard": {"log": format!("*{number}ta")}}));
        json!({"query": {"bool": {"should": clauses.collect::<Value>()}}}).to_string()
    };
    assert_eq!(backend.post("/a/_search", &wildcards(1)).await.status, 200);
    let answer = backend.post("/a/_search", &wildcards(100)).await;
    let error = "TooManyClauses[the patterns of one request visit more than 200 terms]";
    assert_eq!((answer.status, &answer.body["error"]), (400, &json!(error)));
}

#[tokio::test]
async fn clauses_are_counted_per_request() {
    let limits = Limits {
        clauses: 10,
        ..Limits::default()
    };
    let backend = backend(limits).await;
    let clauses = |count: usize| -> Value { (0..count).map(|at| json!({"term": {"log": at.to_string()}})).collect() };
    let groups: Value = (0..10).map(|_| json!({"bool": {"should": clauses(10)}})).collect();
    let body = json!({"query": {"bool": {"must": groups}}}).to_string();
    expect_rejected(&backend.post("/a/_search", &body).await, 400, "TooManyClauses");
    expect_rejected(&backend.post("/a/_count", &body).await, 400, "TooManyClauses");
    let small = json!({"query": {"bool": {"should": clauses(10)}}}).to_string();
    assert_eq!(backend.post("/a/_search", &small).await.status, 200);
}

#[tokio::test]
async fn source_patterns_and_aggregations_are_counted() {
    let limits = Limits {
        elements: 50,
        ..Limits::default()
    };
    let backend = backend(limits).await;
    let patterns: Vec<String> = (0..51).map(|number| format!("*{number}*")).collect();
    let body = json!({"_source": {"include": patterns}}).to_string();
    expect_rejected(&backend.post("/a/_search", &body).await, 400, "source patterns");
    let aggregations: serde_json::Map<String, Value> = (0..26)
        .map(|number| {
            let inner = json!({"max": {"field": "n"}});
            (
                number.to_string(),
                json!({"terms": {"field": "log"}, "aggs": {"m": inner}}),
            )
        })
        .collect();
    let body = json!({"aggs": aggregations}).to_string();
    expect_rejected(&backend.post("/a/_search", &body).await, 400, "aggregations");
    // The elements of all searches of a multi-search count together.
    let patterns: Vec<&str> = patterns.iter().take(30).map(String::as_str).collect();
    let line = format!("{{\"index\":\"a\"}}\n{}\n", json!({"_source": patterns}));
    let both = backend.post("/_msearch", &line.repeat(2)).await.body;
    assert_eq!(both["responses"][0]["hits"]["total"], 3);
    assert!(
        both["responses"][1]["error"]
            .as_str()
            .unwrap()
            .contains("source patterns")
    );
}

#[tokio::test]
async fn a_document_with_too_many_fields_adds_no_mapping() {
    let limits = Limits {
        fields: 20,
        ..Limits::default()
    };
    let backend = backend(limits).await;
    let document: serde_json::Map<String, Value> =
        (0..30).map(|number| (format!("f{number}"), json!(number))).collect();
    let answer = backend.put("/a/t/many", &Value::Object(document).to_string()).await;
    expect_rejected(&answer, 400, "Limit of total fields [20] in index has been exceeded");
    let mapping = backend.get("/a/_mapping").await.body;
    let properties = mapping["a"]["mappings"]["t"]["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["log"]);
}

#[tokio::test]
async fn the_length_of_analyzed_text_is_limited() {
    let limits = Limits {
        text: 100,
        ..Limits::default()
    };
    let backend = backend(limits).await;
    let long = "word ".repeat(21);
    expect_rejected(&backend.post("/_analyze", &long).await, 400, "longer than 100 bytes");
    let body = json!({"query": {"match": {"log": long}}}).to_string();
    expect_rejected(&backend.post("/a/_search", &body).await, 400, "longer than 100 bytes");
}

#[tokio::test]
async fn buckets_of_all_aggregations_count_together() {
    let limits = Limits {
        buckets: 15,
        ..Limits::default()
    };
    let backend = backend(limits).await;
    let terms = json!({"terms": {"field": "log", "size": 0}});
    let one = json!({"aggs": {"a": terms}}).to_string();
    assert_eq!(backend.post("/a/_search", &one).await.status, 200);
    let two = json!({"aggs": {"a": terms, "b": terms}}).to_string();
    expect_rejected(&backend.post("/a/_search", &two).await, 400, "more than 15 buckets");
}

#[tokio::test]
async fn the_buffered_hits_of_all_scrolls_are_limited() {
    let limits = Limits {
        scroll_hits: 5,
        ..Limits::default()
    };
    let backend = backend(limits).await;
    let first = backend.get("/a/_search?scroll=1m&size=1").await;
    assert_eq!(first.status, 200, "{}", first.text);
    expect_rejected(
        &backend.get("/a/_search?scroll=1m&size=1").await,
        429,
        "the open scrolls would buffer more than 5 hits",
    );
    let id = first.body["_scroll_id"].as_str().unwrap();
    assert_eq!(backend.send("DELETE", "/_search/scroll", id).await.status, 200);
    assert_eq!(backend.get("/a/_search?scroll=1m&size=1").await.status, 200);
}

#[tokio::test]
async fn a_search_ends_at_its_deadline() {
    let limits = Limits {
        time: std::time::Duration::ZERO,
        ..Limits::default()
    };
    let backend = Backend::with(limits);
    let answer = backend.post("/_search", "{}").await;
    expect_rejected(&answer, 503, "the request took longer than 0 ms");
}

#[tokio::test]
async fn the_total_size_of_pending_bodies_is_limited() {
    let limits = Limits {
        uploads: 64 << 10,
        ..Limits::default()
    };
    let backend = backend(limits).await;
    let long = json!({"log": "x".repeat(70 << 10)}).to_string();
    expect_rejected(
        &backend.put("/a/t/long", &long).await,
        429,
        "bodies of pending requests",
    );
    assert_eq!(backend.put("/a/t/short", "{}").await.status, 201);
}

#[rstest]
#[case("size=2")]
#[case("size=2&sort=n:desc")]
#[case("size=2&search_type=scan")]
#[case("size=9")]
#[tokio::test]
async fn a_scroll_returns_more_hits_than_it_buffers(#[case] search: &str) {
    let limits = Limits {
        window: 3,
        ..Limits::default()
    };
    let backend = Backend::with(limits);
    for id in 0..8 {
        let document = json!({"n": id % 3}).to_string();
        backend.put(&format!("/a/t/{id}?refresh=true"), &document).await;
    }
    backend.send("DELETE", "/a/t/5?refresh=true", "").await;
    let mut answer = backend.get(&format!("/a/_search?scroll=1m&{search}")).await;
    assert_eq!(answer.body["hits"]["total"], 7, "{}", answer.text);
    let mut found = Vec::new();
    for _ in 0..8 {
        let hits = answer.body["hits"]["hits"].as_array().unwrap();
        found.extend(hits.iter().map(|hit| hit["_id"].as_str().unwrap().to_owned()));
        let id = answer.body["_scroll_id"].as_str().unwrap().to_owned();
        answer = backend.post("/_search/scroll?scroll=1m", &id).await;
    }
    found.sort();
    assert_eq!(found, ["0", "1", "2", "3", "4", "6", "7"]);
}
