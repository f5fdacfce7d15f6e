//! Edge cases of requests: empty, excessive and invalid values, as in Elasticsearch 1.5.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask};

/// Two documents of one type, and one of another.
async fn backend() -> Backend {
    let backend = Backend::new();
    let mapping = json!({"mappings": {"d": {"properties": {"tag": {"type": "string", "index": "not_analyzed"}}}}});
    ask(&backend, "PUT", "/i", mapping).await;
    for (path, body) in [
        ("/i/d/1", json!({"tag": "a", "n": 3, "x": 1.5, "o": {"p": 1}})),
        ("/i/d/2", json!({"tag": "b", "n": 5})),
        ("/i/e/3?refresh", json!({"tag": "c", "n": 7})),
    ] {
        ask(&backend, "PUT", path, body).await;
    }
    backend
}

#[rstest]
#[case(json!({"field": "tag", "min_doc_count": 0}), json!([["b", 1], ["a", 0], ["c", 0]]))]
#[case(json!({"field": "n", "min_doc_count": 0}), json!([[5, 1], [3, 0], [7, 0]]))]
#[case(json!({"field": "x", "min_doc_count": 0}), json!([[1.5, 0]]))]
#[case(json!({"field": "n", "min_doc_count": 0, "size": 2, "order": {"_term": "asc"}}), json!([[3, 0], [5, 1]]))]
#[case(json!({"field": "tag"}), json!([["b", 1]]))]
#[tokio::test]
async fn a_minimum_count_of_zero_includes_terms_without_matches(#[case] terms: Value, #[case] expected: Value) {
    let backend = backend().await;
    let body = json!({"query": {"term": {"tag": "b"}}, "aggs": {"a": {"terms": terms}}});
    let answer = ask(&backend, "POST", "/i/_search", body).await;
    let buckets = answer["aggregations"]["a"]["buckets"].as_array().unwrap();
    let shown: Value = buckets
        .iter()
        .map(|bucket| json!([bucket["key"], bucket["doc_count"]]))
        .collect();
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn numeric_terms_are_formatted() {
    let backend = backend().await;
    let terms = |field| json!({"terms": {"field": field, "format": "0.00"}});
    let body = json!({"query": {"term": {"tag": "a"}}, "aggs": {"n": terms("n"), "x": terms("x")}});
    let answer = ask(&backend, "POST", "/i/_search", body).await;
    let shown = |name: &str| answer["aggregations"][name]["buckets"][0]["key_as_string"].clone();
    assert_eq!((shown("n"), shown("x")), (json!("3.00"), json!("1.50")));
}

#[rstest]
#[case(
    "GET",
    "/i/_search?search_type=scan",
    json!(null),
    500,
    "Failed to execute phase [init_scan], all shards failed"
)]
#[case(
    "GET",
    "/i/_search?search_type=scan",
    json!(null),
    500,
    "ElasticsearchException[Scroll must be provided when scanning...]"
)]
#[case(
    "GET",
    "/i/d/1?fields=o",
    json!(null),
    400,
    "ElasticsearchIllegalArgumentException[field [o] isn't a leaf field]"
)]
#[case(
    "PUT",
    "/i/_settings",
    json!({}),
    400,
    "ActionRequestValidationException[Validation Failed: 1: no settings to update;]"
)]
#[case(
    "PUT",
    "/_cluster/settings",
    json!({"transient": {}}),
    400,
    "ActionRequestValidationException[Validation Failed: 1: no settings to update;]"
)]
#[case(
    "POST",
    "/i/d/1/_update?version=9&version_type=external",
    json!({"doc": {}}),
    400,
    "version type [EXTERNAL] is not supported by the update API"
)]
#[case(
    "POST",
    "/i/d/1/_update?version=1&retry_on_conflict=2",
    json!({"doc": {}}),
    400,
    "can't provide both retry_on_conflict and a specific version"
)]
#[case(
    "POST",
    "/i/d/1/_update",
    json!({"script": "x"}),
    400,
    "ElasticsearchIllegalArgumentException[failed to execute script]; nested: ScriptException[dynamic scripting for \
     [groovy] disabled]; "
)]
#[case(
    "POST",
    "/i/_search",
    json!({"query": {"more_like_this": {"fields": ["n"], "like_text": "5"}}}),
    400,
    "more_like_this doesn't support binary/numeric fields: [n]"
)]
#[case(
    "POST",
    "/i/_search",
    json!({"query": {"more_like_this": {"fields": [], "like_text": "5"}}}),
    400,
    "[i] more_like_this requires 'fields' to be non-empty"
)]
#[case(
    "POST",
    "/i/_search",
    json!({"query": {"function_score": {"field_value_factor": {"field": "n", "missing": 1}}}}),
    400,
    "field_value_factor query does not support [missing]"
)]
#[case(
    "POST",
    "/i/_search",
    json!({"aggs": {"a": {"nested": {"path": "o"}}}}),
    500,
    "[nested] nested path [o] is not nested"
)]
#[tokio::test]
async fn invalid_requests_are_rejected(
    #[case] method: &str,
    #[case] uri: &str,
    #[case] body: Value,
    #[case] status: u16,
    #[case] reason: &str,
) {
    let backend = backend().await;
    let answer = backend.send_json(method, uri, &body).await;
    answer.expect_error(status, reason);
}

