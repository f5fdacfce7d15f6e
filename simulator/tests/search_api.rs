//! The interface of the search backend: documents, indices, searches, aggregations, status, refusals.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

#[path = "search_support/mod.rs"]
mod support;
use stuntdouble_simulator::search::Limits;
use support::Backend;

/// Twelve log lines over two days: one an hour, with a size and a level.
async fn logs() -> Backend {
    let backend = Backend::new();
    let mut body = String::new();
    for n in 0..12 {
        let day = 22 + n / 6;
        let level = ["info", "warn", "error"][n % 3];
        body.push_str(&format!("{{\"index\":{{\"_index\":\"logstash-2015.06.{day}\",\"_type\":\"fluentd\",\"_id\":\"{n}\"}}}}\n"));
        body.push_str(&format!(
            "{{\"log\":\"{level} request {n} served\",\"level\":\"{level}\",\"size\":{},\"ratio\":{}.5,\"@timestamp\":\"2015-06-{day}T{:02}:30:00Z\"}}\n",
            n * 10,
            n,
            n % 6
        ));
    }
    let answer = backend.post("/_bulk?refresh=true", &body).await;
    assert_eq!(answer.body["errors"], false, "{}", answer.text);
    backend
}

#[tokio::test]
async fn a_document_lives_through_its_versions() {
    let backend = Backend::new();
    let made = backend.put("/a/t/1", r#"{"x": 1}"#).await;
    assert_eq!((made.status, &made.body), (201, &json!({"_index": "a", "_type": "t", "_id": "1", "_version": 1, "created": true})));
    assert_eq!(backend.put("/a/t/1", r#"{"x": 2}"#).await.body["_version"], 2);
    assert_eq!(backend.put("/a/t/1/_create", r#"{"x": 3}"#).await.status, 409);
    assert_eq!(backend.put("/a/t/1?version=1", r#"{"x": 3}"#).await.status, 409);
    assert_eq!(backend.get("/a/t/1").await.body["_source"], json!({"x": 2}));
    assert_eq!(backend.post("/a/t/1/_update", r#"{"doc": {"y": 1}}"#).await.body["_version"], 3);
    assert_eq!(backend.get("/a/t/1/_source").await.body, json!({"x": 2, "y": 1}));
    assert_eq!(backend.send("DELETE", "/a/t/1", "").await.body["found"], true);
    assert_eq!(backend.get("/a/t/1").await.status, 404);
    assert_eq!(backend.send("DELETE", "/a/t/1", "").await.status, 404);
    assert_eq!(backend.put("/a/t/1", r#"{"x": 4}"#).await.body["_version"], 6);
    let given = backend.post("/a/t", r#"{"x": 5}"#).await;
    assert_eq!((given.status, given.body["_id"].as_str().unwrap().len()), (201, 20));
}

#[tokio::test]
async fn what_is_written_is_found_after_a_refresh_or_a_second() {
    let backend = Backend::new();
    let total = async || backend.get("/_search").await.body["hits"]["total"].clone();
    backend.put("/a/t/1", "{}").await;
    assert_eq!(total().await, 0);
    backend.step(Duration::from_millis(1_100));
    assert_eq!(total().await, 1);
    backend.put("/a/t/2?refresh=true", "{}").await;
    assert_eq!(total().await, 2);
    backend.put("/a/_settings", r#"{"index": {"refresh_interval": "-1"}}"#).await;
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
            backend.put(&format!("/a/t/{id}"), &json!({"round": round, "text": format!("word{round} id{id}")}).to_string()).await;
        }
        backend.post("/a/_refresh", "").await;
    }
    backend.send("DELETE", "/a/t/4", "").await;
    backend.post("/a/_optimize", "").await;
    let answer = backend.get("/a/_search?q=round:24").await;
    assert_eq!(answer.body["hits"]["total"], 4);
    assert_eq!(backend.get("/a/_search?q=text:word3").await.body["hits"]["total"], 0);
    assert_eq!(backend.get("/a/t/2").await.body["_version"], 25);
    assert_eq!(backend.get("/a/_segments").await.body["indices"]["a"]["shards"]["0"][0]["segments"].as_object().unwrap().len(), 1);
}

#[rstest]
#[case(json!({"match_all": {}}), 12)]
#[case(json!({"match": {"log": "error request"}}), 12)]
#[case(json!({"match": {"log": {"query": "error request", "operator": "and"}}}), 4)]
#[case(json!({"match": {"log": {"query": "error info zebra", "minimum_should_match": 2}}}), 0)]
#[case(json!({"match_phrase": {"log": "request 7 served"}}), 1)]
#[case(json!({"match_phrase_prefix": {"log": "request 1"}}), 3)]
#[case(json!({"match": {"log": {"query": "eror", "fuzziness": 1}}}), 4)]
#[case(json!({"multi_match": {"query": "warn", "fields": ["log^2", "level"]}}), 4)]
#[case(json!({"query_string": {"query": "level:error OR size:[100 TO *]"}}), 5)]
#[case(json!({"query_string": {"fields": ["log", "level"], "query": "warn"}}), 4)]
#[case(json!({"query_string": {"default_field": "size", "query": "abc", "lenient": true}}), 0)]
#[case(json!({"term": {"level": "warn"}}), 4)]
#[case(json!({"term": {"size": {"value": 30, "boost": 2}}}), 1)]
#[case(json!({"terms": {"size": [0, 10, 999]}}), 2)]
#[case(json!({"range": {"size": {"gt": 10, "lte": 30}}}), 2)]
#[case(json!({"range": {"ratio": {"gte": 1.5, "lt": 3.5}}}), 2)]
#[case(json!({"range": {"@timestamp": {"gte": "2015-06-23", "lt": "2015-06-23||+2h"}}}), 2)]
#[case(json!({"range": {"@timestamp": {"gte": "23/06/2015", "format": "dd/MM/yyyy"}}}), 6)]
#[case(json!({"range": {"@timestamp": {"gte": "2015-06-23T02:00:00", "time_zone": "+02:00"}}}), 6)]
#[case(json!({"prefix": {"level": "er"}}), 4)]
#[case(json!({"wildcard": {"level": "w*n"}}), 4)]
#[case(json!({"regexp": {"level": "(warn|info)"}}), 8)]
#[case(json!({"fuzzy": {"level": "worn"}}), 4)]
#[case(json!({"ids": {"values": ["1", "2", "nope"]}}), 2)]
#[case(json!({"bool": {"must": {"term": {"level": "info"}}, "must_not": [{"term": {"size": 0}}], "should": {"term": {"size": 30}}}}), 3)]
#[case(json!({"bool": {"must_not": {"term": {"level": "info"}}}}), 8)]
#[case(json!({"filtered": {"query": {"match_all": {}}, "filter": {"and": [{"term": {"level": "info"}}, {"not": {"term": {"size": 0}}}]}}}), 3)]
#[case(json!({"filtered": {"filter": {"or": {"filters": [{"term": {"size": 0}}, {"term": {"size": 10}}]}}}}), 2)]
#[case(json!({"constant_score": {"filter": {"exists": {"field": "size"}}, "boost": 3}}), 12)]
#[case(json!({"filtered": {"filter": {"missing": {"field": "nope"}}}}), 12)]
#[case(json!({"filtered": {"filter": {"type": {"value": "fluentd"}}}}), 12)]
#[case(json!({"filtered": {"filter": {"query": {"query_string": {"query": "warn"}}}}}), 4)]
#[case(json!({"dis_max": {"queries": [{"term": {"level": "info"}}, {"term": {"level": "warn"}}], "tie_breaker": 0.5}}), 8)]
#[tokio::test]
async fn a_query_of_a_body_finds_what_it_says(#[case] query: Value, #[case] total: u64) {
    let backend = logs().await;
    let answer = backend.post("/logstash-*/_search", &json!({"query": query}).to_string()).await;
    assert_eq!(answer.body["hits"]["total"], total, "{}", answer.text);
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
async fn bad_input_is_refused_with_a_reason(#[case] uri: &str, #[case] body: Value) {
    let backend = logs().await;
    let answer = backend.post(uri, &body.to_string()).await;
    assert_eq!((answer.status, &answer.body["status"]), (400, &json!(400)), "{}", answer.text);
    assert!(answer.body["error"].as_str().is_some_and(|error| error.contains('[')), "{}", answer.text);
}

#[tokio::test]
async fn hits_come_in_the_order_that_is_asked_for() {
    let backend = logs().await;
    assert_eq!(backend.ids("/_search", &json!({"sort": [{"level": "asc"}, {"size": {"order": "desc"}}], "size": 3})).await, ["11", "8", "5"]);
    assert_eq!(backend.ids("/_search?sort=@timestamp:desc&size=2&from=1", &json!({})).await, ["10", "9"]);
    let answer = backend.get("/_search?sort=size:asc&size=1").await;
    assert_eq!(
        (&answer.body["hits"]["hits"][0]["sort"], &answer.body["hits"]["hits"][0]["_score"], &answer.body["hits"]["max_score"]),
        (&json!([0]), &Value::Null, &Value::Null)
    );
    let missing = json!({"sort": [{"nope": {"order": "asc", "unmapped_type": "long"}}, {"size": "asc"}], "size": 1});
    assert_eq!(backend.ids("/_search", &missing).await, ["0"]);
}

#[tokio::test]
async fn a_hit_shows_the_parts_that_are_asked_for() {
    let backend = logs().await;
    let body = json!({"query": {"match": {"log": "error"}}, "size": 1, "_source": {"include": ["lev*"]}, "highlight": {"fields": {"log": {"pre_tags": ["<b>"], "post_tags": ["</b>"]}}}, "fielddata_fields": ["@timestamp"], "explain": true, "version": true});
    let answer = backend.post("/_search", &body.to_string()).await;
    let hit = &answer.body["hits"]["hits"][0];
    assert_eq!(hit["_source"], json!({"level": "error"}));
    assert!(hit["highlight"]["log"][0].as_str().unwrap().starts_with("<b>error</b> request"), "{hit}");
    assert!(hit["fields"]["@timestamp"][0].is_i64(), "{hit}");
    assert_eq!(hit["_version"], 1);
    let (score, explained) = (hit["_score"].as_f64().unwrap(), hit["_explanation"]["value"].as_f64().unwrap());
    assert!((score - explained).abs() < 1e-6, "{hit}");
    let fields = backend.get("/_search?q=_id:3&fields=level,size").await;
    assert_eq!(fields.body["hits"]["hits"][0]["fields"], json!({"level": ["info"], "size": [30]}));
    assert!(fields.body["hits"]["hits"][0].get("_source").is_none());
}

#[tokio::test]
async fn aggregations_stand_under_one_another() {
    let backend = logs().await;
    let body = json!({"size": 0, "aggs": {
        "days": {"date_histogram": {"field": "@timestamp", "interval": "day", "format": "yyyy-MM-dd"}, "aggs": {"levels": {"terms": {"field": "level", "order": {"most": "desc"}}, "aggs": {"most": {"max": {"field": "size"}}}}}},
        "sizes": {"stats": {"field": "size"}},
        "steps": {"histogram": {"field": "size", "interval": 50}},
        "bands": {"range": {"field": "size", "ranges": [{"to": 50}, {"from": 50, "key": "large"}]}},
        "late": {"date_range": {"field": "@timestamp", "ranges": [{"from": "2015-06-23"}]}},
        "errors": {"filter": {"term": {"level": "error"}}, "aggs": {"best": {"top_hits": {"size": 1, "sort": [{"size": "desc"}]}}}},
        "named": {"filters": {"filters": {"w": {"term": {"level": "warn"}}}}},
        "without": {"missing": {"field": "nope"}},
        "kinds": {"cardinality": {"field": "level"}},
        "count": {"value_count": {"field": "ratio"}},
        "mean": {"avg": {"field": "ratio"}},
        "gone": {"min": {"field": "nope"}},
    }});
    let answer = backend.post("/_search", &body.to_string()).await;
    let aggs = &answer.body["aggregations"];
    assert_eq!(aggs["days"]["buckets"].as_array().unwrap().len(), 2, "{}", answer.text);
    assert_eq!(aggs["days"]["buckets"][0]["key_as_string"], "2015-06-22");
    let levels: Vec<(&str, u64, f64)> = aggs["days"]["buckets"][0]["levels"]["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| (bucket["key"].as_str().unwrap(), bucket["doc_count"].as_u64().unwrap(), bucket["most"]["value"].as_f64().unwrap()))
        .collect();
    assert_eq!(levels, [("error", 2, 50.0), ("warn", 2, 40.0), ("info", 2, 30.0)]);
    assert_eq!(aggs["sizes"], json!({"count": 12, "min": 0.0, "max": 110.0, "avg": 55.0, "sum": 660.0}));
    assert_eq!(aggs["steps"]["buckets"], json!([{"key": 0, "doc_count": 5}, {"key": 50, "doc_count": 5}, {"key": 100, "doc_count": 2}]));
    assert_eq!(aggs["bands"]["buckets"][0], json!({"key": "*-50.0", "to": 50.0, "to_as_string": "50.0", "doc_count": 5}));
    assert_eq!(aggs["bands"]["buckets"][1]["key"], "large");
    assert_eq!(aggs["late"]["buckets"][0]["doc_count"], 6);
    assert_eq!(aggs["errors"]["best"]["hits"]["hits"][0]["_id"], "11");
    assert_eq!(aggs["named"]["buckets"]["w"]["doc_count"], 4);
    assert_eq!(
        (&aggs["without"]["doc_count"], &aggs["kinds"]["value"], &aggs["count"]["value"], &aggs["mean"]["value"], &aggs["gone"]["value"]),
        (&json!(12), &json!(3), &json!(12), &json!(6.0), &Value::Null)
    );
}

#[tokio::test]
async fn a_histogram_fills_its_gaps_when_told_to() {
    let backend = logs().await;
    let body = json!({"size": 0, "query": {"terms": {"size": [0, 30]}}, "aggs": {"h": {"date_histogram": {"field": "@timestamp", "interval": "1h", "min_doc_count": 0, "extended_bounds": {"min": "2015-06-21T23:00:00", "max": "2015-06-22T04:00:00"}}}}});
    let answer = backend.post("/_search", &body.to_string()).await;
    let counts: Vec<u64> = answer.body["aggregations"]["h"]["buckets"].as_array().unwrap().iter().map(|bucket| bucket["doc_count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [0, 1, 0, 0, 1, 0]);
}

#[tokio::test]
async fn a_scroll_gives_every_hit_once_whatever_is_written_meanwhile() {
    let backend = logs().await;
    let mut answer = backend.get("/_search?scroll=1m&size=5&sort=size:asc").await;
    let mut ids = Vec::new();
    loop {
        let hits = answer.body["hits"]["hits"].as_array().unwrap().clone();
        if hits.is_empty() {
            break;
        }
        ids.extend(hits.iter().map(|hit| hit["_id"].as_str().unwrap().to_owned()));
        backend.send("DELETE", "/logstash-2015.06.23/fluentd/11?refresh=true", "").await;
        answer = backend.post("/_search/scroll?scroll=1m", answer.body["_scroll_id"].as_str().unwrap()).await;
    }
    assert_eq!(ids, (0..12).map(|n| n.to_string()).collect::<Vec<_>>());
    let id = answer.body["_scroll_id"].as_str().unwrap().to_owned();
    assert_eq!(backend.send("DELETE", "/_search/scroll", &id).await.status, 200);
    assert_eq!(backend.post("/_search/scroll", &id).await.status, 404);
    let kept = backend.get("/_search?scroll=1s&size=1").await.body["_scroll_id"].as_str().unwrap().to_owned();
    backend.step(Duration::from_secs(5));
    assert_eq!(backend.post("/_search/scroll", &kept).await.status, 404);
}

#[tokio::test]
async fn names_lists_patterns_and_aliases_lead_to_indices() {
    let backend = logs().await;
    let total = async |uri: &str| backend.get(uri).await.body["hits"]["total"].clone();
    assert_eq!(total("/logstash-2015.06.22/_search").await, 6);
    assert_eq!(total("/logstash-2015.06.22,logstash-2015.06.23/_search").await, 12);
    assert_eq!(total("/logstash-*,-logstash-2015.06.23/_search").await, 6);
    assert_eq!(total("/_all/fluentd/_search").await, 12);
    assert_eq!(total("/_all/other/_search").await, 0);
    assert_eq!(backend.get("/nope/_search").await.status, 404);
    assert_eq!(backend.get("/nope,logstash-*/_search?ignore_unavailable=true").await.body["hits"]["total"], 12);
    let action = json!({"actions": [{"add": {"index": "logstash-*", "alias": "warnings", "filter": {"term": {"level": "warn"}}}}]});
    assert_eq!(backend.post("/_aliases", &action.to_string()).await.status, 200);
    assert_eq!(total("/warnings/_search").await, 4);
    assert_eq!(backend.send("DELETE", "/logstash-2015.06.22/_alias/warnings", "").await.status, 200);
    assert_eq!(total("/warnings/_search").await, 2);
    assert_eq!(backend.post("/logstash-2015.06.22/_close", "").await.status, 200);
    assert_eq!(total("/_search").await, 6);
    assert_eq!(backend.get("/logstash-2015.06.22/_search").await.status, 403);
}

#[tokio::test]
async fn templates_shape_new_indices() {
    let backend = Backend::new();
    let template = json!({"template": "logs-*", "settings": {"number_of_shards": 2}, "mappings": {"_default_": {"dynamic_templates": [{"raw": {"match_mapping_type": "string", "mapping": {"type": "string", "fields": {"raw": {"type": "string", "index": "not_analyzed"}}}}}]}}, "aliases": {"{index}-alias": {}}});
    assert_eq!(backend.put("/_template/logs", &template.to_string()).await.status, 200);
    backend.put("/logs-1/line/1?refresh=true", r#"{"text": "Two Words"}"#).await;
    assert_eq!(backend.get("/logs-1/_search?q=text.raw:%22Two+Words%22").await.body["hits"]["total"], 1);
    assert_eq!(backend.get("/logs-1/_settings").await.body["logs-1"]["settings"]["index"]["number_of_shards"], "2");
    assert_eq!(backend.get("/logs-1-alias/_count").await.body["count"], 1);
    assert_eq!(backend.get("/logs-1/_mapping/line").await.body["logs-1"]["mappings"]["line"]["properties"]["text"]["fields"]["raw"]["index"], "not_analyzed");
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
async fn the_first_value_gives_a_field_its_kind(#[case] first: Value, #[case] second: Value, #[case] status: u16) {
    let backend = Backend::new();
    assert_eq!(backend.put("/a/t/1", &first.to_string()).await.status, 201);
    let answer = backend.put("/a/t/2", &second.to_string()).await;
    assert_eq!(answer.status, status, "{}", answer.text);
}

#[tokio::test]
async fn the_status_page_has_every_field() {
    let answer = Backend::new().get("/").await.body;
    assert_eq!(
        (&answer["status"], &answer["cluster_name"], &answer["version"]["number"], &answer["version"]["lucene_version"], &answer["version"]["build_snapshot"]),
        (&json!(200), &json!("kubernetes-logging"), &json!("1.5.2"), &json!("4.10.4"), &json!(false))
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
async fn a_status_surface_says_what_it_is_asked(#[case] uri: &str, #[case] key: &str) {
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
async fn a_table_shows_what_it_is_of(#[case] uri: &str, #[case] text: &str) {
    let answer = logs().await.get(uri).await;
    assert!(answer.status == 200 && answer.text.contains(text), "{}", answer.text);
}

#[tokio::test]
async fn several_searches_are_answered_one_by_one() {
    let backend = logs().await;
    let body = "{\"index\":\"logstash-*\"}\n{\"query\":{\"term\":{\"level\":\"warn\"}}}\n{\"index\":\"nope\"}\n{}\n{}\n{\"size\":0}\n";
    let answer = backend.post("/_msearch", body).await;
    let responses = answer.body["responses"].as_array().unwrap();
    assert_eq!((&responses[0]["hits"]["total"], &responses[2]["hits"]["total"]), (&json!(4), &json!(12)));
    assert!(responses[1]["error"].is_string());
}

#[tokio::test]
async fn limits_are_refusals() {
    let limits = Limits { body: 2_000, query: 100, depth: 5, clauses: 8, window: 50, buckets: 3, indices: 3, fields: 8, scrolls: 1, searches: 1 };
    let backend = Backend::with(limits);
    for id in 0..5 {
        backend.put(&format!("/a/t/{id}?refresh=true"), &json!({"n": id}).to_string()).await;
    }
    let refused = async |method: &str, uri: &str, body: String, status: u16| {
        let answer = backend.send(method, uri, &body).await;
        assert_eq!(answer.status, status, "{uri}: {}", answer.text);
    };
    refused("POST", "/_search", "x".repeat(2_001), 413).await;
    refused("GET", &format!("/_search?q={}", "x".repeat(101)), String::new(), 400).await;
    refused("GET", "/_search?q=a+b+c+d+e+f+g+h+i", String::new(), 400).await;
    refused("GET", "/_search?from=45&size=6", String::new(), 400).await;
    refused("GET", "/_search?q=/((a{50}){50}){50}/", String::new(), 400).await;
    let nested = (0..6).fold(json!({"match_all": {}}), |inner, _| json!({"bool": {"must": inner}}));
    refused("POST", "/_search", json!({"query": nested}).to_string(), 400).await;
    refused("POST", "/_search", json!({"aggs": {"n": {"terms": {"field": "n"}}}}).to_string(), 400).await;
    let fields: serde_json::Map<String, Value> = (0..9).map(|n| (format!("f{n}"), json!(n))).collect();
    refused("PUT", "/b/t/1", Value::Object(fields).to_string(), 400).await;
    refused("PUT", "/c", String::new(), 200).await;
    refused("PUT", "/d", String::new(), 400).await;
    refused("GET", "/_search?scroll=1m", String::new(), 200).await;
    refused("GET", "/_search?scroll=1m", String::new(), 429).await;
    refused("POST", "/_msearch", "{}\n{}\n{}\n{}\n".to_owned(), 400).await;
}

#[tokio::test]
async fn it_is_served_over_a_socket_and_pretty_when_asked() {
    let backend = logs().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/_search?pretty=true&size=0", listener.local_addr().unwrap());
    let server = backend.server.clone();
    let serving = tokio::spawn(async move { server.serve(listener).await });
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    assert!(text.starts_with("{\n  \"took\" : 0,\n  \"timed_out\" : false,\n  \"_shards\" : {\n    \"total\" : 10,"), "{text}");
    serving.abort();
}
