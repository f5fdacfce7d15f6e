//! Search bodies, aggregations, sorting, highlighting and scrolls.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, logs};

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
#[case(json!({"range": {"@timestamp": {"gte": "2015-06-22T23:00:00", "lte": "2015-06-22||+2h"}}}), 2)]
#[case(json!({"query_string": {"query": "@timestamp:[2015-06-22T23\\:00\\:00 TO 2015-06-22||+2h]"}}), 0)]
#[case(json!({"range": {"@timestamp": {"gte": "23/06/2015", "format": "dd/MM/yyyy"}}}), 6)]
#[case(json!({"range": {"@timestamp": {"gte": "2015-06-23T02:00:00", "time_zone": "+02:00"}}}), 6)]
#[case(json!({"prefix": {"level": "er"}}), 4)]
#[case(json!({"wildcard": {"level": "w*n"}}), 4)]
#[case(json!({"regexp": {"level": "(warn|info)"}}), 8)]
#[case(json!({"fuzzy": {"level": "worn"}}), 4)]
#[case(json!({"ids": {"values": ["1", "2", "nope"]}}), 2)]
#[case(
    json!({
        "bool": {
            "must": {"term": {"level": "info"}},
            "must_not": [{"term": {"size": 0}}],
            "should": {"term": {"size": 30}},
        }
    }),
    3
)]
#[case(json!({"bool": {"must_not": {"term": {"level": "info"}}}}), 8)]
#[case(
    json!({
        "filtered": {
            "query": {"match_all": {}},
            "filter": {"and": [{"term": {"level": "info"}}, {"not": {"term": {"size": 0}}}]},
        }
    }),
    3
)]
#[case(json!({"filtered": {"filter": {"or": {"filters": [{"term": {"size": 0}}, {"term": {"size": 10}}]}}}}), 2)]
#[case(json!({"constant_score": {"filter": {"exists": {"field": "size"}}, "boost": 3}}), 12)]
#[case(json!({"filtered": {"filter": {"missing": {"field": "nope"}}}}), 12)]
#[case(json!({"filtered": {"filter": {"type": {"value": "fluentd"}}}}), 12)]
#[case(json!({"filtered": {"filter": {"query": {"query_string": {"query": "warn"}}}}}), 4)]
#[case(
    json!({"dis_max": {"queries": [{"term": {"level": "info"}}, {"term": {"level": "warn"}}], "tie_breaker": 0.5}}),
    8
)]
#[tokio::test]
async fn a_query_matches(#[case] query: Value, #[case] total: u64) {
    let backend = logs().await;
    let answer = backend
        .post("/logstash-*/_search", &json!({"query": query}).to_string())
        .await;
    assert_eq!(answer.body["hits"]["total"], total, "{}", answer.text);
}

#[tokio::test]
async fn hits_are_sorted() {
    let backend = logs().await;
    assert_eq!(
        backend
            .ids(
                "/_search",
                &json!({"sort": [{"level": "asc"}, {"size": {"order": "desc"}}], "size": 3})
            )
            .await,
        ["11", "8", "5"]
    );
    assert_eq!(
        backend
            .ids("/_search?sort=@timestamp:desc&size=2&from=1", &json!({}))
            .await,
        ["10", "9"]
    );
    let answer = backend.get("/_search?sort=size:asc&size=1").await;
    assert_eq!(
        (
            &answer.body["hits"]["hits"][0]["sort"],
            &answer.body["hits"]["hits"][0]["_score"],
            &answer.body["hits"]["max_score"]
        ),
        (&json!([0]), &Value::Null, &Value::Null)
    );
    let missing = json!({"sort": [{"nope": {"order": "asc", "unmapped_type": "long"}}, {"size": "asc"}], "size": 1});
    assert_eq!(backend.ids("/_search", &missing).await, ["0"]);
}

#[tokio::test]
async fn a_hit_has_the_requested_parts() {
    let backend = logs().await;
    let body = json!({
        "query": {"match": {"log": "error"}},
        "size": 1,
        "_source": {"include": ["lev*"]},
        "highlight": {"fields": {"log": {"pre_tags": ["<b>"], "post_tags": ["</b>"]}}},
        "fielddata_fields": ["@timestamp"],
        "explain": true,
        "version": true
    });
    let answer = backend.post("/_search", &body.to_string()).await;
    let hit = &answer.body["hits"]["hits"][0];
    assert_eq!(hit["_source"], json!({"level": "error"}));
    assert!(
        hit["highlight"]["log"][0]
            .as_str()
            .unwrap()
            .starts_with("<b>error</b> request"),
        "{hit}"
    );
    assert!(hit["fields"]["@timestamp"][0].is_i64(), "{hit}");
    assert_eq!(hit["_version"], 1);
    let (score, explained) = (
        hit["_score"].as_f64().unwrap(),
        hit["_explanation"]["value"].as_f64().unwrap(),
    );
    assert!((score - explained).abs() < 1e-6, "{hit}");
    let fields = backend.get("/_search?q=_id:3&fields=level,size").await;
    assert_eq!(
        fields.body["hits"]["hits"][0]["fields"],
        json!({"level": ["info"], "size": [30]})
    );
    assert!(fields.body["hits"]["hits"][0].get("_source").is_none());
}