#[tokio::test]
async fn more_like_this_can_skip_numeric_fields() {
    let backend = backend().await;
    let liked = |fields| {
        let query = json!({
            "fields": fields,
            "like_text": "a",
            "min_term_freq": 1,
            "min_doc_freq": 1,
            "fail_on_unsupported_field": false
        });
        json!({"query": {"more_like_this": query}})
    };
    assert_eq!(backend.ids("/i/_search", &liked(json!(["n", "tag"]))).await, ["1"]);
    assert_eq!(backend.ids("/i/_search", &liked(json!(["n"]))).await, [""; 0]);
}

#[tokio::test]
async fn fielddata_has_the_fields_with_values() {
    let backend = backend().await;
    let body = json!({"query": {"ids": {"values": ["2"]}}, "fielddata_fields": ["n", "x", "nope"], "fields": []});
    let answer = ask(&backend, "POST", "/i/_search", body).await;
    assert_eq!(answer["hits"]["hits"][0]["fields"], json!({"n": [5]}));
}

#[tokio::test]
async fn an_update_returns_fields_of_the_new_document() {
    let backend = backend().await;
    let body = json!({"doc": {"list": [1, 2], "n": 4}});
    let answer = ask(&backend, "POST", "/i/d/1/_update?fields=n,list,o.p,nope", body).await;
    assert_eq!(
        answer["get"],
        json!({"found": true, "fields": {"n": [4], "list": [[1, 2]], "o.p": [1]}})
    );
}

#[rstest]
#[case("/i/d/_validate/query", json!({"match_all": {}}), "ConstantScore(cache(_type:d))")]
#[case("/i/d/_validate/query", json!({"term": {"tag": "a"}}), "filtered(tag:a)->cache(_type:d)")]
#[case("/i/d,e/_validate/query", json!({"term": {"tag": "a"}}), "filtered(tag:a)->cache(_type:d _type:e)")]
#[case(
    "/i/_validate/query",
    json!({"filtered": {"query": {"term": {"tag": "a"}}, "filter": {"term": {"tag": "b"}}}}),
    "filtered(tag:a)->cache(tag:b)"
)]
#[case(
    "/i/_validate/query",
    json!({"function_score": {"functions": [{"filter": {"term": {"tag": "b"}}, "weight": 2}]}}),
    "function score (ConstantScore(*:*), functions: [{filter(cache(tag:b)), function \
     [org.elasticsearch.common.lucene.search.function.WeightFactorFunction@1]}])"
)]
#[tokio::test]
async fn a_query_is_explained_with_its_filters(#[case] path: &str, #[case] query: Value, #[case] expected: &str) {
    let backend = backend().await;
    // `rewrite` exists only from version 1.6 on: no effect.
    for parameters in ["explain", "explain&rewrite=true"] {
        let body = json!({"query": query});
        let answer = ask(&backend, "POST", &format!("{path}?{parameters}"), body).await;
        assert_eq!(answer["explanations"][0]["explanation"], expected);
    }
}

