//! Conversion of values by field types: in documents, queries and results.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask, index_of};

#[rstest]
#[case(json!({"term": {"n": {"value": 2.0}}}), &["2"])]
#[case(json!({"filtered": {"filter": {"term": {"n": 2.7}}}}), &["2"])]
#[case(json!({"terms": {"n": [1.5, 3]}}), &["1", "3"])]
#[case(json!({"range": {"n": {"gt": 1.5}}}), &["2", "3"])]
#[case(json!({"match": {"n": 2.0}}), &["2"])]
#[case(json!({"filtered": {"filter": {"range": {"n": {"lte": 2.9}}}}}), &["1", "2"])]
#[case(json!({"term": {"f": 2.5}}), &["2"])]
#[tokio::test]
async fn a_number_is_truncated_for_an_integer_field(#[case] query: Value, #[case] expected: &[&str]) {
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
    text.expect_error(400, "NumberFormatException[For input string: \"2.0\"]");
}

#[rstest]
#[case(json!({"term": {"t": {"value": 2015}}}), &["2"])]
#[case::read_as_a_text(json!({"term": {"t": 2015}}), &["1"])]
#[case(json!({"term": {"t": "2015"}}), &["1"])]
#[case(json!({"terms": {"t": [2015, "2015"]}}), &["1", "2"])]
#[case(json!({"match": {"t": 2015}}), &["2"])]
#[case(json!({"range": {"t": {"lt": 2016}}}), &["2"])]
#[case(json!({"range": {"t": {"lt": "2016"}}}), &["1", "2"])]
#[case(json!({"range": {"t": {"gt": 2015, "lte": "01/2015", "format": "MM/yyyy"}}}), &["1"])]
#[case(json!({"filtered": {"filter": {"range": {"t": {"gte": 2016}}}}}), &["1"])]
#[case(json!({"filtered": {"filter": {"term": {"t": 1_420_070_400_000_i64}}}}), &["1"])]
#[tokio::test]
async fn a_number_is_in_milliseconds_and_a_string_is_a_date(#[case] query: Value, #[case] expected: &[&str]) {
    let backend = index_of("i", "d", json!({"t": {"type": "date"}})).await;
    ask(&backend, "PUT", "/i/d/1?refresh", json!({"t": "2015"})).await;
    ask(&backend, "PUT", "/i/d/2?refresh", json!({"t": 2015})).await;
    let body = json!({"query": query, "sort": "_uid"});
    assert_eq!(backend.ids("/i/_search", &body).await, expected);
}

#[rstest]
#[case("PUT", "/j", json!({"mappings": {"d": {"properties": {"t": {"type": "date", "format": "yyyy-bb"}}}}}))]
#[case("PUT", "/j", json!({"mappings": {"d": {"_timestamp": {"enabled": true, "format": "yyyy-bb"}}}}))]
#[case("PUT", "/j", json!({"mappings": {"d": {"dynamic_date_formats": ["yyyy-bb"]}}}))]
#[case("POST", "/i/_search", json!({"query": {"range": {"t": {"gte": "2015", "format": "yyyy-bb"}}}}))]
#[case(
    "POST",
    "/i/_search",
    json!({"aggs": {"a": {"date_histogram": {"field": "t", "interval": "1d", "format": "yyyy-bb"}}}})
)]
#[tokio::test]
async fn an_invalid_date_format_is_rejected(#[case] method: &str, #[case] uri: &str, #[case] body: Value) {
    let backend = index_of("i", "d", json!({"t": {"type": "date"}})).await;
    let answer = backend.send_json(method, uri, &body).await;
    answer.expect_error(
        400,
        "nested: IllegalArgumentException[Invalid format: [yyyy-bb]: Illegal pattern component: bb]; nested: \
         IllegalArgumentException[Illegal pattern component: bb]; ",
    );
}

#[rstest]
#[case("n", json!(15), Ok(&["1", "3", "2"][..]))]
#[case("n", json!("x"), Err("x"))]
#[case("n", json!(1.5), Err("1.5"))]
#[case("f", json!(1.5), Ok(&["1", "3", "2"][..]))]
#[case("f", json!("x"), Err("x"))]
#[case("t", json!(15), Ok(&["1", "3", "2"][..]))]
#[case("t", json!("1970"), Ok(&["1", "2", "3"][..]))]
#[case("t", json!("1970-01-01"), Err("1970-01-01"))]
#[tokio::test]
async fn the_missing_value_of_a_sort_must_be_a_number(
    #[case] field: &str,
    #[case] missing: Value,
    #[case] expected: Result<&[&str], &str>,
) {
    let properties = json!({"n": {"type": "byte"}, "f": {"type": "float"}, "t": {"type": "date"}});
    let backend = index_of("i", "d", properties).await;
    ask(&backend, "PUT", "/i/d/1?refresh", json!({"n": 1, "f": 1, "t": 1})).await;
    ask(&backend, "PUT", "/i/d/2?refresh", json!({"n": 100, "f": 100, "t": 100})).await;
    ask(&backend, "PUT", "/i/d/3?refresh", json!({})).await;
    let body = json!({"sort": [{field: {"missing": missing}}]});
    match expected {
        Ok(ids) => assert_eq!(backend.ids("/i/_search", &body).await, ids),
        Err(text) => {
            let reason = format!(
                "Query Failed [Failed to execute main query]]; nested: NumberFormatException[For input string: \
                 \"{text}\"]; "
            );
            let answer = backend.send_json("POST", "/i/_search", &body).await;
            answer.expect_error(500, &reason);
        }
    }
}

