//! Nested objects, parents and children.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask};

/// Three posts with comments, which are nested and have nested votes.
async fn posts() -> Backend {
    let backend = Backend::new();
    let mapping = json!({"mappings": {"post": {"properties": {
        "comments": {"type": "nested", "include_in_root": true, "properties": {
            "by": {"type": "string", "index": "not_analyzed"},
            "stars": {"type": "long"},
            "votes": {"type": "nested", "properties": {"up": {"type": "boolean"}}},
        }},
    }}}});
    assert_eq!(backend.put("/blog", &mapping.to_string()).await.status, 200);
    for (id, post) in [
        (
            "1",
            json!({
                "title": "one",
                "comments": [{"by": "ann", "stars": 5}, {"by": "bob", "stars": 1, "votes": {"up": true}}]
            }),
        ),
        (
            "2",
            json!({"title": "two", "comments": [{"by": "ann", "stars": 2, "votes": [{"up": false}, {"up": true}]}]}),
        ),
        ("3", json!({"title": "three"})),
    ] {
        let answer = backend.put(&format!("/blog/post/{id}"), &post.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
    assert_eq!(backend.post("/blog/_refresh", "").await.status, 200);
    backend
}

#[rstest]
#[case(json!({"match_all": {}}), &["1", "2", "3"])]
#[case(json!({"nested": {"path": "comments", "query": {"term": {"comments.by": "ann"}}}}), &["1", "2"])]
#[case(
    json!({
        "nested": {
            "path": "comments",
            "query": {"bool": {"must": [{"term": {"comments.by": "ann"}}, {"term": {"comments.stars": 1}}]}},
        }
    }),
    &[]
)]
#[case(json!({"bool": {"must": [{"term": {"comments.by": "bob"}}, {"term": {"comments.stars": 5}}]}}), &["1"])]
#[case(
    json!({
        "filtered": {"filter": {"nested": {"path": "comments", "filter": {"range": {"comments.stars": {"gt": 4}}}}}}
    }),
    &["1"]
)]
#[case(json!({"filtered": {"filter": {"not": {"nested": {"path": "comments", "filter": {"match_all": {}}}}}}}), &["3"])]
#[case(
    json!({
        "nested": {
            "path": "comments",
            "query": {"nested": {"path": "comments.votes", "query": {"term": {"comments.votes.up": "false"}}}},
        }
    }),
    &["2"]
)]
#[case(json!({"nested": {"path": "comments.votes", "query": {"term": {"comments.votes.up": "true"}}}}), &["1", "2"])]
#[case(json!({"match": {"_all": "bob"}}), &["1"])]
#[tokio::test]
async fn a_nested_object_matches_by_itself(#[case] query: Value, #[case] expected: &[&str]) {
    let backend = posts().await;
    let ids = backend.ids("/blog/_search", &json!({"query": query})).await;
    let mut ids = ids;
    ids.sort();
    assert_eq!(ids, expected);
}

#[rstest]
#[case("avg", 3.0)]
#[case("sum", 6.0)]
#[case("max", 5.0)]
#[tokio::test]
async fn scores_of_nested_objects_are_joined(#[case] mode: &str, #[case] expected: f64) {
    let backend = posts().await;
    let scored = json!({
        "function_score": {
            "query": {"match_all": {}},
            "field_value_factor": {"field": "comments.stars"},
            "boost_mode": "replace",
        }
    });
    let query = json!({"query": {"nested": {"path": "comments", "score_mode": mode, "query": scored}}});
    let answer = backend.post("/blog/_search", &query.to_string()).await;
    assert_eq!(answer.body["hits"]["hits"][0]["_id"], "1", "{}", answer.text);
    assert_eq!(answer.body["hits"]["hits"][0]["_score"], expected, "{}", answer.text);
}