#[rstest]
#[case("POST", "/i/_close")]
#[case("DELETE", "/i")]
#[tokio::test]
async fn a_scroll_ends_with_its_last_index(#[case] method: &str, #[case] path: &str) {
    let backend = backend().await;
    ask(&backend, "PUT", "/other/d/1?refresh", json!({"n": 1})).await;
    let scroll = |answer: &Value| answer["_scroll_id"].as_str().unwrap().to_owned();
    let own = scroll(&ask(&backend, "GET", "/i/_search?scroll=1m&size=1", json!(null)).await);
    let both = scroll(&ask(&backend, "GET", "/i,other/_search?scroll=1m&size=1", json!(null)).await);
    ask(&backend, method, path, json!(null)).await;
    if method == "POST" {
        ask(&backend, "POST", "/i/_open", json!(null)).await;
    }
    let next = backend.get(&format!("/_search/scroll?scroll_id={own}")).await;
    next.expect_error(404, "SearchContextMissingException[No search context found for id [1]]");
    let next = backend.get(&format!("/_search/scroll?scroll_id={both}")).await;
    assert_eq!(next.status, 200, "{}", next.text);
    ask(&backend, "DELETE", "/other", json!(null)).await;
    let next = backend.get(&format!("/_search/scroll?scroll_id={both}")).await;
    next.expect_error(404, "SearchContextMissingException[No search context found for id [2]]");
}

#[rstest]
#[case("search_type=query_then_fetch", 1, 1)]
#[case("search_type=scan", 2, 0)]
#[tokio::test]
async fn a_scroll_continues_without_a_deleted_index(#[case] search: &str, #[case] there: usize, #[case] first: usize) {
    let backend = backend().await;
    for id in 1..=2 {
        ask(&backend, "PUT", &format!("/other/d/{id}?refresh"), json!({"n": 1})).await;
    }
    let path = format!("/i,other/_search?scroll=1m&size=1&{search}");
    let answer = ask(&backend, "GET", &path, json!(null)).await;
    assert_eq!(answer["hits"]["hits"].as_array().unwrap().len(), first, "{answer}");
    let total = answer["hits"]["total"].as_u64().unwrap();
    let id = answer["_scroll_id"].as_str().unwrap().to_owned();
    ask(&backend, "DELETE", "/i", json!(null)).await;
    let next = format!("/_search/scroll?scroll_id={id}");
    let mut found = Vec::new();
    for _ in 0..3 {
        let page = ask(&backend, "GET", &next, json!(null)).await;
        assert_eq!(page["hits"]["total"], 2, "of {total}: {page}");
        let reason = "SearchContextMissingException[No search context found for id [1]]";
        let failures = json!([{"status": 404, "reason": reason}]);
        let shards = json!({"total": 2, "successful": 1, "failed": 1, "failures": failures});
        assert_eq!(page["_shards"], shards);
        let hits = page["hits"]["hits"].as_array().unwrap();
        found.extend(hits.iter().map(|hit| hit["_index"].as_str().unwrap().to_owned()));
    }
    assert!(
        found.len() >= there && found.iter().all(|index| index == "other"),
        "{found:?}"
    );
}

#[rstest]
#[case("/i*/_search", 200)]
#[case("/i*/_search?expand_wildcards=closed", 403)]
#[case("/i*/_count?expand_wildcards=open,closed", 403)]
#[case("/i*/_search?expand_wildcards=closed&ignore_unavailable=true", 200)]
#[case("/i*/_mapping?expand_wildcards=closed", 200)]
#[case("/_refresh?expand_wildcards=all", 200)]
#[case("/_stats?expand_wildcards=all", 200)]
#[tokio::test]
async fn a_pattern_can_match_closed_indices(#[case] path: &str, #[case] status: u16) {
    let backend = backend().await;
    ask(&backend, "POST", "/i/_close", json!(null)).await;
    let answer = backend.get(path).await;
    assert_eq!(answer.status, status, "{}", answer.text);
    if status == 403 {
        answer.expect_error(403, "IndexClosedException[[i] closed]");
    }
}