#[tokio::test]
async fn aggregations_can_be_nested() {
    let backend = logs().await;
    let body = json!({"size": 0, "aggs": {
        "days": {
            "date_histogram": {"field": "@timestamp", "interval": "day", "format": "yyyy-MM-dd"},
            "aggs": {
                "levels": {
                    "terms": {"field": "level", "order": {"most": "desc"}},
                    "aggs": {"most": {"max": {"field": "size"}}},
                },
            },
        },
        "sizes": {"stats": {"field": "size"}},
        "steps": {"histogram": {"field": "size", "interval": 50}},
        "bands": {"range": {"field": "size", "ranges": [{"to": 50}, {"from": 50, "key": "large"}]}},
        "late": {"date_range": {"field": "@timestamp", "ranges": [{"from": "2015-06-23"}]}},
        "errors": {
            "filter": {"term": {"level": "error"}},
            "aggs": {"best": {"top_hits": {"size": 1, "sort": [{"size": "desc"}]}}},
        },
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
        .map(|bucket| {
            (
                bucket["key"].as_str().unwrap(),
                bucket["doc_count"].as_u64().unwrap(),
                bucket["most"]["value"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(levels, [("error", 2, 50.0), ("warn", 2, 40.0), ("info", 2, 30.0)]);
    assert_eq!(
        aggs["sizes"],
        json!({"count": 12, "min": 0.0, "max": 110.0, "avg": 55.0, "sum": 660.0})
    );
    assert_eq!(
        aggs["steps"]["buckets"],
        json!([{"key": 0, "doc_count": 5}, {"key": 50, "doc_count": 5}, {"key": 100, "doc_count": 2}])
    );
    assert_eq!(
        aggs["bands"]["buckets"][0],
        json!({"key": "*-50.0", "to": 50.0, "to_as_string": "50.0", "doc_count": 5})
    );
    assert_eq!(aggs["bands"]["buckets"][1]["key"], "large");
    assert_eq!(aggs["late"]["buckets"][0]["doc_count"], 6);
    assert_eq!(aggs["errors"]["best"]["hits"]["hits"][0]["_id"], "11");
    assert_eq!(aggs["named"]["buckets"]["w"]["doc_count"], 4);
    assert_eq!(
        (
            &aggs["without"]["doc_count"],
            &aggs["kinds"]["value"],
            &aggs["count"]["value"],
            &aggs["mean"]["value"],
            &aggs["gone"]["value"]
        ),
        (&json!(12), &json!(3), &json!(12), &json!(6.0), &Value::Null)
    );
}

#[tokio::test]
async fn a_minimum_count_of_zero_fills_gaps_of_a_histogram() {
    let backend = logs().await;
    let body = json!({
        "size": 0,
        "query": {"terms": {"size": [0, 30]}},
        "aggs": {
            "h": {
                "date_histogram": {
                    "field": "@timestamp",
                    "interval": "1h",
                    "min_doc_count": 0,
                    "extended_bounds": {"min": "2015-06-21T23:00:00", "max": "2015-06-22T04:00:00"},
                },
            },
        }
    });
    let answer = backend.post("/_search", &body.to_string()).await;
    let counts: Vec<u64> = answer.body["aggregations"]["h"]["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| bucket["doc_count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [0, 1, 0, 0, 1, 0]);
}

#[tokio::test]
async fn a_scroll_returns_every_hit_once_despite_concurrent_writes() {
    let backend = logs().await;
    let mut answer = backend.get("/_search?scroll=1m&size=5&sort=size:asc").await;
    let mut ids = Vec::new();
    loop {
        let hits = answer.body["hits"]["hits"].as_array().unwrap().clone();
        if hits.is_empty() {
            break;
        }
        ids.extend(hits.iter().map(|hit| hit["_id"].as_str().unwrap().to_owned()));
        backend
            .send("DELETE", "/logstash-2015.06.23/fluentd/11?refresh=true", "")
            .await;
        answer = backend
            .post("/_search/scroll?scroll=1m", answer.body["_scroll_id"].as_str().unwrap())
            .await;
    }
    assert_eq!(ids, (0..12).map(|n| n.to_string()).collect::<Vec<_>>());
    let id = answer.body["_scroll_id"].as_str().unwrap().to_owned();
    assert_eq!(backend.send("DELETE", "/_search/scroll", &id).await.status, 200);
    assert_eq!(backend.post("/_search/scroll", &id).await.status, 404);
    let kept = backend.get("/_search?scroll=1s&size=1").await.body["_scroll_id"]
        .as_str()
        .unwrap()
        .to_owned();
    backend.step(Duration::from_secs(65));
    assert_eq!(backend.post("/_search/scroll", &kept).await.status, 404);
}

#[tokio::test]
async fn each_search_of_a_multi_search_has_its_own_response() {
    let backend = logs().await;
    let body = "{\"index\":\"logstash-*\"}\n{\"query\":{\"term\":{\"level\":\"warn\"}}}\n\
                {\"index\":\"nope\"}\n{}\n{}\n{\"size\":0}\n";
    let answer = backend.post("/_msearch", body).await;
    let responses = answer.body["responses"].as_array().unwrap();
    assert_eq!(
        (&responses[0]["hits"]["total"], &responses[2]["hits"]["total"]),
        (&json!(4), &json!(12))
    );
    assert!(responses[1]["error"].is_string());
}

#[tokio::test]
async fn extreme_numbers_are_handled() {
    let backend = logs().await;
    for (id, value) in [("low", i64::MIN), ("high", i64::MAX)] {
        let body = json!({"size": value, "@timestamp": value}).to_string();
        let uri = format!("/logstash-2015.06.22/fluentd/{id}?refresh=true");
        assert_eq!(backend.put(&uri, &body).await.status, 201);
    }
    for body in [
        json!({"aggs": {"h": {"date_histogram": {"field": "@timestamp", "interval": "week", "time_zone": "-05:00"}}}}),
        json!({"aggs": {"h": {"histogram": {"field": "size", "interval": 7}}}}),
        json!({"query": {"range": {"@timestamp": {"gt": i64::MAX, "time_zone": "+05:00"}}}}),
        json!({"query": {"query_string": {"query": "@timestamp:[9223372036854775807||/w TO now+99999999999999999y]"}}}),
        json!({"timeout": "99999999999999w"}),
        json!({"query": {"bool": {"should": [{"match_all": {}}], "minimum_should_match": "-9223372036854775808%"}}}),
        json!({"sort": [{"size": "desc"}, {"@timestamp": "asc"}]}),
    ] {
        let answer = backend.post("/_search", &body.to_string()).await;
        assert!(matches!(answer.status, 200 | 400), "{body}: {}", answer.text);
    }
    let uri = "/a/t/1?version=9223372036854775807&version_type=external";
    assert_eq!(backend.put(uri, "{}").await.status, 201);
    assert_eq!(backend.put("/a/t/1", "{}").await.status, 200);
}

#[tokio::test]
async fn the_requests_of_a_log_viewer_are_supported() {
    let backend = logs().await;
    let range = json!({"range": {"@timestamp": {"gte": 1434931200000u64, "lte": 1435103999999u64}}});
    let body = json!({
        "size": 500,
        "sort": [{"@timestamp": {"order": "desc", "unmapped_type": "boolean"}}],
        "query": {"filtered": {
            "query": {"query_string": {"analyze_wildcard": true, "query": "level:err*"}},
            "filter": {"bool": {"must": [range], "must_not": []}},
        }},
        "highlight": {
            "pre_tags": ["@kibana-highlighted-field@"],
            "post_tags": ["@/kibana-highlighted-field@"],
            "fields": {"*": {}},
        },
        "aggs": {"2": {"date_histogram": {
            "field": "@timestamp", "interval": "12h", "pre_zone": "+02:00", "pre_zone_adjust_large_interval": true,
            "min_doc_count": 0, "extended_bounds": {"min": 1434931200000u64, "max": 1435103999999u64},
        }}},
        "fields": ["*", "_source"],
        "script_fields": {},
        "fielddata_fields": ["@timestamp"],
    });
    let request = format!(
        "{}\n{body}\n",
        json!({"index": "logstash-*", "search_type": "query_then_fetch", "ignore_unavailable": true})
    );
    let answer = backend
        .post("/_msearch?timeout=0&ignore_unavailable=true&preference=1", &request)
        .await;
    let answer = &answer.body["responses"][0];
    assert_eq!(answer["hits"]["total"], 4, "{answer}");
    let hit = &answer["hits"]["hits"][0];
    assert_eq!(hit["_id"], "11");
    assert_eq!(
        hit["highlight"]["level"][0],
        "@kibana-highlighted-field@error@/kibana-highlighted-field@"
    );
    assert_eq!(hit["_source"]["size"], 110);
    let counts: Vec<u64> = answer["aggregations"]["2"]["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| bucket["doc_count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts.iter().sum::<u64>(), 4, "{answer}");
}

#[tokio::test]
async fn ids_match_prefixes() {
    let backend = logs().await;
    for (query, expected) in [
        (json!({"prefix": {"_id": "1"}}), vec!["1", "10", "11"]),
        // The separator of types and ids is an operator of regular expressions, which matches nothing.
        (json!({"regexp": {"_id": "[23]"}}), vec![]),
        (json!({"regexp": {"_uid": ".*[23]"}}), vec!["2", "3"]),
        (json!({"query_string": {"query": "_id:1*"}}), vec!["1", "10", "11"]),
        (
            json!({"filtered": {"filter": {"prefix": {"_id": "1"}}}}),
            vec!["1", "10", "11"],
        ),
        // Wildcard queries do not match ids.
        (json!({"wildcard": {"_id": "1*"}}), vec![]),
    ] {
        let mut found = backend.ids("/_search", &json!({"query": query, "size": 20})).await;
        found.sort();
        assert_eq!(found, expected, "{query}");
    }
}

#[rstest]
#[case(json!([{"nope": {}}]), "No allocation command factory registered for name [nope]")]
#[case(
    json!([{"move": {"index": "a", "shard": 0, "from_node": "x", "to_node": "y"}}]),
    "failed to resolve [x ], no matching nodes"
)]
#[case(json!([{"cancel": {"index": "a", "shard": 0, "node": "z"}}]), "failed to resolve [z ], no matching nodes")]
#[tokio::test]
async fn unknown_reroute_commands_and_nodes_are_rejected(#[case] commands: Value, #[case] reason: &str) {
    let backend = Backend::new();
    let answer = backend
        .send_json("POST", "/_cluster/reroute", &json!({"commands": commands}))
        .await;
    answer.expect_error(400, reason);
    let none = backend
        .send_json("POST", "/_cluster/reroute", &json!({"commands": []}))
        .await;
    assert_eq!(
        (none.status, &none.body["acknowledged"]),
        (200, &json!(true)),
        "{}",
        none.text
    );
}

#[rstest]
#[case("indices.ttl.interval", "30s", true)]
#[case("indices.ttl.interval", "often", false)]
#[case("discovery.zen.minimum_master_nodes", "2", true)]
#[case("discovery.zen.minimum_master_nodes", "two", false)]
#[tokio::test]
async fn a_cluster_setting_with_an_invalid_value_is_ignored(
    #[case] name: &str,
    #[case] value: &str,
    #[case] kept: bool,
) {
    let backend = Backend::new();
    let body = json!({"transient": {name: value}});
    let answer = backend
        .send_json("PUT", "/_cluster/settings?flat_settings", &body)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.body["transient"].get(name).is_some(), kept, "{}", answer.text);
}

#[tokio::test]
async fn a_scan_asks_a_shard_until_its_page_is_not_full() {
    let backend = Backend::new();
    let settings = json!({"settings": {"number_of_shards": 3, "number_of_replicas": 0}});
    backend.put("/i", &settings.to_string()).await;
    for id in 1..=7 {
        backend.put(&format!("/i/d/{id}?refresh=true"), r#"{"n": 1}"#).await;
    }
    let first = backend.get("/i/_search?search_type=scan&scroll=1m&size=1").await.body;
    let id = first["_scroll_id"].as_str().unwrap();
    let (mut pages, mut page) = (Vec::new(), first.clone());
    for _ in 0..6 {
        let hits = page["hits"]["hits"].as_array().unwrap().len();
        pages.push((page["_shards"]["total"].clone(), hits));
        page = backend.get(&format!("/_search/scroll?scroll_id={id}")).await.body;
        assert_eq!(page["hits"]["total"], 7, "{page}");
    }
    let expected = [(3, 0), (3, 3), (3, 3), (3, 1), (1, 0), (0, 0)];
    assert_eq!(pages, expected.map(|(shards, hits)| (json!(shards), hits)));
}
