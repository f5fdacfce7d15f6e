//! Requests of an older log viewer that uses facets (Kibana 3), and of log shippers of that time, in their order.

use serde_json::{Value, json};

use crate::support::{Backend, ask, logs};

#[tokio::test]
async fn a_facet_based_viewer_loads_and_saves_a_dashboard() {
    let backend = logs().await;
    let nothing = Value::Null;
    let nodes = ask(&backend, "GET", "/_nodes", &nothing).await;
    assert_eq!(nodes["nodes"].as_object().unwrap().len(), 2);
    let aliases = "/logstash-2015.06.21,logstash-2015.06.22,logstash-2015.06.23/_aliases?ignore_missing=true";
    let known = ask(&backend, "GET", &format!("{aliases}&ignore_unavailable=true"), &nothing).await;
    assert_eq!(known.as_object().unwrap().len(), 2);
    let mapping = ask(
        &backend,
        "GET",
        "/logstash-2015.06.22,logstash-2015.06.23/_mapping",
        &nothing,
    )
    .await;
    let properties = &mapping["logstash-2015.06.23"]["mappings"]["fluentd"]["properties"];
    assert_eq!(properties["@timestamp"]["type"], "date");

    let range = json!({"range": {"@timestamp": {"from": 1_434_931_200_000_i64, "to": 1_435_103_999_999_i64}}});
    let filter = |query: &str| {
        let query = json!({"bool": {"should": [{"query_string": {"query": query}}]}});
        json!({
            "fquery": {"query": {"filtered": {"query": query, "filter": {"bool": {"must": [range]}}}}, "_cache": true}
        })
    };
    let interval = json!({"field": "@timestamp", "interval": "12h"});
    let histogram = json!({
        "facets": {
            "0": {"date_histogram": interval, "global": true, "facet_filter": filter("*")},
            "1": {"date_histogram": interval, "global": true, "facet_filter": filter("level:error")},
        },
        "size": 0,
    });
    let indices = "/logstash-2015.06.22,logstash-2015.06.23/_search";
    let drawn = ask(&backend, "POST", indices, &histogram).await;
    let count = |facet: &Value| -> u64 {
        let entries = facet["entries"].as_array().unwrap().iter();
        entries.map(|entry| entry["count"].as_u64().unwrap()).sum()
    };
    assert_eq!((count(&drawn["facets"]["0"]), count(&drawn["facets"]["1"])), (12, 4));

    let terms = json!({"field": "level", "size": 10, "order": "count", "exclude": []});
    let panel = json!({
        "facets": {
            "terms": {"terms": terms, "facet_filter": filter("*")},
            "stats": {"statistical": {"field": "size"}, "facet_filter": filter("level:info")},
            "per_level": {"terms_stats": {"key_field": "level", "value_field": "size"}},
        },
        "size": 0,
    });
    let shown = ask(&backend, "POST", indices, &panel).await;
    assert_eq!(shown["facets"]["terms"]["total"], 12);
    assert_eq!(shown["facets"]["stats"]["max"], 90.0);
    assert_eq!(shown["facets"]["per_level"]["terms"].as_array().unwrap().len(), 3);

    let table = json!({
        "query": {
            "filtered": {
                "query": {"bool": {"should": [{"query_string": {"query": "level:warn"}}]}},
                "filter": {"bool": {"must": [range]}},
            },
        },
        "highlight": {
            "fields": {},
            "fragment_size": 2_147_483_647,
            "pre_tags": ["@start-highlight@"],
            "post_tags": ["@end-highlight@"],
        },
        "size": 500,
        "sort": [
            {"@timestamp": {"order": "desc", "ignore_unmapped": true}},
            {"@timestamp": {"order": "desc", "ignore_unmapped": true}},
        ],
    });
    let table = ask(&backend, "POST", indices, &table).await;
    assert_eq!(table["hits"]["hits"][0]["_id"], "10");

    let dashboard = json!({"user": "guest", "group": "guest", "title": "Errors", "dashboard": "{}"});
    ask(&backend, "PUT", "/kibana-int/dashboard/Errors", &dashboard).await;
    ask(&backend, "POST", "/kibana-int/_refresh", &nothing).await;
    let read = ask(&backend, "GET", "/kibana-int/dashboard/Errors", &nothing).await;
    assert_eq!(read["_source"], dashboard);
    let listed = json!({
        "query": {"query_string": {"query": "title:Err*"}},
        "facets": {"tags": {"terms": {"field": "tags"}}},
        "size": 20
    });
    let listed = ask(&backend, "POST", "/kibana-int/dashboard/_search", &listed).await;
    assert_eq!(
        (&listed["hits"]["total"], &listed["facets"]["tags"]["total"]),
        (&json!(1), &json!(0))
    );
}