#[tokio::test]
async fn nested_objects_are_deleted_with_their_document() {
    let backend = posts().await;
    let answer = backend
        .put(
            "/blog/post/1?refresh=true",
            r#"{"title": "one", "comments": {"by": "cyd"}}"#,
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(
        backend.send("DELETE", "/blog/post/2?refresh=true", "").await.status,
        200
    );
    for optimized in [false, true] {
        if optimized {
            assert_eq!(backend.post("/blog/_optimize?max_num_segments=1", "").await.status, 200);
        }
        let by =
            |name: &str| json!({"query": {"nested": {"path": "comments", "query": {"term": {"comments.by": name}}}}});
        assert!(backend.ids("/blog/_search", &by("ann")).await.is_empty());
        assert_eq!(backend.ids("/blog/_search", &by("cyd")).await, ["1"]);
        assert_eq!(backend.get("/blog/_count").await.body["count"], 2);
    }
    let stats = backend.get("/blog/_stats/docs").await;
    assert_eq!(
        stats.body["indices"]["blog"]["primaries"]["docs"]["count"], 3,
        "{}",
        stats.text
    );
}

#[tokio::test]
async fn nested_objects_can_be_aggregated_and_sorted_by() {
    let backend = posts().await;
    let body = json!({"size": 0, "aggs": {"c": {"nested": {"path": "comments"}, "aggs": {
        "by": {"terms": {"field": "comments.by"}, "aggs": {
            "posts": {"reverse_nested": {}, "aggs": {"titles": {"terms": {"field": "title"}}}},
            "best": {"top_hits": {"size": 1, "sort": [{"comments.stars": "desc"}]}},
        }},
        "votes": {"nested": {"path": "comments.votes"}},
    }}}});
    let answer = backend.post("/blog/_search", &body.to_string()).await;
    let comments = &answer.body["aggregations"]["c"];
    assert_eq!(comments["doc_count"], 3, "{}", answer.text);
    assert_eq!(comments["votes"]["doc_count"], 3, "{}", answer.text);
    let ann = &comments["by"]["buckets"][0];
    assert_eq!(
        (&ann["key"], &ann["doc_count"]),
        (&json!("ann"), &json!(2)),
        "{}",
        answer.text
    );
    assert_eq!(ann["posts"]["doc_count"], 2, "{}", answer.text);
    let best = &ann["best"]["hits"]["hits"][0];
    assert_eq!(
        best["_nested"],
        json!({"field": "comments", "offset": 0}),
        "{}",
        answer.text
    );
    assert_eq!(best["_source"]["stars"], 5, "{}", answer.text);

    let sort = |order: &str, filter: Value| {
        json!({
            "sort": [{"comments.stars": {"order": order, "nested_filter": filter}}],
            "query": {"term": {"title": "one"}}
        })
    };
    for (order, filter, expected) in [
        ("asc", json!({"match_all": {}}), 1),
        ("desc", json!({"match_all": {}}), 5),
        ("desc", json!({"term": {"comments.by": "bob"}}), 1),
    ] {
        let answer = backend.post("/blog/_search", &sort(order, filter).to_string()).await;
        assert_eq!(answer.body["hits"]["hits"][0]["sort"][0], expected, "{}", answer.text);
    }
}

/// Two services with deployments as children.
async fn services() -> Backend {
    let backend = Backend::new();
    let mapping = json!({
        "settings": {"number_of_shards": 3},
        "mappings": {"service": {}, "deployment": {"_parent": {"type": "service"}}}
    });
    assert_eq!(backend.put("/ops", &mapping.to_string()).await.status, 200);
    let body = [
        r#"{"index":{"_index":"ops","_type":"service","_id":"web"}}"#,
        r#"{"team":"red"}"#,
        r#"{"index":{"_index":"ops","_type":"service","_id":"api"}}"#,
        r#"{"team":"blue"}"#,
        r#"{"index":{"_index":"ops","_type":"deployment","_id":"1","_parent":"web"}}"#,
        r#"{"state":"failed","size":3}"#,
        r#"{"index":{"_index":"ops","_type":"deployment","_id":"2","_parent":"web"}}"#,
        r#"{"state":"done","size":4}"#,
        r#"{"index":{"_index":"ops","_type":"deployment","_id":"3","_parent":"api"}}"#,
        r#"{"state":"done","size":5}"#,
        "",
    ];
    let answer = backend.post("/_bulk?refresh=true", &body.join("\n")).await;
    assert_eq!(answer.body["errors"], false, "{}", answer.text);
    backend
}

#[rstest]
#[case(json!({"has_child": {"type": "deployment", "query": {"term": {"state": "failed"}}}}), &["web"])]
#[case(json!({"has_child": {"type": "deployment", "query": {"match_all": {}}, "min_children": 2}}), &["web"])]
#[case(json!({"has_child": {"type": "deployment", "query": {"match_all": {}}, "max_children": 1}}), &["api"])]
#[case(json!({"has_parent": {"parent_type": "service", "query": {"term": {"team": "red"}}}}), &["1", "2"])]
#[case(json!({"top_children": {"type": "deployment", "query": {"term": {"size": 5}}}}), &["api"])]
#[case(
    json!({"filtered": {"filter": {"has_child": {"type": "deployment", "filter": {"range": {"size": {"gt": 4}}}}}}}),
    &["api"]
)]
#[case(
    json!({"filtered": {"filter": {"has_parent": {"type": "service", "filter": {"term": {"team": "blue"}}}}}}),
    &["3"]
)]
#[case(json!({"term": {"_parent": "service#api"}}), &["3"])]
#[case(json!({"term": {"_parent": "web"}}), &["1", "2"])]
#[tokio::test]
async fn parents_and_children_match(#[case] query: Value, #[case] expected: &[&str]) {
    let backend = services().await;
    let mut ids = backend.ids("/ops/_search", &json!({"query": query})).await;
    ids.sort();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn scores_of_children_are_joined() {
    let backend = services().await;
    for (mode, expected) in [("none", 1.0), ("sum", 7.0), ("avg", 3.5), ("max", 4.0)] {
        let scored = json!({"function_score": {"field_value_factor": {"field": "size"}, "boost_mode": "replace"}});
        let query = json!({"query": {"bool": {"must": [
            {"has_child": {"type": "deployment", "score_mode": mode, "query": scored, "min_children": 2}}]}}});
        let answer = backend.post("/ops/_search", &query.to_string()).await;
        assert_eq!(
            answer.body["hits"]["hits"][0]["_score"], expected,
            "{mode}: {}",
            answer.text
        );
    }
}

#[tokio::test]
async fn a_child_is_addressed_with_its_parent() {
    let backend = services().await;
    let missing = "RoutingMissingException[routing is required for [ops]/[deployment]/[1]]";
    for (method, uri, body) in [("GET", "/ops/deployment/1", ""), ("PUT", "/ops/deployment/1", "{}")] {
        let answer = backend.send(method, uri, body).await;
        assert_eq!(
            (answer.status, &answer.body["error"]),
            (400, &json!(missing)),
            "{}",
            answer.text
        );
    }
    let answer = backend
        .get("/ops/deployment/1?parent=web&fields=_parent,_routing,state")
        .await;
    assert_eq!(answer.body["fields"]["_parent"], "web", "{}", answer.text);
    assert_eq!(answer.body["fields"]["_routing"], "web", "{}", answer.text);
    let changed = backend
        .post(
            "/ops/deployment/1/_update?parent=web&refresh=true",
            r#"{"doc": {"state": "done"}}"#,
        )
        .await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let query = json!({
        "query": {"has_child": {"type": "deployment", "query": {"term": {"state": "done"}}, "min_children": 2}}
    });
    assert_eq!(backend.ids("/ops/_search", &query).await, ["web"]);
    let hits = backend
        .post(
            "/ops/deployment/_search",
            r#"{"fields": ["_source", "_parent"], "query": {"ids": {"values": ["1"]}}}"#,
        )
        .await;
    assert_eq!(
        hits.body["hits"]["hits"][0]["fields"]["_parent"], "web",
        "{}",
        hits.text
    );
    let response = backend.put("/ops/service/x?parent=y", "{}").await;
    assert_eq!(response.status, 400, "{}", response.text);
    assert_eq!(backend.send("DELETE", "/ops/deployment/1", "").await.status, 200);
}

#[tokio::test]
async fn children_are_aggregated() {
    let backend = services().await;
    let body = json!({
        "query": {"term": {"team": "red"}},
        "size": 0,
        "aggs": {"d": {"children": {"type": "deployment"}, "aggs": {"size": {"sum": {"field": "size"}}}}}
    });
    let answer = backend.post("/ops/_search", &body.to_string()).await;
    let children = &answer.body["aggregations"]["d"];
    assert_eq!(
        (&children["doc_count"], &children["size"]["value"]),
        (&json!(2), &json!(7.0)),
        "{}",
        answer.text
    );
}

/// Returns the ids and the nested offsets of the inner hits of the first hit.
fn inner(answer: &Value, name: &str) -> Vec<(String, u64)> {
    let found = &answer["hits"]["hits"][0]["inner_hits"][name]["hits"];
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| {
        let offset = hit["_nested"]["offset"].as_u64().unwrap_or(0);
        (hit["_id"].as_str().unwrap().to_owned(), offset)
    })
    .collect()
}