#[rstest]
#[case("/_search?expand_wildcards=closed")]
#[case("/_all/_count?expand_wildcards=all")]
#[tokio::test]
async fn a_search_of_all_indices_is_blocked_by_closed_ones(#[case] path: &str) {
    let backend = backend().await;
    ask(&backend, "POST", "/i/_close", json!(null)).await;
    let answer = backend.get(path).await;
    answer.expect_error(403, "ClusterBlockException[blocked by: [FORBIDDEN/4/index closed];]");
}

#[rstest]
#[case("POST", "/_mget", json!({"docs": ["1"]}), "docs array element should include an object")]
#[case("POST", "/i/d/_mget", json!({"ids": ["1", null]}), "ids array element should only contain ids")]
#[case("POST", "/i/d/_bulk?consistency=x", json!({"index": {}}), "No write consistency match [x]")]
#[case(
    "PUT",
    "/i/d/1?replication=x",
    json!({}),
    "No replication type match for [x], should be either `async`, or `sync`"
)]
#[case("PUT", "/i/_alias", json!({}), "Alias action [add] requires an [alias] to be set")]
#[case(
    "GET",
    "/_cluster/health?wait_for_active_shards=x",
    json!(null),
    "Failed to parse int parameter [wait_for_active_shards] with value [x]"
)]
#[case("GET", "/_cluster/health?timeout=x", json!(null), "ElasticsearchParseException[Failed to parse [x]]")]
#[case(
    "GET",
    "/i/_search?from=-5",
    json!(null),
    "from[-1],size[-1]: Parse Failure [from is set to [-5] and is expected to be higher or equal to 0]"
)]
#[case("GET", "/i/_search?size=-2", json!(null), "size is set to [-2] and is expected to be higher or equal to 0")]
#[case(
    "PUT",
    "/i/_settings?index.frob=1&timeout=1s",
    json!(null),
    "Can't update non dynamic settings[[index.frob]] for open indices[[i]]"
)]
#[case(
    "POST",
    "/i/_search",
    json!({"aggs": {"a": {"terms": {"field": "tag", "min_doc_count": "1"}}}}),
    "Unknown key for a VALUE_STRING in [a]: [min_doc_count]."
)]
#[case(
    "POST",
    "/i/_search",
    json!({"aggs": {"a": {"percentiles": {"field": "n", "keyed": "false"}}}}),
    "Unexpected token VALUE_STRING in [a]."
)]
#[case(
    "POST",
    "/i/_search",
    json!({"aggs": {"a": {"terms": {"field": "tag", "size": "x"}}}}),
    "nested: NumberFormatException[For input string: \"x\"]; "
)]
#[case(
    "POST",
    "/i/_search",
    json!({"aggs": {"a": {"significant_terms": {"field": "tag", "size": "1.5"}}}}),
    "nested: NumberFormatException[For input string: \"1.5\"]; "
)]
#[case(
    "POST",
    "/i/_search",
    json!({"aggs": {"a": {"top_hits": {"frob": 1}}}}),
    "Unknown key for a VALUE_NUMBER in [a]: [frob]."
)]
#[case(
    "POST",
    "/i/_search",
    json!({"aggs": {"a": {"top_hits": {"highlight": true}}}}),
    "Unknown key for a VALUE_BOOLEAN in [a]: [highlight]."
)]
#[case(
    "POST",
    "/i/_search",
    json!({"highlight": {"number_of_fragments": "x", "fields": {"tag": {}}}}),
    "nested: NumberFormatException[For input string: \"x\"]; "
)]
#[case(
    "POST",
    "/i/_search",
    json!({"highlight": {"fields": {"tag": {"fragmentSize": "y"}}}}),
    "nested: NumberFormatException[For input string: \"y\"]; "
)]
#[case(
    "POST",
    "/i/_search",
    json!({"sort": [{"z": {"unmapped_type": "frob"}}]}),
    "nested: ElasticsearchIllegalArgumentException[No mapper found for type [frob]]; "
)]
#[case(
    "POST",
    "/i/_search",
    json!({"sort": [{"n": {"nested_path": "z"}}]}),
    "nested: QueryParsingException[[i] [nested] failed to find nested object under path [z]]; "
)]
#[case(
    "POST",
    "/i/_search",
    json!({"sort": [{"o.p": {"nested_path": "o"}}]}),
    "nested: QueryParsingException[[i] [nested] nested object under path [o] is not of nested type]; "
)]
#[case(
    "PUT",
    "/i/d/1",
    json!({"_id": "2"}),
    "MapperParsingException[failed to parse [_id]]; nested: MapperParsingException[Provided id [1] does not match the \
     content one [2]]; "
)]
#[tokio::test]
async fn values_of_the_wrong_type_are_rejected(
    #[case] method: &str,
    #[case] path: &str,
    #[case] body: Value,
    #[case] reason: &str,
) {
    let backend = backend().await;
    backend.send_json(method, path, &body).await.expect_error(400, reason);
}

