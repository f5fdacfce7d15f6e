//! Unknown or invalid parts of requests: rejected with the status and reason of Elasticsearch 1.5, never ignored.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, logs};

#[rstest]
#[case(
    json!({"match": {"log": {"query": "a", "operator": "xor"}}}),
    "QueryParsingException[[logstash-2015.06.22] text query requires operator to be either 'and' or 'or', not [xor]]"
)]
#[case(
    json!({"match": {"log": {"query": "a", "zero_terms_query": "some"}}}),
    "Unsupported zero_terms_docs value [some]"
)]
#[case(json!({"match": {"log": {"query": "a", "type": "nope"}}}), "[match] query does not support type nope")]
#[case(
    json!({"match": {"log": {"query": "a", "fuzziness": "x"}}}),
    "NumberFormatException[For input string: \\\"x\\\"]"
)]
#[case(
    json!({"match": {"log": {"query": "a b", "minimum_should_match": "x"}}}),
    "NumberFormatException[For input string: \\\"x\\\"]"
)]
#[case(json!({"match": {"log": null}}), "No text specified for text query")]
#[case(json!({"match": {"log": "a", "level": "b"}}), "query parsed in simplified form")]
#[case(json!({"multi_match": {"query": "a", "fields": []}}), "No fields specified for multi_match query")]
#[case(
    json!({"multi_match": {"query": "a", "fields": "log", "type": "nope"}}),
    "ElasticsearchParseException[No type found for value: nope]"
)]
#[case(json!({"filtered": {"filter": {"term": {"log": null}}}}), "No field specified for term filter")]
#[case(json!({"filtered": {"filter": {"range": {"size": 3}}}}), "[range] filter does not support [size]")]
#[case(
    json!({"filtered": {"filter": {"range": {"size": {"gte": 3, "boost": 2}}}}}),
    "[range] filter does not support [boost]"
)]
#[case(json!({"filtered": {"filter": {"limit": {"value": "x"}}}}), "NumberFormatException")]
#[case(json!({"term": {"log": {"value": null}}}), "No value specified for term query")]
#[case(json!({"terms": {"log": ["a", null]}}), "No value specified for terms query")]
#[case(json!({"terms": {"log": ["a"], "frob": 1}}), "[terms] query does not support [frob]")]
#[case(
    json!({"prefix": {"log": {"value": "a", "rewrite": "nope"}}}),
    "ElasticsearchIllegalArgumentException[Failed to parse rewrite_method [nope]]"
)]
#[case(json!({"regexp": {"log": {"value": "a", "flags": "NOPE"}}}), "Unknown regexp flag [NOPE]")]
#[case(json!({"fuzzy": {"log": {"value": "a", "fuzziness": "x"}}}), "NumberFormatException")]
#[case(json!({"bool": {"must": {"match_all": {}}, "minimum_should_match": "x"}}), "NumberFormatException")]
#[case(
    json!({"range": {"size": {"gte": 1, "time_zone": "+01:00"}}}),
    "[range] time_zone can not be applied to non date field [size]"
)]
#[case(
    json!({"range": {"@timestamp": {"gte": 1, "time_zone": "+01:00"}}}),
    "[range] time_zone when using ms since epoch format as it's UTC based can not be applied to [@timestamp]"
)]
#[tokio::test]
async fn invalid_settings_of_queries_are_rejected(#[case] query: Value, #[case] reason: &str) {
    expect_rejected(&json!({"query": query}), 400, reason).await;
}

