//! Errors of invalid parameters and of documents that do not fit a request.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask};

async fn town() -> Backend {
    let backend = Backend::new();
    ask(
        &backend,
        "PUT",
        "/town/shop/1?refresh",
        json!({"name": "green tea", "rank": 3}),
    )
    .await;
    backend
}

const ILLEGAL: &str = "ElasticsearchIllegalArgumentException";
const INVALID: &str = "ActionRequestValidationException[Validation Failed: 1: ";

#[rstest]
#[case(
    "GET",
    "/town/_search?expand_wildcards=odd",
    json!(null),
    400,
    ILLEGAL,
    "[No valid expand wildcard value [odd]]"
)]
#[case("GET", "/town/_search?terminate_after=-1", json!(null), 400, ILLEGAL, "[terminateAfter must be > 0]")]
#[case(
    "POST",
    "/town/_optimize?max_num_segments=few",
    json!(null),
    400,
    ILLEGAL,
    "[Failed to parse int parameter [max_num_segments] with value [few]]; nested: NumberFormatException[For input \
     string: \"few\"]; "
)]
#[case(
    "GET",
    "/town/shop/9/_mlt",
    json!(null),
    404,
    "DocumentMissingException",
    "[[_na][_na] [shop][9]: document missing]"
)]
#[case(
    "GET",
    "/town/shop/1/_mlt?mlt_fields=colour",
    json!(null),
    500,
    "ElasticsearchException",
    "[No fields found to fetch the 'likeText' from]"
)]
#[case(
    "POST",
    "/_mtermvectors",
    json!({"docs": [{"_index": "town", "_id": "1"}]}),
    400,
    INVALID,
    "type is missing;2: at multi term vectors for doc 0;]"
)]
#[case("POST", "/town/shop/1/_update", json!({"upsert": {"rank": 4}}), 400, INVALID, "script or doc is missing;]")]
#[case(
    "PUT",
    "/town/_alias/a",
    json!({"routing": "1,2"}),
    400,
    ILLEGAL,
    "[alias [a] has several index routing values associated with it]"
)]
#[case(
    "PUT",
    "/fresh",
    json!({"aliases": {"a": {"filter": {"odd": {}}}}}),
    400,
    ILLEGAL,
    "[failed to parse filter for alias [a]]; nested: QueryParsingException[[fresh] No filter registered for [odd]]; "
)]
#[case(
    "PUT",
    "/town/_settings",
    json!({"number_of_replicas": "few"}),
    400,
    ILLEGAL,
    "[can't process the settings: [[index.number_of_replicas] - cannot parse value [few] as an integer]]"
)]
#[case(
    "PUT",
    "/town/_settings",
    json!({"number_of_replicas": -1}),
    400,
    ILLEGAL,
    "[can't process the settings: [[index.number_of_replicas] - the value of the setting index.number_of_replicas must \
     be a non negative integer]]"
)]
#[case(
    "PUT",
    "/town/_settings",
    json!({"index.refresh_interval": "5x"}),
    400,
    ILLEGAL,
    "[can't process the settings: [[index.refresh_interval] - cannot parse value [5x] as time]]"
)]
#[case(
    "GET",
    "/_analyze?text=a&tokenizer=odd",
    json!(null),
    400,
    ILLEGAL,
    "[failed to find global tokenizer under [odd]]"
)]
#[case(
    "GET",
    "/town/_analyze?text=a&tokenizer=standard&char_filters=odd",
    json!(null),
    400,
    ILLEGAL,
    "[failed to find token char under [odd]]"
)]
#[tokio::test]
async fn invalid_requests_are_rejected(
    #[case] method: &str,
    #[case] uri: &str,
    #[case] body: Value,
    #[case] status: u16,
    #[case] kind: &str,
    #[case] reason: &str,
) {
    let backend = town().await;
    let answer = backend.send_json(method, uri, &body).await;
    assert_eq!(
        (answer.status, &answer.body["error"]),
        (status, &json!(format!("{kind}{reason}")))
    );
}

#[rstest]
#[case(
    json!({"histogram": {"field": "rank", "interval": 1, "extended_bounds": {"min": 5, "max": 1}}}),
    400,
    "Parse Failure [[extended_bounds.min][5] cannot be greater than [extended_bounds.max][1] for histogram aggregation \
     [a]]]"
)]
#[case(json!({"histogram": {"field": "name", "interval": 1}}), 500, "ClassCastException[")]
#[tokio::test]
async fn a_histogram_needs_numbers_and_bounds_in_order(
    #[case] histogram: Value,
    #[case] status: u16,
    #[case] reason: &str,
) {
    let backend = town().await;
    let body = json!({"size": 0, "aggs": {"a": histogram}});
    let answer = backend.post("/town/_search", &body.to_string()).await;
    answer.expect_error(status, reason);
}

#[tokio::test]
async fn documents_similar_to_another_one_match() {
    let backend = town().await;
    ask(&backend, "PUT", "/town/shop/2?refresh", json!({"name": "black tea"})).await;
    let found = ask(
        &backend,
        "GET",
        "/town/shop/1/_mlt?min_doc_freq=1&min_term_freq=1",
        Value::Null,
    )
    .await;
    assert_eq!(found["hits"]["hits"][0]["_id"], "2", "{found}");
    assert_eq!(found["hits"]["total"], 1);
}

#[rstest]
#[case(
    "POST",
    "/_mget",
    "{\"docs\":[}",
    500,
    "JsonParseException[Unexpected close marker '}': expected ']'"
)]
#[case(
    "PUT",
    "/_template/t",
    "{\"template\":]",
    400,
    "ElasticsearchIllegalArgumentException[failed to parse template source]; nested: JsonParseException["
)]
#[case(
    "PUT",
    "/_template/t",
    "{\"template\":\"t\",\"order\":\"x\"}",
    500,
    "NumberFormatException[For input string: \"x\"]"
)]
#[case(
    "POST",
    "/i/d/1/_explain",
    "{\"query\":}",
    400,
    "QueryParsingException[[i] Failed to parse]; nested: JsonParseException["
)]
#[tokio::test]
async fn a_body_of_invalid_json_is_an_error_of_its_reader(
    #[case] method: &str,
    #[case] uri: &str,
    #[case] body: &str,
    #[case] status: u16,
    #[case] reason: &str,
) {
    let backend = Backend::new();
    backend.put("/i/d/1?refresh", "{}").await;
    backend.send(method, uri, body).await.expect_error(status, reason);
}

#[tokio::test]
async fn a_count_with_an_invalid_body_fails_on_its_shards() {
    let backend = Backend::new();
    backend.put("/i/d/1?refresh", "{\"n\":1}").await;
    for (body, reason) in [
        ("{}", "nested: QueryParsingException[[i] Required query is missing]; "),
        (
            "{\"query\":{\"term\":{\"n\":\"x\"}}}",
            "nested: QueryParsingException[[i] Failed to parse]; nested: NumberFormat",
        ),
    ] {
        let found = backend.post("/i/_count", body).await;
        assert_eq!((found.status, &found.body["count"]), (400, &json!(0)), "{}", found.text);
        let shown = found.body["_shards"]["failures"][0]["reason"].as_str().unwrap();
        assert!(shown.contains(reason), "{shown}");
    }
}