#[rstest]
#[case(
    json!({"query": {"nested": {"path": "comments", "query": {"term": {"comments.by": "bob"}}, "inner_hits": {}}}}),
    "comments",
    &[1]
)]
#[case(
    json!({
        "query": {
            "nested": {
                "path": "comments",
                "filter": {"range": {"comments.stars": {"gte": 1}}},
                "inner_hits": {"name": "all", "sort": [{"comments.stars": "asc"}]},
            },
        },
        "filter": {"ids": {"values": ["1"]}}
    }),
    "all",
    &[1, 0]
)]
#[case(
    json!({
        "query": {"nested": {"path": "comments", "query": {"match_all": {}}, "inner_hits": {"size": 1, "from": 1}}},
        "filter": {"ids": {"values": ["1"]}}
    }),
    "comments",
    &[0]
)]
#[case(
    json!({
        "query": {"ids": {"values": ["1"]}},
        "inner_hits": {"mine": {"path": {"comments": {"query": {"term": {"comments.by": "ann"}}}}}}
    }),
    "mine",
    &[0]
)]
#[tokio::test]
async fn nested_objects_are_shown_as_inner_hits(#[case] body: Value, #[case] name: &str, #[case] expected: &[u64]) {
    let backend = posts().await;
    let answer = ask(&backend, "POST", "/blog/_search", body).await;
    let offsets: Vec<u64> = inner(&answer, name).into_iter().map(|(_, offset)| offset).collect();
    assert_eq!(offsets, expected, "{answer}");
    let hit = &answer["hits"]["hits"][0]["inner_hits"][name]["hits"]["hits"][0];
    assert_eq!(hit["_nested"]["field"], "comments", "{answer}");
    assert!(hit["_source"]["by"].is_string(), "{answer}");
}