#[rstest]
#[case(json!({"a[b": {"terms": {"field": "level"}}}), 400, "Invalid aggregation name [a[b]")]
#[case(json!([]), 400, "Unexpected token END_ARRAY in [aggs]")]
#[case(json!({"a": {"terms": "x"}}), 400, "Expected [START_OBJECT] under [terms], but got a [VALUE_STRING] in [a]")]
#[case(
    json!({"a": {"terms": {"field": "level", "order": {"_count": "up"}}}}),
    400,
    "Unknown terms order direction [up] in terms aggregation [a]"
)]
#[case(json!({"a": {"terms": {"field": "level", "size": -1}}}), 400, "[requiredSize] and [minDocCount] must be >=0")]
#[case(
    json!({"a": {"terms": {"field": "level", "collect_mode": "nope"}}}),
    400,
    "No collect_mode found for value [nope]"
)]
#[case(json!({"a": {"terms": {"field": "level", "execution_hint": "nope"}}}), 400, "Unknown `execution_hint`: [nope]")]
#[case(
    json!({"a": {"terms": {"field": "size", "include": "1.*"}}}),
    500,
    "cannot support regular expression style include/exclude settings"
)]
#[case(json!({"a": {"range": {"field": "size"}}}), 400, "Missing [ranges] in ranges aggregator [a]")]
#[case(json!({"a": {"percentile_ranks": {"field": "size"}}}), 400, "Missing token values in [a].")]
#[case(json!({"a": {"avg": {"field": "size", "frob": 1}}}), 400, "Unexpected token VALUE_NUMBER in [a].")]
#[case(json!({"a": {"value_count": {"field": "size", "format": "0"}}}), 400, "Unexpected token VALUE_STRING in [a].")]
#[case(
    json!({"a": {"range": {"field": "size", "ranges": [], "keyed": "true"}}}),
    400,
    "Unexpected token VALUE_STRING in [a]."
)]
#[case(
    json!({"a": {"percentiles": {"field": "size", "percents": 50}}}),
    400,
    "Unknown key for a VALUE_NUMBER in [a]: [percents]."
)]
#[case(
    json!({"a": {"date_histogram": {"field": "@timestamp", "interval": 5}}}),
    400,
    "Unknown key for a VALUE_NUMBER in [a]: [interval]."
)]
#[case(
    json!({"a": {"histogram": {"field": "size", "interval": [5]}}}),
    400,
    "Unexpected token START_ARRAY in aggregation [a]."
)]
#[case(
    json!({"a": {"histogram": {"field": "size", "interval": 5, "order": {"_key": "up"}}}}),
    400,
    "Unknown order direction [up] in aggregation [a]. Should be either [asc] or [desc]"
)]
#[case(
    json!({"a": {"extended_stats": {"field": "size", "sigma": -1}}}),
    400,
    "[sigma] must not be negative. Value provided was-1.0"
)]
#[case(
    json!({"a": {"filters": {"filters": {}, "keyed": true}}}),
    400,
    "Unknown key for a VALUE_BOOLEAN in [a]: [keyed]."
)]
#[case(
    json!({"a": {"date_histogram": {"field": "@timestamp", "interval": "1d", "format": "nope"}}}),
    400,
    "nested: IllegalArgumentException[Invalid format: [nope]: Illegal pattern component: n]"
)]
#[case(json!({"a": {"children": {}}}), 400, "Missing [child_type] field for children aggregation [a]")]
#[case(
    json!({"a": {"filter": {"frob": {}}}}),
    400,
    "nested: QueryParsingException[[logstash-2015.06.22] No filter registered for [frob]]"
)]
#[case(
    json!({"a": {"avg": {"field": "size"}, "aggs": {"b": {"avg": {"field": "size"}}}}}),
    400,
    "Aggregator [a] of type [avg] cannot accept sub-aggregations"
)]
#[case(
    json!({"a": {"filter": {"match_all": {}}, "aggs": {"g": {"global": {}}}}}),
    500,
    "cannot have a global sub-aggregation [g]"
)]
#[tokio::test]
async fn invalid_settings_of_aggregations_are_rejected(#[case] aggs: Value, #[case] status: u16, #[case] reason: &str) {
    expect_rejected(&json!({"size": 0, "aggs": aggs}), status, reason).await;
}