/// The template that logstash 1.5 installs.
fn stock_template() -> Value {
    json!({
        "template": "logstash-*",
        "settings": {"index.refresh_interval": "5s"},
        "mappings": {"_default_": {
            "_all": {"enabled": true, "omit_norms": true},
            "dynamic_templates": [
                {"message_field": {"match": "message", "match_mapping_type": "string",
                    "mapping": {"type": "string", "index": "analyzed", "omit_norms": true}}},
                {"string_fields": {"match": "*", "match_mapping_type": "string",
                    "mapping": {"type": "string", "index": "analyzed", "omit_norms": true,
                        "fields": {"raw": {"type": "string", "index": "not_analyzed", "ignore_above": 256}}}}},
            ],
            "properties": {
                "@version": {"type": "string", "index": "not_analyzed"},
                "geoip": {"type": "object", "dynamic": true, "properties": {"location": {"type": "geo_point"}}},
            },
        }},
    })
}

#[tokio::test]
async fn documents_of_shippers_with_the_stock_template_are_searched_by_raw_field_and_location() {
    let backend = Backend::new();
    assert_eq!(backend.send("HEAD", "/_template/logstash", "").await.status, 404);
    ask(&backend, "PUT", "/_template/logstash", &stock_template()).await;
    let line = |host: &str, place: Value| {
        json!({
            "message": "GET / 200",
            "@version": "1",
            "@timestamp": "2015-06-22T10:00:00.000Z",
            "host": host,
            "geoip": {"location": place}
        })
    };
    // Logstash lets the server generate the id, fluentd may send one. Both end the body with a line end.
    let bulk = format!(
        "{}\n{}\n{}\n{}\n",
        json!({"index": {"_id": null, "_index": "logstash-2015.06.22", "_type": "logs", "_routing": null}}),
        line("web-1.example.com", json!([13.4, 52.5])),
        json!({"index": {"_index": "logstash-2015.06.22", "_type": "fluentd", "_id": "2"}}),
        line("web-2.example.com", json!([2.3, 48.9])),
    );
    let written = backend.post("/_bulk", &bulk).await;
    assert_eq!(written.body["errors"], false, "{}", written.text);
    ask(&backend, "POST", "/logstash-2015.06.22/_refresh", &Value::Null).await;
    let body = json!({
        "query": {"match": {"host": "web"}},
        "aggs": {
            "hosts": {"terms": {"field": "host.raw"}},
            "near": {
                "geo_distance": {
                    "field": "geoip.location",
                    "origin": "52.5,13.4",
                    "unit": "km",
                    "ranges": [{"to": 100}, {"from": 100}],
                },
            },
        },
        "sort": [{"_geo_distance": {"geoip.location": "48.9,2.3", "unit": "km", "order": "asc"}}],
        "_source": ["host"],
    });
    let found = ask(&backend, "POST", "/logstash-2015.06.22/_search", &body).await;
    assert_eq!(found["hits"]["hits"][0]["_source"]["host"], "web-2.example.com");
    assert!(found["hits"]["hits"][0]["sort"][0].as_f64().unwrap() < 0.1);
    let hosts = found["aggregations"]["hosts"]["buckets"].as_array().unwrap();
    assert_eq!(hosts[0]["key"], "web-1.example.com");
    let near = found["aggregations"]["near"]["buckets"].as_array().unwrap();
    let keys: Vec<(&str, u64)> = near
        .iter()
        .map(|bucket| (bucket["key"].as_str().unwrap(), bucket["doc_count"].as_u64().unwrap()))
        .collect();
    assert_eq!(keys, [("*-100.0", 1), ("100.0-*", 1)]);
}

#[tokio::test]
async fn term_vectors_of_stored_and_artificial_documents() {
    let backend = logs().await;
    let body = json!({"ids": ["0", "none"], "parameters": {"fields": ["log"], "offsets": false}});
    let several = ask(&backend, "POST", "/logstash-2015.06.22/fluentd/_mtermvectors", &body).await;
    let docs = several["docs"].as_array().unwrap();
    assert_eq!(docs[0]["term_vectors"]["log"]["terms"]["request"]["term_freq"], 1);
    assert_eq!(docs[1]["found"], false);
    let body = json!({"doc": {"log": "served served"}, "fields": ["log"], "term_statistics": true});
    let given = ask(&backend, "POST", "/logstash-2015.06.22/fluentd/_termvector", &body).await;
    let term = &given["term_vectors"]["log"]["terms"]["served"];
    assert_eq!((&term["term_freq"], &term["doc_freq"]), (&json!(2), &json!(6)));
}
