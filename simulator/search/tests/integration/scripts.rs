//! Scripts in the language `expression`.

use serde_json::{Value, json};

use crate::support::logs;

fn script(text: &str) -> Value {
    json!({"script": text, "lang": "expression", "params": {"k": 2}})
}

#[tokio::test]
async fn script_fields_are_computed() {
    let backend = logs().await;
    let body = json!({"query": {"term": {"size": 30}}, "script_fields": {"x": script("doc['size'].value * k + 1")}});
    let answer = backend.post("/_search", &body.to_string()).await;
    let hit = &answer.body["hits"]["hits"][0];
    assert_eq!(
        (&hit["fields"]["x"], &hit["_source"]),
        (&json!([61.0]), &Value::Null),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn scripts_score_filter_and_sort() {
    let backend = logs().await;
    let scored = json!({
        "query": {"function_score": {"script_score": script("doc['size'].value - 100"), "boost_mode": "replace"}},
        "size": 1
    });
    let answer = backend.post("/_search", &scored.to_string()).await;
    assert_eq!(answer.body["hits"]["hits"][0]["_score"], 10.0, "{}", answer.text);
    let filtered = json!({"query": {"filtered": {"filter": {"script": script("doc['size'].value % 50 == 0")}}}});
    let mut ids = backend.ids("/_search", &filtered).await;
    ids.sort();
    assert_eq!(ids, ["0", "10", "5"]);
    let mut order = script("abs(doc['size'].value - 42)");
    order["type"] = json!("number");
    let ids = backend
        .ids("/_search", &json!({"sort": {"_script": order}, "size": 2}))
        .await;
    assert_eq!(ids, ["4", "5"]);
}

#[tokio::test]
async fn script_values_are_aggregated() {
    let backend = logs().await;
    let body = json!({"size": 0, "aggs": {
        "sum": {"sum": script("doc['size'].value / 10")},
        "terms": {"terms": {"script": "doc['size'].value > 50", "lang": "expression"}},
    }});
    let answer = backend.post("/_search", &body.to_string()).await;
    let found = &answer.body["aggregations"];
    assert_eq!(found["sum"]["value"], 66.0, "{}", answer.text);
    let counts: Vec<&Value> = found["terms"]["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| &bucket["doc_count"])
        .collect();
    assert_eq!(counts, [6, 6], "{}", answer.text);
}

#[tokio::test]
async fn invalid_scripts_are_rejected() {
    let backend = logs().await;
    for (script, reason) in [
        (json!({"script": "1"}), "dynamic scripting for [groovy] disabled"),
        (
            json!({"script": "doc['absent'].value", "lang": "expression"}),
            "Field [absent] used in expression does not exist",
        ),
        (
            json!({"script": "doc['level'].value", "lang": "expression"}),
            "Field [level] used in expression must be numeric",
        ),
    ] {
        let body = json!({"query": {"filtered": {"filter": {"script": script}}}});
        let answer = backend.post("/_search", &body.to_string()).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.text.contains(reason), "{}", answer.text);
    }
}