#[rstest]
#[case(json!({"min_score": "x"}), "NumberFormatException")]
#[case(json!({"rescore": {"window_size": 5}}), "missing rescore type")]
#[case(
    json!({"rescore": {"query": {"rescore_query": {"match_all": {}}, "score_mode": "nope"}}}),
    "[rescore] illegal score_mode [nope]"
)]
#[case(json!({"sort": [{"size": {"mode": "median"}}]}), "Illegal sort_mode median")]
#[case(
    json!({"sort": [{"_geo_distance": {"place": [1, 2]}}]}),
    "failed to find mapper for [place] for geo distance based sort"
)]
#[tokio::test]
async fn invalid_elements_of_a_body_are_rejected(#[case] body: Value, #[case] reason: &str) {
    expect_rejected(&body, 400, reason).await;
}

async fn expect_rejected(body: &Value, status: u16, reason: &str) {
    let answer = logs()
        .await
        .post("/logstash-2015.06.22/_search", &body.to_string())
        .await;
    assert_eq!(answer.status, status, "{body}: {}", answer.text);
    assert!(answer.text.contains(reason), "{body}: {}", answer.text);
}

#[rstest]
#[case("PUT", "/i/d/1?version_type=nope", "{}", 400, "No version type match [nope]")]
#[case(
    "PUT",
    "/i/d/1?version=-1",
    "{}",
    400,
    "illegal version value [-1] for version type [INTERNAL]"
)]
#[case(
    "PUT",
    "/i/d/1?version_type=external",
    "{}",
    400,
    "illegal version value [-3] for version type [EXTERNAL]"
)]
#[case(
    "PUT",
    "/i/d/1?op_type=nope",
    "{}",
    400,
    "{\"error\":\"opType [nope] not allowed, either [index] or [create] are allowed\"}"
)]
#[case("PUT", "/i/d/1?consistency=nope", "{}", 400, "No write consistency match [nope]")]
#[case("PUT", "/i/d/1?ttl=abc", "{}", 400, "Failed to parse [abc]")]
#[case("POST", "/i/d/1/_update", "nonsense", 500, "NullPointerException")]
#[case("POST", "/_mget", "nonsense", 400, "Failed to derive xcontent")]
#[case("POST", "/_mtermvectors", "{}", 400, "multi term vectors: no documents requested")]
#[case("GET", "/_search?preference=_nope", "", 400, "no Preference for [_nope]")]
#[case("POST", "/_open", "", 400, "index is missing")]
#[case("PUT", "/i/_mapping", "{}", 400, "mapping type is missing")]
#[case("PUT", "/logs/_mapping/d", "nonsense", 500, "NullPointerException")]
#[case(
    "PUT",
    "/n",
    r#"{"settings":{"number_of_shards":"abc"}}"#,
    500,
    "SettingsException[Failed to parse int setting [index.number_of_shards] with value [abc]]"
)]
#[case(
    "PUT",
    "/n",
    r#"{"settings":{"analysis":{"analyzer":{"x":{"tokenizer":"nope"}}}}}"#,
    400,
    "IndexCreationException[[n] failed to create index]; nested: IllegalArgumentException[Custom Analyzer \
     [x] failed to find tokenizer under name [nope]]"
)]
#[case(
    "PUT",
    "/_template/UP",
    r#"{"template":"a*"}"#,
    400,
    "InvalidIndexTemplateException[index_template [UP] invalid, cause [name must be lower cased]]"
)]
#[case(
    "PUT",
    "/_template/t",
    r#"{"template":"a*","order":"abc"}"#,
    500,
    "NumberFormatException"
)]
#[case(
    "PUT",
    "/_template/t",
    r#"{"template":"a*","mappings":[]}"#,
    500,
    "ClassCastException"
)]
#[case(
    "PUT",
    "/logs/_alias/a",
    r#"{"filter":{"frob":{}}}"#,
    400,
    "ElasticsearchIllegalArgumentException[failed to parse filter for alias [a]]; nested: QueryParsingException[[logs] \
     No filter registered for [frob]]"
)]
#[case(
    "POST",
    "/_bulk",
    "{\"index\":{\"_index\":\"logs\",\"_type\":\"d\",\"_version\":\"x\"}}\n{}\n",
    500,
    "NumberFormatException[For input string: \\\"x\\\"]"
)]
#[case(
    "POST",
    "/_bulk",
    "{\"update\":{\"_index\":\"logs\",\"_type\":\"d\",\"_id\":\"1\"}}\n{}\n",
    400,
    "Validation Failed: 1: script or doc is missing;"
)]
#[case("DELETE", "/i*?expand_wildcards=none", "", 200, "\"acknowledged\":true")]
#[case("DELETE", "/logs/_query", r#"{"query":{"frob":{}}}"#, 400, "\"failed\":1")]
#[tokio::test]
async fn invalid_requests_are_rejected(
    #[case] method: &str,
    #[case] uri: &str,
    #[case] body: &str,
    #[case] status: u16,
    #[case] reason: &str,
) {
    let backend = Backend::new();
    assert_eq!(backend.put("/logs/d/1?refresh=true", "{\"a\":1}").await.status, 201);
    let answer = backend.send(method, uri, body).await;
    assert_eq!(answer.status, status, "{}", answer.text);
    assert!(answer.text.contains(reason), "{}", answer.text);
    assert_eq!(backend.get("/logs/d/1").await.status, 200);
}

