//! Order of term buckets by sub-aggregations.

use crate::support::{Backend, ask, index_of};
use rstest::rstest;
use serde_json::{Value, json};

/// Three tags: `a` with 1 and 9, `b` with 5, `c` without numbers.
async fn tagged() -> Backend {
    let properties =
        json!({"tag": {"type": "string"}, "inner": {"type": "nested", "properties": {"k": {"type": "long"}}}});
    let backend = index_of("i", "t", properties).await;
    for (id, document) in [
        ("1", json!({"tag": "a", "n": 1, "inner": [{"k": 1}, {"k": 2}]})),
        ("2", json!({"tag": "a", "n": 9})),
        ("3", json!({"tag": "b", "n": 5, "inner": [{"k": 3}]})),
        ("4", json!({"tag": "c"})),
    ] {
        ask(&backend, "PUT", &format!("/i/t/{id}?refresh=true"), document).await;
    }
    backend
}

fn by(order: Value) -> Value {
    let below = json!({
        "average": {"avg": {"field": "n"}},
        "numbers": {"stats": {"field": "n"}},
        "shares": {"percentiles": {"field": "n", "percents": [50]}},
        "inside": {"nested": {"path": "inner"}, "aggs": {"most": {"max": {"field": "inner.k"}}}},
        "again": {"terms": {"field": "tag"}},
    });
    json!({"size": 0, "aggs": {"tags": {"terms": {"field": "tag", "order": order}, "aggs": below}}})
}

#[rstest]
#[case(json!({"average": "asc"}), &["a", "b", "c"])]
#[case(json!({"average": "desc"}), &["a", "b", "c"])]
#[case(json!({"numbers.max": "asc"}), &["c", "b", "a"])]
#[case(json!({"numbers.min": "asc"}), &["a", "b", "c"])]
#[case(json!({"numbers.min": "desc"}), &["c", "b", "a"])]
#[case(json!({"numbers.count": "asc"}), &["c", "b", "a"])]
#[case(json!({"shares[50]": "desc"}), &["a", "b", "c"])]
#[case(json!({"inside": "desc"}), &["a", "b", "c"])]
#[case(json!({"inside>most": "asc"}), &["c", "a", "b"])]
#[case(json!({"inside>most.value": "desc"}), &["b", "a", "c"])]
#[tokio::test]
async fn buckets_are_ordered_by_sub_aggregations(#[case] order: Value, #[case] expected: &[&str]) {
    let backend = tagged().await;
    let answer = ask(&backend, "POST", "/i/_search", by(order)).await;
    let buckets = answer["aggregations"]["tags"]["buckets"].as_array().unwrap();
    let keys: Vec<&str> = buckets.iter().map(|bucket| bucket["key"].as_str().unwrap()).collect();
    assert_eq!(keys, expected);
}

#[rstest]
#[case("nope", "Invalid term-aggregator order path [nope]. Unknown aggregation [nope]")]
#[case(
    "numbers",
    "Invalid terms aggregation order path [numbers]. When ordering on a multi-value metrics aggregation a metric name \
     must be specified"
)]
#[case(
    "numbers.mode",
    "Invalid terms aggregation order path [numbers.mode]. Unknown metric name [mode] on multi-value metrics \
     aggregation [numbers]"
)]
#[case(
    "average.max",
    "Invalid terms aggregation order path [average.max]. Ordering on a single-value metrics aggregation can only be \
     done on its value. Either drop the key (a la \"average\") or change it to \"value\" (a la \"average.value\")"
)]
#[case(
    "inside.max",
    "Invalid terms aggregation order path [inside.max]. Ordering on a single-bucket aggregation can only be done on \
     its doc_count. Either drop the key (a la \"inside\") or change it to \"doc_count\" (a la \"inside.doc_count\")"
)]
#[case(
    "again",
    "Invalid terms aggregation order path [again]. Terms buckets can only be sorted on a sub-aggregator path that is \
     built out of zero or more single-bucket aggregations within the path and a final single-bucket or a metrics \
     aggregation at the path end."
)]
#[tokio::test]
async fn invalid_order_paths_are_rejected(#[case] path: &str, #[case] reason: &str) {
    let backend = tagged().await;
    let answer = backend.post("/i/_search", &by(json!({path: "asc"})).to_string()).await;
    let error = answer.body["error"].as_str().unwrap();
    assert_eq!(answer.status, 500, "{error}");
    assert!(
        error.contains(&format!("AggregationExecutionException[{reason}]")),
        "{error}"
    );
}

#[tokio::test]
async fn the_sum_without_values_is_positive_zero() {
    let backend = tagged().await;
    let body = json!({"size": 0, "query": {"term": {"tag": "c"}}, "aggs": {"sum": {"sum": {"field": "n"}}}});
    let answer = backend.post("/i/_search", &body.to_string()).await;
    assert!(answer.text.contains(r#""sum":{"value":0.0}"#), "{}", answer.text);
}
