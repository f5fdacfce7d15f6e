//! Documents, indices, status APIs and errors of the search backend.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use http_body_util::BodyExt;

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, logs};
use stuntdouble_search::{Limits, Options, Retention, SearchServer};

#[tokio::test]
async fn writes_increment_the_version_of_a_document() {
    let backend = Backend::new();
    let made = backend.put("/a/t/1", r#"{"x": 1}"#).await;
    assert_eq!(
        (made.status, &made.body),
        (
            201,
            &json!({"_index": "a", "_type": "t", "_id": "1", "_version": 1, "created": true})
        )
    );
    assert_eq!(backend.put("/a/t/1", r#"{"x": 2}"#).await.body["_version"], 2);
    assert_eq!(backend.put("/a/t/1/_create", r#"{"x": 3}"#).await.status, 409);
    assert_eq!(backend.put("/a/t/1?version=1", r#"{"x": 3}"#).await.status, 409);
    assert_eq!(backend.get("/a/t/1").await.body["_source"], json!({"x": 2}));
    assert_eq!(
        backend.post("/a/t/1/_update", r#"{"doc": {"y": 1}}"#).await.body["_version"],
        3
    );
    assert_eq!(backend.get("/a/t/1/_source").await.body, json!({"x": 2, "y": 1}));
    assert_eq!(backend.send("DELETE", "/a/t/1", "").await.body["found"], true);
    assert_eq!(backend.get("/a/t/1").await.status, 404);
    assert_eq!(backend.send("DELETE", "/a/t/1", "").await.status, 404);
    assert_eq!(backend.put("/a/t/1", r#"{"x": 4}"#).await.body["_version"], 6);
    let given = backend.post("/a/t", r#"{"x": 5}"#).await;
    assert_eq!((given.status, given.body["_id"].as_str().unwrap().len()), (201, 20));
}

#[tokio::test]
async fn writes_are_visible_after_a_refresh_or_the_refresh_interval() {
    let backend = Backend::new();
    let total = async || backend.get("/_search").await.body["hits"]["total"].clone();
    backend.put("/a/t/1", "{}").await;
    assert_eq!(total().await, 0);
    backend.step(Duration::from_millis(1_100));
    assert_eq!(total().await, 1);
    backend.put("/a/t/2?refresh=true", "{}").await;
    assert_eq!(total().await, 2);
    backend
        .put("/a/_settings", r#"{"index": {"refresh_interval": "-1"}}"#)
        .await;
    backend.put("/a/t/3", "{}").await;
    backend.step(Duration::from_secs(60));
    assert_eq!(total().await, 2);
    backend.post("/a/_refresh", "").await;
    assert_eq!(total().await, 3);
}

#[tokio::test]
async fn changed_and_deleted_documents_survive_merges() {
    let backend = Backend::new();
    for round in 0..25 {
        for id in 0..5 {
            backend
                .put(
                    &format!("/a/t/{id}"),
                    &json!({"round": round, "text": format!("word{round} id{id}")}).to_string(),
                )
                .await;
        }
        backend.post("/a/_refresh", "").await;
    }
    backend.send("DELETE", "/a/t/4", "").await;
    backend.post("/a/_optimize?max_num_segments=1", "").await;
    let answer = backend.get("/a/_search?q=round:24").await;
    assert_eq!(answer.body["hits"]["total"], 4);
    assert_eq!(backend.get("/a/_search?q=text:word3").await.body["hits"]["total"], 0);
    assert_eq!(backend.get("/a/t/2").await.body["_version"], 25);
    assert_eq!(
        backend.get("/a/_segments").await.body["indices"]["a"]["shards"]["0"][0]["segments"]
            .as_object()
            .unwrap()
            .len(),
        1
    );
}

#[rstest]
#[case("/_search", json!({"query": {"nonsense": {}}}))]
#[case("/_search", json!({"query": {"term": {}}}))]
#[case("/_search", json!({"nonsense": 1}))]
#[case("/_search", json!({"query": {"range": {"size": {"gte": "abc"}}}}))]
#[case("/_search", json!({"query": {"regexp": {"level": "[a"}}}))]
#[case("/_search", json!({"aggs": {"a": {"nonsense": {}}}}))]
#[case("/_search", json!({"aggs": {"a": {"terms": {}}}}))]
#[case("/_search", json!({"sort": [{"nope": "asc"}]}))]
#[case("/_search?size=abc", json!({}))]
#[case("/_search?q=level:(", json!({}))]
#[case("/_search", json!("text"))]
#[case("/_bulk", json!({}))]
#[case("/Upper", json!({}))]
#[case("/a/t", json!([1]))]
#[case("/_nonsense/x", json!({}))]
#[tokio::test]
async fn bad_input_is_rejected_with_a_reason(#[case] uri: &str, #[case] body: Value) {
    let backend = logs().await;
    let answer = backend.post(uri, &body.to_string()).await;
    assert_eq!(
        (answer.status, &answer.body["status"]),
        (400, &json!(400)),
        "{}",
        answer.text
    );
    assert!(
        answer.body["error"].as_str().is_some_and(|error| error.contains('[')),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn names_lists_patterns_and_aliases_select_indices() {
    let backend = logs().await;
    let total = async |uri: &str| backend.get(uri).await.body["hits"]["total"].clone();
    assert_eq!(total("/logstash-2015.06.22/_search").await, 6);
    assert_eq!(total("/logstash-2015.06.22,logstash-2015.06.23/_search").await, 12);
    assert_eq!(total("/logstash-*,-logstash-2015.06.23/_search").await, 6);
    assert_eq!(total("/_all/fluentd/_search").await, 12);
    assert_eq!(total("/_all/other/_search").await, 0);
    assert_eq!(backend.get("/nope/_search").await.status, 404);
    assert_eq!(
        backend
            .get("/nope,logstash-*/_search?ignore_unavailable=true")
            .await
            .body["hits"]["total"],
        12
    );
    let action = json!({
        "actions": [{"add": {"index": "logstash-*", "alias": "warnings", "filter": {"term": {"level": "warn"}}}}]
    });
    assert_eq!(backend.post("/_aliases", &action.to_string()).await.status, 200);
    assert_eq!(total("/warnings/_search").await, 4);
    assert_eq!(
        backend
            .send("DELETE", "/logstash-2015.06.22/_alias/warnings", "")
            .await
            .status,
        200
    );
    assert_eq!(total("/warnings/_search").await, 2);
    assert_eq!(backend.post("/logstash-2015.06.22/_close", "").await.status, 200);
    assert_eq!(total("/_search").await, 6);
    assert_eq!(backend.get("/logstash-2015.06.22/_search").await.status, 403);
}

#[tokio::test]
async fn templates_apply_to_new_indices() {
    let backend = Backend::new();
    let template = json!({
        "template": "logs-*",
        "settings": {"number_of_shards": 2},
        "mappings": {
            "_default_": {
                "dynamic_templates": [{
                    "raw": {
                        "match_mapping_type": "string",
                        "mapping": {"type": "string", "fields": {"raw": {"type": "string", "index": "not_analyzed"}}},
                    }
                }],
            },
        },
        "aliases": {"{index}-alias": {}}
    });
    assert_eq!(backend.put("/_template/logs", &template.to_string()).await.status, 200);
    backend
        .put("/logs-1/line/1?refresh=true", r#"{"text": "Two Words"}"#)
        .await;
    assert_eq!(
        backend.get("/logs-1/_search?q=text.raw:%22Two+Words%22").await.body["hits"]["total"],
        1
    );
    assert_eq!(
        backend.get("/logs-1/_settings").await.body["logs-1"]["settings"]["index"]["number_of_shards"],
        "2"
    );
    assert_eq!(backend.get("/logs-1-alias/_count").await.body["count"], 1);
    let mapping = backend.get("/logs-1/_mapping/line").await.body;
    let text = &mapping["logs-1"]["mappings"]["line"]["properties"]["text"];
    assert_eq!(text["fields"]["raw"]["index"], "not_analyzed");
}

#[rstest]
#[case(json!({"a": 1}), json!({"a": "text"}), 400)]
#[case(json!({"a": 1}), json!({"a": "2"}), 201)]
#[case(json!({"a": "2015-06-22"}), json!({"a": "notadate"}), 400)]
#[case(json!({"a": "text"}), json!({"a": 5}), 201)]
#[case(json!({"a": {"b": 1}}), json!({"a": 5}), 400)]
#[case(json!({"a": 5}), json!({"a": {"b": 1}}), 400)]
#[case(json!({"a": [1, 2]}), json!({"a": null}), 201)]
#[tokio::test]
async fn the_first_value_determines_the_field_type(#[case] first: Value, #[case] second: Value, #[case] status: u16) {
    let backend = Backend::new();
    assert_eq!(backend.put("/a/t/1", &first.to_string()).await.status, 201);
    let answer = backend.put("/a/t/2", &second.to_string()).await;
    assert_eq!(answer.status, status, "{}", answer.text);
}

#[tokio::test]
async fn the_status_page_has_every_field() {
    let answer = Backend::new().get("/").await.body;
    assert_eq!(
        (
            &answer["status"],
            &answer["cluster_name"],
            &answer["version"]["number"],
            &answer["version"]["lucene_version"],
            &answer["version"]["build_snapshot"]
        ),
        (
            &json!(200),
            &json!("kubernetes-logging"),
            &json!("1.5.2"),
            &json!("4.10.4"),
            &json!(false)
        )
    );
    for key in ["name", "tagline"] {
        assert!(answer[key].is_string(), "{key}");
    }
    for key in ["build_hash", "build_timestamp"] {
        assert!(answer["version"][key].is_string(), "{key}");
    }
}

#[rstest]
#[case("/_cluster/health?level=shards", "status")]
#[case("/_cluster/state", "master_node")]
#[case("/_cluster/stats", "indices")]
#[case("/_cluster/pending_tasks", "tasks")]
#[case("/_nodes", "nodes")]
#[case("/_nodes/stats", "nodes")]
#[case("/_nodes/_local", "nodes")]
#[case("/_stats", "_all")]
#[case("/_stats/docs,store", "indices")]
#[case("/_segments", "indices")]
#[case("/_recovery", "logstash-2015.06.22")]
#[case("/_status", "indices")]
#[case("/_search_shards", "shards")]
#[case("/logstash-2015.06.22", "logstash-2015.06.22")]
#[case("/_mapping", "logstash-2015.06.22")]
#[case("/_mapping/fluentd/field/level", "logstash-2015.06.22")]
#[case("/_aliases", "logstash-2015.06.22")]
#[case("/_settings?flat_settings=true", "logstash-2015.06.22")]
#[case("/_analyze?text=Some+Text", "tokens")]
#[case("/_validate/query?q=a&explain=true", "explanations")]
#[case("/_search/exists?q=log:error", "exists")]
#[case("/logstash-2015.06.22/fluentd/1/_explain?q=log:request", "explanation")]
#[tokio::test]
async fn a_status_api_has_its_main_element(#[case] uri: &str, #[case] key: &str) {
    let answer = logs().await.get(uri).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.body.get(key).is_some(), "{}", answer.text);
}

#[rstest]
#[case("/_cat/indices?v", "logstash-2015.06.22")]
#[case("/_cat/health", "green")]
#[case("/_cat/count", " 12 ")]
#[case("/_cat/shards", "STARTED")]
#[case("/_cat/nodes?h=name", "elasticsearch-logging-v1-1")]
#[case("/_cat/aliases?v", "routing.index")]
#[case("/_cat/master", "elasticsearch-logging-v1-0")]
#[case("/_cat", "/_cat/indices")]
#[tokio::test]
async fn a_cat_table_has_its_content(#[case] uri: &str, #[case] text: &str) {
    let answer = logs().await.get(uri).await;
    assert!(answer.status == 200 && answer.text.contains(text), "{}", answer.text);
}

#[tokio::test]
async fn indices_older_than_the_retention_are_removed() {
    let now = Arc::new(AtomicI64::new(1_435_320_000_000));
    let stepped = now.clone();
    let server = SearchServer::new(Options {
        clock: Arc::new(move || jiff::Timestamp::from_millisecond(stepped.load(Ordering::Relaxed)).unwrap()),
        background: false,
        retention: Some(Retention {
            pattern: "logstash-*".to_owned(),
            age: Some(Duration::from_secs(2 * 86_400)),
            bytes: None,
        }),
        ..Options::default()
    });
    let names = async || {
        let request = http::Request::get("/_cat/indices?h=index").body(String::new()).unwrap();
        let body = server
            .handle(request)
            .await
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes();
        let mut names: Vec<String> = String::from_utf8_lossy(&body)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        names.sort();
        names
    };
    for day in ["22", "23", "24", "25"] {
        server
            .index(&format!("logstash-2015.06.{day}"), "fluentd", None, b"{}")
            .unwrap();
        server.index(".kibana", "config", None, b"{}").unwrap();
        now.fetch_add(86_400_000, Ordering::Relaxed);
    }
    assert_eq!(
        names().await,
        [
            ".kibana",
            "logstash-2015.06.23",
            "logstash-2015.06.24",
            "logstash-2015.06.25"
        ]
    );
}

#[tokio::test]
async fn the_background_thread_refreshes_indices() {
    let server = SearchServer::new(Options {
        refresh_interval: Duration::from_millis(1),
        shards: 1,
        ..Options::default()
    });
    server.index("a", "t", Some("1"), b"{}").unwrap();
    let total = async || {
        let request = http::Request::get("/a/_count").body(String::new()).unwrap();
        let body = server
            .handle(request)
            .await
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes();
        serde_json::from_slice::<Value>(&body).unwrap()["count"].clone()
    };
    while total().await != 1 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn requests_beyond_a_limit_are_rejected() {
    let limits = Limits {
        body: 2_000,
        query: 100,
        depth: 5,
        clauses: 8,
        window: 3,
        buckets: 3,
        indices: 3,
        fields: 8,
        scrolls: 1,
        searches: 1,
        ..Limits::default()
    };
    let backend = Backend::with(limits);
    for id in 0..5 {
        backend
            .put(&format!("/a/t/{id}?refresh=true"), &json!({"n": id}).to_string())
            .await;
    }
    let expect_status = async |method: &str, uri: &str, body: String, status: u16| {
        let answer = backend.send(method, uri, &body).await;
        assert_eq!(answer.status, status, "{uri}: {}", answer.text);
    };
    expect_status("POST", "/_search", "x".repeat(2_001), 413).await;
    expect_status("GET", &format!("/_search?q={}", "x".repeat(101)), String::new(), 400).await;
    expect_status("GET", "/_search?q=a+b+c+d+e+f+g+h+i", String::new(), 400).await;
    expect_status("GET", "/_search?from=1&size=4", String::new(), 400).await;
    expect_status("GET", "/_search?q=/((a{50}){50}){50}/", String::new(), 400).await;
    let nested = (0..6).fold(json!({"match_all": {}}), |inner, _| json!({"bool": {"must": inner}}));
    expect_status("POST", "/_search", json!({"query": nested}).to_string(), 400).await;
    expect_status(
        "POST",
        "/_search",
        json!({"aggs": {"n": {"terms": {"field": "n"}}}}).to_string(),
        400,
    )
    .await;
    let fields: serde_json::Map<String, Value> = (0..9).map(|n| (format!("f{n}"), json!(n))).collect();
    expect_status("PUT", "/b/t/1", Value::Object(fields).to_string(), 400).await;
    expect_status("PUT", "/c", String::new(), 200).await;
    expect_status("PUT", "/d", String::new(), 400).await;
    expect_status("GET", "/_search?scroll=1m", String::new(), 200).await;
    expect_status("GET", "/_search?scroll=1m", String::new(), 429).await;
    expect_status("POST", "/_msearch", "{}\n{}\n{}\n{}\n".to_owned(), 400).await;
}

#[tokio::test]
async fn a_socket_is_served_with_pretty_json() {
    let backend = logs().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/_search?pretty=true&size=0", listener.local_addr().unwrap());
    let server = backend.server.clone();
    let serving = tokio::spawn(async move { server.serve(listener).await });
    // In a build of the whole workspace, rustls may have several providers and no default.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    assert!(
        text.starts_with("{\n  \"took\" : 0,\n  \"timed_out\" : false,\n  \"_shards\" : {\n    \"total\" : 2,"),
        "{text}"
    );
    serving.abort();
}

#[tokio::test]
async fn waiting_for_an_unknown_health_status_is_an_error() {
    let answer = Backend::new().get("/_cluster/health?wait_for_status=purple").await;
    let error = "IllegalArgumentException[No enum constant \
                 org.elasticsearch.action.admin.cluster.health.ClusterHealthStatus.PURPLE]";
    assert_eq!((answer.status, &answer.body["error"]), (500, &json!(error)));
}