#[tokio::test]
async fn inner_hits_can_have_inner_hits() {
    let backend = posts().await;
    let below = json!({"votes": {"path": {"comments.votes": {"query": {"term": {"comments.votes.up": "true"}}}}}});
    let body = json!({
        "query": {"ids": {"values": ["2"]}},
        "inner_hits": {"c": {"path": {"comments": {"inner_hits": below}}}}
    });
    let answer = ask(&backend, "POST", "/blog/_search", body).await;
    let comment = &answer["hits"]["hits"][0]["inner_hits"]["c"]["hits"]["hits"][0];
    let votes = &comment["inner_hits"]["votes"]["hits"];
    assert_eq!(
        (&votes["total"], &votes["hits"][0]["_source"]),
        (&json!(1), &json!({"up": true})),
        "{answer}"
    );
}

#[tokio::test]
async fn children_and_parents_are_shown_as_inner_hits() {
    let backend = Backend::new();
    ask(
        &backend,
        "PUT",
        "/family",
        json!({"mappings": {"parent": {}, "child": {"_parent": {"type": "parent"}}}}),
    )
    .await;
    ask(&backend, "PUT", "/family/parent/1", json!({"name": "one"})).await;
    for (id, name) in [("a", "ann"), ("b", "bob")] {
        ask(
            &backend,
            "PUT",
            &format!("/family/child/{id}?parent=1"),
            json!({"name": name}),
        )
        .await;
    }
    ask(&backend, "POST", "/family/_refresh", Value::Null).await;
    let body = json!({
        "query": {"has_child": {"type": "child", "query": {"match_all": {}}, "inner_hits": {"sort": ["name"]}}}
    });
    let answer = ask(&backend, "POST", "/family/_search", body).await;
    assert_eq!(
        inner(&answer, "child"),
        [("a".to_owned(), 0), ("b".to_owned(), 0)],
        "{answer}"
    );
    let body =
        json!({"query": {"has_parent": {"type": "parent", "query": {"match": {"name": "one"}}, "inner_hits": {}}}});
    let answer = ask(&backend, "POST", "/family/_search", body).await;
    assert_eq!(inner(&answer, "parent"), [("1".to_owned(), 0)], "{answer}");
    let body =
        json!({"query": {"has_child": {"type": "child", "query": {"match_all": {}}, "inner_hits": {"sizes": 1}}}});
    let response = backend.post("/family/_search", &body.to_string()).await;
    assert_eq!(response.status, 400, "{}", response.text);
    assert!(
        response
            .text
            .contains("Unknown key for a VALUE_NUMBER for nested query: [sizes]"),
        "{}",
        response.text
    );
}
