//! Documents and mappings: stored sources, rendering of fields, changes of mappings.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Backend, ask, index_of};

#[tokio::test]
async fn the_mapping_filters_the_stored_source() {
    let backend = Backend::new();
    let mapping = json!({"mappings": {
        "none": {"_source": {"enabled": false}, "properties": {"a": {"type": "string", "store": true}}},
        "some": {"_source": {"excludes": ["secret.*"]}},
    }});
    ask(&backend, "PUT", "/x", mapping).await;
    ask(&backend, "PUT", "/x/none/1", json!({"a": "one", "b": 1})).await;
    ask(
        &backend,
        "PUT",
        "/x/some/1?refresh=true",
        json!({"a": "one", "secret": {"b": 1}}),
    )
    .await;
    let found = ask(&backend, "GET", "/x/none/1?fields=a,b", Value::Null).await;
    assert_eq!(
        (&found["fields"], &found["_source"]),
        (&json!({"a": ["one"]}), &Value::Null)
    );
    assert_eq!(backend.get("/x/none/1/_source").await.status, 500);
    assert_eq!(
        ask(&backend, "GET", "/x/some/1", Value::Null).await["_source"],
        json!({"a": "one", "secret": {}})
    );
    let hits = ask(&backend, "GET", "/x/_search?q=a:one&sort=_uid", Value::Null).await;
    let sources: Vec<&Value> = hits["hits"]["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| &hit["_source"])
        .collect();
    assert_eq!(sources, [&Value::Null, &json!({"a": "one", "secret": {}})]);
    let response = backend.post("/x/none/1/_update", r#"{"doc": {"c": 1}}"#).await;
    assert_eq!(response.status, 400, "{}", response.text);
    assert!(
        response.text.contains("DocumentSourceMissingException"),
        "{}",
        response.text
    );
}

#[rstest]
#[case(
    json!({"type": "string"}),
    json!({"type": "string", "index": "not_analyzed"}),
    "mapper [o.f] has different index values, mapper [o.f] has different tokenize values, mapper [o.f] has different \
     index_analyzer"
)]
#[case(
    json!({"type": "string"}),
    json!({"type": "long"}),
    "mapper [o.f] of different type, current_type [string], merged_type [long]"
)]
#[case(
    json!({"type": "string"}),
    json!({"properties": {}}),
    "mapper [o.f] of different type, current_type [string], merged_type [ObjectMapper]"
)]
#[case(
    json!({"properties": {}}),
    json!({"type": "nested"}),
    "object mapping [o.f] can't be changed from non-nested to nested"
)]
#[case(json!({"type": "date"}), json!({"type": "date", "store": true}), "mapper [o.f] has different store values")]
#[tokio::test]
async fn a_mapping_conflict_is_reported(#[case] given: Value, #[case] other: Value, #[case] conflict: &str) {
    let backend = Backend::new();
    let object = |field: Value| json!({"d": {"properties": {"o": {"properties": {"f": field}}}}});
    ask(&backend, "PUT", "/x", json!({"mappings": object(given)})).await;
    let answer = backend.put("/x/_mapping/d", &object(other).to_string()).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    let reason = format!("MergeMappingException[Merge failed with failures {{[{conflict}]}}]");
    assert_eq!(answer.body["error"], reason, "{}", answer.text);
}

#[tokio::test]
async fn compatible_changes_of_a_field_are_merged() {
    let backend = Backend::new();
    let field = |settings: Value| json!({"d": {"properties": {"f": settings}}});
    let first = json!({"type": "string", "index": "not_analyzed", "foo": 1, "store": "no"});
    ask(&backend, "PUT", "/x", json!({"mappings": field(first)})).await;
    let shown = ask(&backend, "GET", "/x/_mapping", Value::Null).await;
    assert_eq!(
        shown["x"]["mappings"],
        field(json!({"type": "string", "index": "not_analyzed"}))
    );
    let second = json!({"type": "string", "index": "not_analyzed", "ignore_above": 3});
    ask(&backend, "PUT", "/x/_mapping/d", field(second.clone())).await;
    let shown = ask(&backend, "GET", "/x/_mapping", Value::Null).await;
    assert_eq!(shown["x"]["mappings"], field(second));
    ask(&backend, "PUT", "/x/d/1?refresh=true", json!({"f": "long"})).await;
    let found = ask(&backend, "GET", "/x/_count?q=f:long", Value::Null).await;
    assert_eq!(found["count"], 0, "{found}");
}

