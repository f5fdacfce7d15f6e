//! What fields make of values: of documents, of queries, of what is returned.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use rstest::rstest;
use serde_json::{Value, json};

#[path = "support/mod.rs"]
mod support;
use support::{ask, index_of};

#[rstest]
#[case(json!({"term": {"n": 2.0}}), &["2"])]
#[case(json!({"term": {"n": 2.7}}), &["2"])]
#[case(json!({"terms": {"n": [1.5, 3]}}), &["1", "3"])]
#[case(json!({"range": {"n": {"gt": 1.5}}}), &["2", "3"])]
#[case(json!({"match": {"n": 2.0}}), &["2"])]
#[case(json!({"filtered": {"filter": {"range": {"n": {"lte": 2.9}}}}}), &["1", "2"])]
#[case(json!({"term": {"f": 2.5}}), &["2"])]
#[tokio::test]
async fn a_number_loses_its_fraction_where_the_field_has_none(#[case] query: Value, #[case] expected: &[&str]) {
    let backend = index_of("i", "d", json!({"n": {"type": "long"}, "f": {"type": "double"}})).await;
    for n in 1..=3 {
        let document = json!({"n": n, "f": f64::from(n) + 0.5});
        ask(&backend, "PUT", &format!("/i/d/{n}?refresh"), document).await;
    }
    assert_eq!(
        backend.ids("/i/_search?sort=n", &json!({"query": query})).await,
        expected
    );
    let text = backend.post("/i/_search", r#"{"query": {"term": {"n": "2.0"}}}"#).await;
    text.expect_refusal(400, "NumberFormatException[For input string: \"2.0\"]");
}

#[tokio::test]
async fn a_number_of_a_date_is_of_its_resolution() {
    let properties = json!({"t": {"type": "date", "numeric_resolution": "seconds"}, "u": {"type": "date"}});
    let backend = index_of("i", "d", properties).await;
    ask(
        &backend,
        "PUT",
        "/i/d/1?refresh",
        json!({"t": 1_420_070_400, "u": 1_420_070_400_000_i64}),
    )
    .await;
    for field in ["t", "u"] {
        let found = ask(&backend, "GET", &format!("/i/_count?q={field}:2015-01-01"), Value::Null).await;
        assert_eq!(found["count"], 1, "{field}");
    }
}

#[tokio::test]
async fn stored_forms_of_a_field_are_returned() {
    let forms = json!({
        "length": {"type": "token_count", "analyzer": "standard", "store": true},
        "raw": {"type": "string", "index": "not_analyzed", "store": true},
        "other": {"type": "string"},
    });
    let backend = index_of("i", "d", json!({"a": {"type": "string", "fields": forms}})).await;
    ask(&backend, "PUT", "/i/d/1?refresh", json!({"a": "x y z"})).await;
    let body = json!({"fields": ["a.length", "a.raw", "a.other"]});
    let found = ask(&backend, "POST", "/i/_search", body).await;
    let fields = json!({"a.length": [3], "a.raw": ["x y z"]});
    assert_eq!(found["hits"]["hits"][0]["fields"], fields);
}

#[tokio::test]
async fn documents_are_numbered_through_the_segments_of_a_shard() {
    let backend = index_of("i", "d", json!({"n": {"type": "long"}})).await;
    for n in 0..3 {
        ask(&backend, "PUT", &format!("/i/d/{n}?refresh"), json!({"n": n})).await;
    }
    let found = ask(&backend, "POST", "/i/_search", json!({"sort": ["_doc"]})).await;
    let hits = found["hits"]["hits"].as_array().unwrap();
    let numbers: Vec<&Value> = hits.iter().map(|hit| &hit["sort"][0]).collect();
    assert_eq!(numbers, [0, 1, 2], "{found}");
}

#[tokio::test]
async fn terms_of_no_field_are_not_significant() {
    let backend = index_of("i", "d", json!({"n": {"type": "long"}})).await;
    let body = json!({"aggs": {"a": {"significant_terms": {"field": "z"}}}});
    let found = ask(&backend, "POST", "/i/_search", body).await;
    assert_eq!(found["aggregations"]["a"], json!({"buckets": []}));
}

#[rstest]
#[case("docs", "x y", 500)]
#[case("freqs", "x z", 500)]
#[case("docs", "z x", 200)]
#[case("docs", "x", 200)]
#[case("positions", "x y", 200)]
#[tokio::test]
async fn a_phrase_needs_positions(#[case] options: &str, #[case] phrase: &str, #[case] status: u16) {
    let backend = index_of("i", "d", json!({"a": {"type": "string", "index_options": options}})).await;
    ask(&backend, "PUT", "/i/d/1?refresh", json!({"a": "x y"})).await;
    let body = json!({"query": {"bool": {"should": [{"match_phrase": {"a": phrase}}]}}, "sort": ["_doc"]});
    let answer = backend.send_json("POST", "/i/_search", &body).await;
    assert_eq!(answer.status, status, "{}", answer.text);
    if status == 500 {
        let reason = "Query Failed [Failed to execute main query]]; nested: IllegalStateException[field \"a\" was indexed without position data; cannot run PhraseQuery (term=x)]; ";
        answer.expect_refusal(500, reason);
    }
}

#[rstest]
#[case(json!({"type": "string", "index": "not_analyzed"}), true)]
#[case(json!({"type": "string", "index": "not_analyzed", "index_options": "freqs"}), false)]
#[case(json!({"type": "string", "index_options": "docs", "norms": {"enabled": false}}), true)]
#[case(json!({"type": "string", "norms": {"enabled": false}}), false)]
#[tokio::test]
async fn a_term_counts_once_in_postings_of_documents(#[case] field: Value, #[case] once: bool) {
    let backend = index_of("i", "d", json!({"a": field})).await;
    ask(&backend, "PUT", "/i/d/1?refresh", json!({"a": ["x", "x"]})).await;
    ask(&backend, "PUT", "/i/d/2?refresh", json!({"a": "x"})).await;
    let found = ask(&backend, "POST", "/i/_search", json!({"query": {"term": {"a": "x"}}})).await;
    let hits = found["hits"]["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 2, "{found}");
    assert_eq!(hits[0]["_score"] == hits[1]["_score"], once, "{found}");
}
