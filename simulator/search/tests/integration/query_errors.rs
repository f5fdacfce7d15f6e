//! Errors of invalid queries and filters.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask, index_of};

async fn town() -> Backend {
    let backend = Backend::new();
    let properties = json!({
        "rank": {"type": "long"}, "name": {"type": "string"}, "at": {"type": "geo_point"},
        "staff": {"type": "nested", "properties": {"name": {"type": "string"}}},
    });
    let mappings = json!({"shop": {"properties": properties}, "visit": {"_parent": {"type": "shop"}}});
    ask(&backend, "PUT", "/town", json!({"mappings": mappings})).await;
    let shop = json!({"rank": 3, "name": "tea", "at": {"lat": 1, "lon": 2}});
    ask(&backend, "PUT", "/town/shop/1?refresh", shop).await;
    backend
}

const QUERY: &str = "QueryParsingException[[town] ";

#[rstest]
#[case(json!({"range": {}}), QUERY, "[range] query malformed, no field to indicate field name")]
#[case(json!({"range": {"rank": 5}}), QUERY, "[range] query malformed, after field missing start object")]
#[case(json!({"bool": {"nope": []}}), QUERY, "bool query does not support [nope]")]
#[case(json!({"bool": {"nope": {}}}), QUERY, "[bool] query does not support [nope]")]
#[case(json!({"bool": {"must": 1}}), QUERY, "[bool] query does not support [must]")]
#[case(
    json!({"match": {"name": ["tea"]}}),
    QUERY,
    "[match] query parsed in simplified form, with direct field name, but included more options than just the field \
     name, possibly use its 'options' form, with 'query' element?"
)]
#[case(json!({"function_score": {"boost_mode": "odd"}}), QUERY, "function_score illegal boost_mode [odd]")]
#[case(json!({"function_score": {"score_mode": "odd"}}), QUERY, "function_score illegal score_mode [odd]")]
#[case(
    json!({"function_score": {"field_value_factor": {"field": "rank", "modifier": "odd"}}}),
    "IllegalArgumentException[",
    "No enum constant org.elasticsearch.common.lucene.search.function.FieldValueFactorFunction.Modifier.ODD"
)]
#[case(
    json!({"nested": {"path": "staff", "query": {"match_all": {}}, "score_mode": "odd"}}),
    QUERY,
    "illegal score_mode for nested query [odd]"
)]
#[case(
    json!({"has_child": {"type": "visit", "query": {"match_all": {}}, "score_mode": "odd"}}),
    "ElasticsearchIllegalArgumentException[",
    "No score type for child query [odd] found"
)]
#[case(
    json!({"match": {"name": {"query": "tea", "slop": "few"}}}),
    "NumberFormatException[",
    "For input string: \"few\""
)]
#[case(
    json!({"bool": {"must": {"match_all": {}}, "boost": "much"}}),
    "NumberFormatException[",
    "For input string: \"much\""
)]
#[tokio::test]
async fn invalid_queries_are_rejected(#[case] query: Value, #[case] kind: &str, #[case] reason: &str) {
    expect_rejected(query, kind, reason).await;
}

#[rstest]
#[case(json!({"range": {}}), QUERY, "[range] filter no field specified for range filter")]
#[case(json!({"range": {"rank": {"nope": 1}}}), QUERY, "[range] filter does not support [nope]")]
#[case(json!({"and": {}}), QUERY, "[and] filter requires 'filters' to be set on it'")]
#[case(json!({"not": {}}), QUERY, "filter is required when using `not` filter")]
#[case(json!({"bool": {}}), QUERY, "[bool] filter has no inner should/must/must_not elements")]
#[case(json!({"bool": {"nope": []}}), QUERY, "[bool] filter does not support [nope]")]
#[case(json!({"type": {}}), QUERY, "[type] filter should have a value field, and the type name")]
#[case(json!({"term": {}}), QUERY, "No field specified for term filter")]
#[case(json!({"terms": {}}), QUERY, "terms filter requires a field name, followed by array of terms")]
#[case(json!({"limit": {}}), QUERY, "No value specified for limit filter")]
#[case(json!({"prefix": {}}), QUERY, "No value specified for prefix filter")]
#[case(json!({"fquery": {}}), QUERY, "[fquery] requires 'query' element")]
#[case(json!({"geo_polygon": {"at": {}}}), QUERY, "no points defined for geo_polygon filter")]
#[case(
    json!({"geo_polygon": {"at": {"points": ["1,2", "3,4", "1,2"]}}}),
    QUERY,
    "too few points defined for geo_polygon filter"
)]
#[case(
    json!({"geo_bounding_box": {"at": {"middle": "1,2"}}}),
    "ElasticsearchParseException[",
    "Unexpected field [middle]"
)]
#[case(
    json!({"geo_distance": {"at": "1,2", "distance": "1parsec"}}),
    "NumberFormatException[",
    "For input string: \"1parsec\""
)]
#[tokio::test]
async fn invalid_filters_are_rejected(#[case] filter: Value, #[case] kind: &str, #[case] reason: &str) {
    expect_rejected(json!({"filtered": {"filter": filter}}), kind, reason).await;
}