#[tokio::test]
async fn values_are_copied_counted_and_excluded_from_all() {
    let backend = Backend::new();
    let mapping = json!({"mappings": {"d": {"properties": {
        "title": {
            "type": "string",
            "copy_to": ["both", "new"],
            "fields": {"words": {"type": "token_count", "analyzer": "standard"}},
        },
        "both": {"type": "string", "index": "not_analyzed"},
        "quiet": {
            "include_in_all": false,
            "properties": {"a": {"type": "string"}, "b": {"type": "string", "include_in_all": true}},
        },
    }}}});
    ask(&backend, "PUT", "/x", mapping).await;
    let document = json!({"title": "Quick Fox", "quiet": {"a": "hidden", "b": "shown"}});
    ask(&backend, "PUT", "/x/d/1?refresh=true", document).await;
    for (query, count) in [
        ("both:%22Quick%20Fox%22", 1),
        ("new:fox", 1),
        ("title.words:2", 1),
        ("title.words:1", 0),
        ("_all:hidden", 0),
        ("_all:shown", 1),
        ("_all:fox", 1),
    ] {
        let found = ask(&backend, "GET", &format!("/x/_count?q={query}"), Value::Null).await;
        assert_eq!(found["count"], count, "{query}: {found}");
    }
}

#[tokio::test]
async fn documents_are_sorted_and_aggregated_by_uid() {
    let backend = Backend::new();
    for id in ["b", "a"] {
        ask(&backend, "PUT", &format!("/x/d/{id}?refresh=true"), json!({})).await;
    }
    let body = json!({"sort": [{"_uid": "desc"}], "fields": [], "aggs": {"u": {"terms": {"field": "_uid"}}}});
    let found = ask(&backend, "POST", "/x/_search", body).await;
    assert_eq!(found["hits"]["hits"][0]["sort"], json!(["d#b"]), "{found}");
    assert_eq!(
        found["aggregations"]["u"]["buckets"][0],
        json!({"key": "d#a", "doc_count": 1}),
        "{found}"
    );
    for query in [
        json!({"match": {"_id": "a"}}),
        json!({"query_string": {"query": "_uid:d#a"}}),
    ] {
        assert_eq!(backend.ids("/x/_search", &json!({"query": query})).await, ["a"]);
    }
}