#[tokio::test]
async fn numeric_resolution_applies_to_numbers_in_date_fields() {
    let properties = json!({"t": {"type": "date", "numeric_resolution": "seconds"}, "u": {"type": "date"}});
    let backend = index_of("i", "d", properties).await;
    ask(
        &backend,
        "PUT",
        "/i/d/1?refresh",
        json!({"t": 1_420_070_400, "u": 1_420_070_400_000_i64}),
    )
    .await;
    ask(
        &backend,
        "PUT",
        "/i/d/2?refresh",
        json!({"t": "1420070400", "u": "1420070400000"}),
    )
    .await;
    for field in ["t", "u"] {
        let found = ask(&backend, "GET", &format!("/i/_count?q={field}:2015-01-01"), Value::Null).await;
        assert_eq!(found["count"], 2, "{field}");
    }
}

#[tokio::test]
async fn multi_fields_are_returned() {
    let multi_fields = json!({
        "length": {"type": "token_count", "analyzer": "standard", "store": true},
        "raw": {"type": "string", "index": "not_analyzed", "store": true},
        "other": {"type": "string"},
    });
    let backend = index_of("i", "d", json!({"a": {"type": "string", "fields": multi_fields}})).await;
    ask(&backend, "PUT", "/i/d/1?refresh", json!({"a": "x y z"})).await;
    let body = json!({"fields": ["a.length", "a.raw", "a.other"]});
    let found = ask(&backend, "POST", "/i/_search", body).await;
    let fields = json!({"a.length": [3], "a.raw": ["x y z"], "a.other": ["x y z"]});
    assert_eq!(found["hits"]["hits"][0]["fields"], fields);
}

#[tokio::test]
async fn document_numbers_continue_across_segments() {
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
async fn an_unmapped_field_has_no_significant_terms() {
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
        let reason = "Query Failed [Failed to execute main query]]; nested: IllegalStateException[field \"a\" was \
         indexed without position data; cannot run PhraseQuery (term=x)]; ";
        answer.expect_error(500, reason);
    }
}

#[rstest]
#[case(json!({"span_term": {"a": "x"}}), Some("x"))]
#[case(json!({"span_near": {"clauses": [{"span_term": {"a": "z"}}, {"span_term": {"a": "y"}}], "slop": 1}}), Some("y"))]
#[case(json!({"span_multi": {"match": {"prefix": {"a": "x"}}}}), Some("x"))]
#[case(json!({"span_term": {"a": "z"}}), None)]
#[case(json!({"span_term": {"b": "x"}}), None)]
#[tokio::test]
async fn a_span_needs_positions(#[case] query: Value, #[case] failing: Option<&str>) {
    let properties = json!({"a": {"type": "string", "index_options": "freqs"}, "b": {"type": "string"}});
    let backend = index_of("i", "d", properties).await;
    ask(&backend, "PUT", "/i/d/1?refresh", json!({"a": "x y", "b": "x y"})).await;
    let answer = backend.send_json("POST", "/i/_search", &json!({"query": query})).await;
    match failing {
        None => assert_eq!(answer.status, 200, "{}", answer.text),
        Some(term) => {
            let reason = format!(
                "IllegalStateException[field \"a\" was indexed without position data; cannot run SpanTermQuery \
                 (term={term})]; "
            );
            answer.expect_error(500, &reason);
        }
    }
}

#[rstest]
#[case(json!({"type": "string", "index": "not_analyzed"}), true)]
#[case(json!({"type": "string", "index": "not_analyzed", "index_options": "freqs"}), false)]
#[case(json!({"type": "string", "index_options": "docs", "norms": {"enabled": false}}), true)]
#[case(json!({"type": "string", "norms": {"enabled": false}}), false)]
#[tokio::test]
async fn without_frequencies_a_term_counts_once(#[case] field: Value, #[case] once: bool) {
    let backend = index_of("i", "d", json!({"a": field})).await;
    ask(&backend, "PUT", "/i/d/1?refresh", json!({"a": ["x", "x"]})).await;
    ask(&backend, "PUT", "/i/d/2?refresh", json!({"a": "x"})).await;
    let found = ask(&backend, "POST", "/i/_search", json!({"query": {"term": {"a": "x"}}})).await;
    let hits = found["hits"]["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 2, "{found}");
    assert_eq!(hits[0]["_score"] == hits[1]["_score"], once, "{found}");
}

#[tokio::test]
async fn an_analysis_is_of_the_field_before_it_is_of_an_analyzer() {
    let backend = Backend::new();
    let fields = json!({"k": {"type": "string", "index": "not_analyzed"}, "n": {"type": "long"}});
    let index = json!({"mappings": {"d": {"properties": fields}}});
    backend.put("/i", &index.to_string()).await;
    let tokens = async |query: &str| {
        let found = backend.get(&format!("/i/_analyze?{query}")).await;
        found.body["tokens"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(tokens("field=k&analyzer=standard&text=a+b").await, 1);
    assert_eq!(tokens("field=k&tokenizer=whitespace&text=a+b").await, 2);
    assert_eq!(tokens("field=nope&analyzer=standard&text=a+b").await, 2);
    assert_eq!(tokens("text=").await, 0);
    let numeric = backend.get("/i/_analyze?field=n&text=1").await;
    numeric.expect_error(
        400,
        "Can't process field [n], Analysis requests are not supported on numeric fields",
    );
    let nowhere = backend.get("/_analyze?field=k&text=1").await;
    nowhere.expect_error(
        400,
        "No index provided, and trying to analyzer based on a specific field",
    );
}