#[tokio::test]
async fn the_name_of_an_alias_can_be_in_the_body() {
    let backend = backend().await;
    ask(&backend, "PUT", "/i/_alias", json!({"alias": "named", "routing": "r"})).await;
    let aliases = ask(&backend, "GET", "/i/_alias", json!(null)).await;
    let expected = json!({"named": {"index_routing": "r", "search_routing": "r"}});
    assert_eq!(aliases["i"]["aliases"], expected);
}

#[tokio::test]
async fn percents_can_be_strings() {
    let backend = backend().await;
    let body = json!({"aggs": {"a": {"percentiles": {"field": "n", "percents": ["50"]}}}});
    let answer = ask(&backend, "POST", "/i/_search", body).await;
    assert!(answer["aggregations"]["a"]["values"]["50.0"].is_number(), "{answer}");
}

#[tokio::test]
async fn settings_can_be_parameters() {
    let backend = backend().await;
    let path = "/i/_settings?index.refresh_interval=7s&pretty";
    ask(&backend, "PUT", path, json!({"index": {"number_of_replicas": 0}})).await;
    let settings = ask(&backend, "GET", "/i/_settings?flat_settings=true", json!(null)).await;
    assert_eq!(settings["i"]["settings"]["index.refresh_interval"], "7s");
    assert_eq!(settings["i"]["settings"]["index.number_of_replicas"], "0");
}

#[rstest]
#[case("wait_for_active_shards=1", false)]
#[case("wait_for_active_shards=100", true)]
#[tokio::test]
async fn health_waits_for_active_shards(#[case] parameters: &str, #[case] timed_out: bool) {
    let backend = backend().await;
    let path = format!("/_cluster/health?timeout=1ms&{parameters}");
    assert_eq!(ask(&backend, "GET", &path, json!(null)).await["timed_out"], timed_out);
}

#[tokio::test]
async fn the_name_of_an_index_can_begin_with_an_underscore() {
    let backend = Backend::new();
    for (method, uri) in [
        ("GET", "/_nope/_search"),
        ("GET", "/_nope/_mapping"),
        ("POST", "/_nope/_refresh"),
    ] {
        let answer = backend.send(method, uri, "").await;
        answer.expect_error(404, "IndexMissingException[[_nope] missing]");
    }
}

#[tokio::test]
async fn names_in_bodies_need_no_quotes() {
    let backend = Backend::new();
    backend.put("/i/d/1?refresh", "{a: 1, /* two */ \"b\": {c: 2}}").await;
    let found = backend.post("/i/_search", "{query: {term: {a: 1}}}").await;
    assert_eq!(found.body["hits"]["total"], 1, "{}", found.text);
}

#[tokio::test]
async fn parameters_name_indices_and_types_if_the_path_does_not() {
    let backend = Backend::new();
    for (index, type_name) in [("a", "x"), ("a", "y"), ("b", "x")] {
        backend.put(&format!("/{index}/{type_name}/1?refresh"), "{}").await;
    }
    let total = async |uri: &str| backend.get(uri).await.body["hits"]["total"].clone();
    assert_eq!(total("/_search?index=a").await, 2);
    assert_eq!(total("/_search?index=a&type=x").await, 1);
    assert_eq!(total("/b/_search?index=a").await, 1);
}