#[tokio::test]
async fn documents_of_a_multi_get_have_their_own_settings() {
    let backend = Backend::new();
    ask(&backend, "PUT", "/x/d/1", json!({"a": 1, "o": {"b": 2}})).await;
    let body = json!({"docs": [{"_id": "1", "_version": 9}, {"_id": "1"}]});
    let found = ask(&backend, "POST", "/x/d/_mget?fields=a", body).await;
    let error = found["docs"][0]["error"].as_str().unwrap();
    assert!(error.contains("version conflict, current [1], provided [9]"), "{found}");
    assert_eq!(found["docs"][1]["fields"], json!({"a": [1]}), "{found}");
    assert_eq!(found["docs"][1]["_source"], Value::Null, "{found}");
    let response = backend.get("/x/d/1?fields=o").await;
    assert_eq!(
        (response.status, response.text.contains("field [o] isn't a leaf field")),
        (400, true)
    );
    assert_eq!(backend.post("/x/d/_mget", r#"{"ids": []}"#).await.status, 400);
    assert_eq!(backend.post("/_msearch", "{\"index\":\"x\"}\n").await.status, 400);
}

#[tokio::test]
async fn a_skipped_value_does_not_exist() {
    let backend = Backend::new();
    let properties = json!({
        "n": {"type": "long", "ignore_malformed": true},
        "s": {"type": "string", "index": "not_analyzed", "ignore_above": 3},
    });
    backend
        .put(
            "/i",
            &json!({"mappings": {"t": {"properties": properties}}}).to_string(),
        )
        .await;
    backend.put("/i/t/1", r#"{"n": "x", "s": "long"}"#).await;
    backend
        .put("/i/t/2?refresh=true", r#"{"n": ["x", 1], "s": "abc"}"#)
        .await;
    for field in ["n", "s"] {
        let query = json!({"query": {"filtered": {"filter": {"exists": {"field": field}}}}});
        assert_eq!(backend.ids("/i/_search", &query).await, ["2"], "{field}");
    }
}

#[tokio::test]
async fn percolation_is_rejected() {
    let backend = Backend::new();
    backend.put("/i", "").await;
    for uri in [
        "/i/t/_percolate",
        "/i/t/1/_percolate",
        "/i/t/_percolate/count",
        "/i/t/_mpercolate",
        "/i/_mpercolate",
        "/_mpercolate",
    ] {
        let answer = backend.post(uri, "{}").await;
        let error = "ElasticsearchIllegalArgumentException[the percolator is not supported]";
        assert_eq!((answer.status, &answer.body["error"]), (400, &json!(error)), "{uri}");
    }
}

#[rstest]
#[case("1", json!({"script": "x", "doc": {"n": 2}}), 400, "Validation Failed: 1: can't provide both script and doc;")]
#[case("1", json!({"upsert": {"n": 2}}), 400, "Validation Failed: 1: script or doc is missing;")]
#[case(
    "1",
    json!({"doc_as_upsert": true}),
    400,
    "Validation Failed: 1: script or doc is missing;2: doc must be specified if doc_as_upsert is enabled;"
)]
#[case(
    "1",
    json!({"script": "x", "doc_as_upsert": true}),
    400,
    "Validation Failed: 1: doc must be specified if doc_as_upsert is enabled;"
)]
#[case("1", json!({"script": "x", "upsert": {"n": 2}}), 400, "failed to execute script")]
#[case("9", json!({"script": "x", "upsert": {"n": 2}, "scripted_upsert": true}), 400, "failed to execute script")]
#[case("9", json!({"script": "x"}), 404, "document missing")]
#[tokio::test]
async fn an_update_needs_a_script_or_a_document(
    #[case] id: &str,
    #[case] body: Value,
    #[case] status: u16,
    #[case] reason: &str,
) {
    let backend = index_of("i", "d", json!({"n": {"type": "long"}})).await;
    ask(&backend, "PUT", "/i/d/1", json!({"n": 1})).await;
    let answer = backend.send_json("POST", &format!("/i/d/{id}/_update"), &body).await;
    answer.expect_error(status, reason);
}

#[tokio::test]
async fn an_upsert_does_not_run_the_script() {
    let backend = index_of("i", "d", json!({"n": {"type": "long"}})).await;
    ask(
        &backend,
        "POST",
        "/i/d/1/_update",
        json!({"script": "x", "upsert": {"n": 2}}),
    )
    .await;
    let found = ask(&backend, "GET", "/i/d/1/_source", Value::Null).await;
    assert_eq!(found, json!({"n": 2}));
}

