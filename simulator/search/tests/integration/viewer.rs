//! Requests of a log viewer of 2015 (Kibana 4), in their order.

use serde_json::{Value, json};

use crate::support::{ask, logs};

#[tokio::test]
async fn a_viewer_creates_its_own_index_on_start() {
    let backend = logs().await;
    let nodes = ask(&backend, "GET", "/_nodes", Value::Null).await;
    let versions: Vec<&Value> = nodes["nodes"]
        .as_object()
        .unwrap()
        .values()
        .map(|node| &node["version"])
        .collect();
    assert_eq!(versions, ["1.5.2", "1.5.2"]);
    let health = ask(&backend, "GET", "/_cluster/health/.kibana?timeout=5000ms", Value::Null).await;
    assert_eq!((&health["status"], &health["timed_out"]), (&json!("red"), &json!(true)));
    let settings = json!({
        "settings": {"number_of_shards": 1, "number_of_replicas": 1},
        "mappings": {"config": {"properties": {"buildNum": {"type": "string", "index": "not_analyzed"}}}}
    });
    ask(&backend, "PUT", "/.kibana", settings).await;
    let newest = json!({"size": 1000, "sort": [{"buildNum": {"order": "desc", "ignore_unmapped": true}}]});
    let configurations = ask(&backend, "POST", "/.kibana/config/_search", newest).await;
    assert_eq!(configurations["hits"]["total"], 0);
    let written = ask(&backend, "PUT", "/.kibana/config/4.0.2", json!({"buildNum": 6004})).await;
    assert_eq!(written["created"], true);
    let both = json!({
        "docs": [
            {"_index": ".kibana", "_type": "config", "_id": "4.0.2"},
            {"_index": ".kibana", "_type": "index-pattern", "_id": "logstash-*"},
        ]
    });
    let read = ask(&backend, "POST", "/_mget", both).await;
    assert_eq!(
        (&read["docs"][0]["found"], &read["docs"][1]["found"]),
        (&json!(true), &json!(false))
    );
}

#[tokio::test]
async fn a_viewer_reads_the_fields_and_saves_its_objects() {
    let backend = logs().await;
    let uri = "/logstash-*/_mapping/field/*?ignore_unavailable=false&allow_no_indices=false&include_defaults=true";
    let fields = ask(&backend, "GET", uri, Value::Null).await;
    let (_, index) = fields.as_object().unwrap().iter().next().unwrap();
    let time = &index["mappings"]["fluentd"]["@timestamp"]["mapping"]["@timestamp"];
    assert_eq!(
        (&time["type"], &time["format"]),
        (&json!("date"), &json!("dateOptionalTime"))
    );
    let log = &index["mappings"]["fluentd"]["log"]["mapping"]["log"];
    assert_eq!((&log["index"], &log["doc_values"]), (&json!("analyzed"), &json!(false)));
    assert_eq!(
        index["mappings"]["fluentd"]["_source"]["mapping"]["_source"]["enabled"],
        true
    );

    let pattern = json!({"title": "logstash-*", "timeFieldName": "@timestamp", "fields": "[]"});
    let saved = "/.kibana/index-pattern/logstash-*?op_type=create";
    ask(&backend, "PUT", saved, pattern.clone()).await;
    assert_eq!(backend.put(saved, &pattern.to_string()).await.status, 409);
    let search = json!({
        "title": "errors",
        "hits": 0,
        "columns": ["_source"],
        "kibanaSavedObjectMeta": {"searchSourceJSON": "{}"},
        "version": 1
    });
    ask(&backend, "PUT", "/.kibana/search/errors?op_type=create", search).await;
    ask(&backend, "POST", "/.kibana/_refresh", Value::Null).await;
    let listing = json!({
        "query": {
            "simple_query_string": {"query": "err*", "fields": ["title^3", "description"], "default_operator": "AND"},
        },
        "size": 100
    });
    let found = ask(&backend, "POST", "/.kibana/search/_search", listing).await;
    assert_eq!(found["hits"]["hits"][0]["_id"], "errors");
    ask(&backend, "DELETE", "/.kibana/search/errors", Value::Null).await;
    assert_eq!(backend.get("/.kibana/search/errors").await.status, 404);
}

#[tokio::test]
async fn a_viewer_shows_a_histogram_and_significant_terms() {
    let backend = logs().await;
    let everything = json!({"query_string": {"query": "level:error", "analyze_wildcard": true}});
    let range = json!({"range": {"@timestamp": {"gte": 1_434_931_200_000_i64, "lte": 1_435_276_800_000_i64}}});
    let filtered = json!({"filtered": {"query": everything, "filter": {"bool": {"must": [range], "must_not": []}}}});
    let discover = json!({
        "query": filtered,
        "size": 500,
        "sort": [{"@timestamp": {"order": "desc", "unmapped_type": "boolean"}}],
        "highlight": {
            "pre_tags": ["@hl@"],
            "post_tags": ["@/hl@"],
            "fields": {"*": {}},
            "fragment_size": 2_147_483_647,
        },
        "aggs": {
            "2": {
                "date_histogram": {
                    "field": "@timestamp",
                    "interval": "12h",
                    "pre_zone": "+02:00",
                    "pre_zone_adjust_large_interval": true,
                    "min_doc_count": 0,
                    "extended_bounds": {"min": 1_434_931_200_000_i64, "max": 1_435_276_800_000_i64},
                },
            },
        },
        "fields": ["*", "_source"],
        "script_fields": {},
        "fielddata_fields": ["@timestamp"],
    });
    let chart = json!({
        "query": {"match_all": {}},
        "size": 0,
        "aggs": {
            "1": {"date_histogram": {"field": "@timestamp", "interval": "1d", "offset": "+6h", "min_doc_count": 1}},
            "2": {
                "filter": {"term": {"level": "error"}},
                "aggs": {"3": {"significant_terms": {"field": "log", "size": 3}}},
            },
        },
    });
    let header = json!({"index": ["logstash-*"], "search_type": "count", "ignore_unavailable": true});
    let lines = format!("{{\"index\":\"logstash-*\",\"ignore_unavailable\":true}}\n{discover}\n{header}\n{chart}\n");
    let answer = backend
        .post("/_msearch?timeout=0&ignore_unavailable=true", &lines)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let (shown, counted) = (&answer.body["responses"][0], &answer.body["responses"][1]);
    assert_eq!(shown["hits"]["total"], 4, "{}", answer.text);
    let hit = &shown["hits"]["hits"][0];
    assert!(
        hit["highlight"]["level"][0]
            .as_str()
            .unwrap()
            .contains("@hl@error@/hl@"),
        "{hit}"
    );
    assert_eq!(hit["fields"]["@timestamp"].as_array().unwrap().len(), 1);
    let buckets = shown["aggregations"]["2"]["buckets"].as_array().unwrap();
    let sum: u64 = buckets.iter().filter_map(|bucket| bucket["doc_count"].as_u64()).sum();
    assert_eq!(sum, 4);
    let days = counted["aggregations"]["1"]["buckets"].as_array().unwrap();
    assert!(
        days.iter()
            .all(|day| day["key_as_string"].as_str().unwrap().contains("T06:00:00")),
        "{days:?}"
    );
    let significant = &counted["aggregations"]["2"]["3"];
    assert_eq!(significant["doc_count"], 4);
    assert!(significant["buckets"].is_array());
}