#[tokio::test]
async fn the_version_type_determines_which_versions_conflict() {
    let backend = Backend::new();
    let put = async |version: &str| backend.put(&format!("/i/d/1?{version}"), "{}").await.status;
    assert_eq!(put("version=5&version_type=external").await, 201);
    assert_eq!(put("version=5&version_type=external_gt").await, 409);
    assert_eq!(put("version=5&version_type=external_gte").await, 200);
    assert_eq!(put("version=4&version_type=external_gte").await, 409);
    assert_eq!(put("version=3&version_type=force").await, 200);
    assert_eq!(backend.get("/i/d/1").await.body["_version"], 3);
}

#[tokio::test]
async fn index_settings_can_reject_documents() {
    let backend = Backend::new();
    backend
        .put("/strict", r#"{"settings":{"index.mapper.dynamic":false}}"#)
        .await;
    let response = backend.put("/strict/d/1", "{}").await;
    assert_eq!(response.status, 404);
    assert!(
        response.text.contains("dynamic mapping is disabled"),
        "{}",
        response.text
    );
    backend.put("/logs/d/1", "{}").await;
    let block = async |on: bool| {
        let body = json!({"index.blocks.read_only": on}).to_string();
        assert_eq!(backend.put("/logs/_settings", &body).await.status, 200);
        backend.put("/logs/d/1", "{}").await
    };
    let blocked = block(true).await;
    assert_eq!(blocked.status, 403);
    assert!(
        blocked
            .text
            .contains("blocked by: [FORBIDDEN/5/index read-only (api)];"),
        "{}",
        blocked.text
    );
    assert_eq!(block(false).await.status, 200);
}

#[tokio::test]
async fn a_bulk_with_an_incomplete_action_changes_nothing() {
    let backend = Backend::new();
    let lines = [
        r#"{"index":{"_index":"logs","_type":"d","_id":"1"}}"#,
        "{}",
        r#"{"delete":{"_index":"logs","_type":"d"}}"#,
        r#"{"index":{"_index":"logs"}}"#,
        "{}",
        "",
    ];
    let answer = backend.post("/_bulk", &lines.join("\n")).await;
    assert_eq!(answer.status, 400);
    let reason = "Validation Failed: 1: id is missing;2: type is missing;";
    assert!(answer.text.contains(reason), "{}", answer.text);
    assert_eq!(backend.send("HEAD", "/logs", "").await.status, 404);
}