#[tokio::test]
async fn a_read_that_is_not_realtime_finds_only_refreshed_documents() {
    let backend = Backend::new();
    backend.put("/i/t/1", r#"{"a": 1}"#).await;
    let uri = "/i/t/1?realtime=false";
    assert_eq!(
        (backend.get(uri).await.status, backend.get("/i/t/1").await.status),
        (404, 200)
    );
    backend.post("/i/_refresh", "").await;
    assert_eq!(backend.get(uri).await.status, 200);
    assert_eq!(backend.get("/i/_all/1?realtime=false").await.status, 200);
}

#[tokio::test]
async fn the_filter_of_an_alias_has_only_mapped_fields() {
    let backend = Backend::new();
    backend.put("/i/t/1", r#"{"a": 1}"#).await;
    assert_eq!(
        backend
            .put("/i/_alias/known", r#"{"filter": {"term": {"a": 1}}}"#)
            .await
            .status,
        200
    );
    let unknown = backend
        .put("/i/_alias/unknown", r#"{"filter": {"term": {"b": 1}}}"#)
        .await;
    unknown.expect_error(
        400,
        "QueryParsingException[[i] Strict field resolution and no field mapping can be found for the field with name [b]]",
    );
}

#[tokio::test]
async fn an_alias_action_names_one_index_and_one_alias() {
    let backend = Backend::new();
    backend.put("/i", "").await;
    let body = r#"{"actions": [{"add": {"indices": ["i"], "aliases": ["x"]}}]}"#;
    let plural = backend.post("/_aliases", body).await;
    plural.expect_error(
        400,
        "[Validation Failed: 1: Alias action [add] requires an [alias] to be set;\
         2: Alias action [add]: [index] may not be empty string;]",
    );
}

#[rstest]
#[case::closed(true)]
#[case::not_closed(false)]
#[tokio::test]
async fn a_document_that_a_query_deleted_has_no_version_after_a_restart(#[case] is_closed: bool) {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    for _ in 0..3 {
        ask(&backend, "PUT", "/i/t/1", json!({})).await;
    }
    ask(&backend, "DELETE", "/i/t/_query", json!({"query": {"match_all": {}}})).await;
    if is_closed {
        backend.server.close().unwrap();
    } else {
        backend.step(Duration::from_secs(5));
        ask(&backend, "GET", "/_count", Value::Null).await;
    }
    drop(backend);
    let again = Backend::open(directory.path());
    assert_eq!(again.get("/i/t/1").await.status, 404);
    let written = ask(&again, "PUT", "/i/t/1", json!({})).await;
    assert_eq!((&written["_version"], &written["created"]), (&json!(1), &json!(true)));
}

#[tokio::test]
async fn a_template_with_half_an_alias_and_warmers_survives_a_restart() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    let template = json!({
        "template": "x*",
        "aliases": {"a": "none", "b": {}, "c": {"routing": "1"}},
        "warmers": {"w": {"types": ["t"], "source": {"size": 1}, "query_cache": true}}
    });
    ask(&backend, "PUT", "/_template/x", template).await;
    let shown = ask(&backend, "GET", "/_template/x", Value::Null).await;
    assert_eq!(shown["x"]["aliases"]["a"], json!({}));
    assert_eq!(shown["x"]["warmers"]["w"]["queryCache"], true);
    backend.server.close().unwrap();
    drop(backend);
    let again = Backend::open(directory.path());
    assert_eq!(ask(&again, "GET", "/_template/x", Value::Null).await, shown);
}

#[tokio::test]
async fn a_flush_after_the_deletion_of_a_whole_segment_keeps_the_others() {
    let directory = TempDir::new().unwrap();
    let backend = Backend::open(directory.path());
    ask(&backend, "PUT", "/i", json!({"settings": {"number_of_shards": 1}})).await;
    for id in [1, 2] {
        ask(&backend, "PUT", &format!("/i/t/{id}?refresh=true"), json!({"n": id})).await;
    }
    ask(&backend, "DELETE", "/i/t/1", Value::Null).await;
    ask(&backend, "POST", "/i/_flush", Value::Null).await;
    drop(backend);
    let backend = Backend::open(directory.path());
    assert_eq!(ask(&backend, "GET", "/i/_count", Value::Null).await["count"], 1);
    assert_eq!(ask(&backend, "GET", "/i/t/2", Value::Null).await["_source"]["n"], 2);
    assert_eq!(backend.get("/i/t/1").await.status, 404);
}