/// Asserts that a query is rejected for a reason.
async fn expect_rejected(query: Value, kind: &str, reason: &str) {
    let backend = town().await;
    let answer = backend
        .post("/town/_search", &json!({"query": query}).to_string())
        .await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    let error = answer.body["error"].as_str().unwrap();
    assert!(error.contains(&format!("nested: {kind}{reason}]; }}")), "{error}");
}

#[rstest]
#[case(json!({"and": {"filters": []}}), 1)]
#[case(json!({"or": {"filters": []}}), 1)]
#[case(json!({"or": [{"term": {"rank": 4}}]}), 0)]
#[case(json!({"query": {"match": {"name": {"query": "tea", "boost": "2"}}}}), 1)]
#[case(json!({"query": {"term": {"boost": "much"}}}), 0)]
#[case(json!({"geo_bounding_box": {"at": {"top_right": [3, 2], "bottom_left": [1, 0]}}}), 1)]
#[case(json!({"geo_bounding_box": {"at": {"top_right": [1, 2], "bottom_left": [0, 0]}}}), 0)]
#[tokio::test]
async fn empty_lists_of_filters_and_boxes_with_any_corners_match(#[case] filter: Value, #[case] total: u64) {
    let backend = town().await;
    let body = json!({"query": {"filtered": {"filter": filter}}});
    let found = ask(&backend, "POST", "/town/_search", body).await;
    assert_eq!(found["hits"]["total"], total, "{found}");
}

#[rstest]
#[case(
    json!({"bool": {"must": [], "minimum_should_match": 1}}),
    "[bool] filter does not support [minimum_should_match]"
)]
#[case(json!({"and": {"filters": [], "boost": 2}}), "[and] filter does not support [boost]")]
#[case(json!({"not": {"filter": {"match_all": {}}, "x": 1}}), "[not] filter does not support [x]")]
#[case(json!({"exists": {"field": "tag", "x": 1}}), "[exists] filter does not support [x]")]
#[case(
    json!({"missing": {"field": "tag", "existence": false}}),
    "missing must have either existence, or null_value, or both set to true"
)]
#[case(json!({"limit": {"value": 1, "x": 1}}), "[limit] filter does not support [x]")]
#[case(json!({"ids": {"type": "d"}}), "[ids] filter requires providing a values element")]
#[case(json!({"term": {"tag": {"value": "a", "boost": 2}}}), "[term] filter does not support [boost]")]
#[case(json!({"term": {"tag": null}}), "No field specified for term filter")]
#[case(json!({"terms": {"tag": ["a", null]}}), "No value specified for terms filter")]
#[case(json!({"terms": {"tag": ["a"], "n": [1]}}), "[terms] filter does not support multiple fields")]
#[case(json!({"terms": {"tag": ["a"], "execution": "x"}}), "terms filter execution value [x] not supported")]
#[case(
    json!({"terms": {"tag": {"type": "d", "path": "tag"}}}),
    "[terms] filter lookup element requires specifying the id"
)]
#[case(
    json!({"terms": {"tag": {"type": "d", "id": "1", "path": "tag", "x": 1}}}),
    "[terms] filter does not support [x] within lookup element"
)]
#[case(json!({"range": {"n": {"gte": 1}, "execution": "x"}}), "[range] filter doesn't support [x] execution")]
#[case(
    json!({"range": {"tag": {"gte": "a"}, "execution": "fielddata"}}),
    "[range] filter field [tag] is not a numeric type"
)]
#[case(json!({"geo_distance": {"distance": "1km", "tag": "1,2"}}), "field [tag] is not a geo_point field")]
#[tokio::test]
async fn unknown_settings_of_filters_are_rejected(#[case] filter: Value, #[case] reason: &str) {
    let backend = index_of("i", "d", json!({"tag": {"type": "string"}, "n": {"type": "long"}})).await;
    let body = json!({"query": {"filtered": {"filter": filter}}}).to_string();
    let answer = backend.post("/i/_search", &body).await;
    answer.expect_error(400, &format!("QueryParsingException[[i] {reason}]"));
}

#[rstest]
#[case(json!({"field": "tag"}), &["2", "3"])]
#[case(json!({"field": "tag", "existence": false, "null_value": true}), &["1"])]
#[case(json!({"field": "tag", "null_value": true}), &["1", "2", "3"])]
#[tokio::test]
async fn a_field_is_missing_without_a_value_or_with_its_null_value(#[case] missing: Value, #[case] expected: &[&str]) {
    let tag = json!({"type": "string", "index": "not_analyzed", "null_value": "none"});
    let backend = index_of("i", "d", json!({"tag": tag, "n": {"type": "long"}})).await;
    for (id, body) in [
        ("1", r#"{"tag": null}"#),
        ("2", "{}"),
        ("3", r#"{"n": 1}"#),
        ("4", r#"{"tag": "a"}"#),
    ] {
        backend.put(&format!("/i/d/{id}?refresh"), body).await;
    }
    let query = json!({"query": {"filtered": {"filter": {"missing": missing}}}, "sort": "_uid"});
    let mut found = backend.ids("/i/_search", &query).await;
    found.sort();
    assert_eq!(found, expected);
}
