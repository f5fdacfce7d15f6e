//! Statistics of indices, shards and nodes.

use serde_json::{Value, json};

use crate::support::Backend;

#[tokio::test]
async fn replicas_count_in_the_statistics_of_indices_and_nodes() {
    let backend = Backend::new();
    let settings = r#"{"settings": {"number_of_shards": 2, "number_of_replicas": 1}}"#;
    backend.put("/a", settings).await;
    for id in 0..7 {
        backend.put(&format!("/a/t/{id}"), r#"{"x": 1}"#).await;
    }
    backend.post("/a/_refresh", "").await;
    backend.get("/a/_search").await;

    let stats = backend.get("/a/_stats?level=shards").await.body;
    assert_eq!(stats["_all"]["primaries"]["docs"]["count"], 7);
    assert_eq!(stats["_all"]["total"]["docs"]["count"], 14);
    assert_eq!(stats["_all"]["total"]["indexing"]["index_total"], 14);
    assert_eq!(
        stats["_all"]["total"]["search"]["query_total"], 2,
        "a search runs on one copy of a shard"
    );
    let copies = &stats["indices"]["a"]["shards"]["1"];
    assert_eq!(copies.as_array().unwrap().len(), 2);
    assert_eq!(
        (&copies[0]["routing"]["primary"], &copies[1]["routing"]["primary"]),
        (&json!(true), &json!(false))
    );
    assert_ne!(copies[0]["routing"]["node"], copies[1]["routing"]["node"]);

    let shards = backend.get("/a/_segments").await.body["indices"]["a"]["shards"].clone();
    assert_eq!(shards["0"].as_array().unwrap().len(), 2);
    let recoveries = backend.get("/a/_recovery").await.body["a"]["shards"].clone();
    let types: Vec<_> = recoveries
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["type"].clone())
        .collect();
    assert_eq!(types, ["GATEWAY", "REPLICA", "GATEWAY", "REPLICA"]);
    assert_eq!(recoveries[1]["source"], recoveries[0]["target"]);
    let status = backend.get("/a/_status").await.body["indices"]["a"]["index"].clone();
    let size = |key: &str| status[key].as_u64().unwrap();
    assert_eq!(size("size_in_bytes"), 2 * size("primary_size_in_bytes"));

    let nodes = backend.get("/_nodes/stats/indices").await.body["nodes"].clone();
    let counts: Vec<_> = nodes
        .as_object()
        .unwrap()
        .values()
        .map(|node| node["indices"]["docs"]["count"].clone())
        .collect();
    assert_eq!(counts, [7, 7]);
    let cluster = backend.get("/_cluster/stats").await.body["indices"].clone();
    assert_eq!(cluster["docs"]["count"], 7);
    assert_eq!(
        cluster["store"]["size_in_bytes"],
        stats["_all"]["total"]["store"]["size_in_bytes"]
    );
    let table = backend.get("/_cat/segments?h=prirep").await.text;
    assert_eq!(table, "p \nr \np \nr \n");
}

#[tokio::test]
async fn searches_are_counted_by_the_groups_that_they_name() {
    let backend = Backend::new();
    backend.put("/a/t/1?refresh=true", r#"{"x":1}"#).await;
    backend.get("/a/_search?stats=one,two").await;
    backend.post("/a/_search", r#"{"stats":["one","other"]}"#).await;
    let groups = async |wanted: &str| {
        let path = format!("/a/_stats/search?groups={wanted}");
        let stats = backend.get(&path).await.body;
        let groups = stats["_all"]["primaries"]["search"]["groups"].as_object().cloned();
        let counted = |(name, counts): (String, Value)| (name, counts["query_total"].as_u64().unwrap());
        groups.map(|groups| groups.into_iter().map(counted).collect::<Vec<_>>())
    };
    assert_eq!(
        groups("t*,one").await,
        Some(vec![("one".to_owned(), 2), ("two".to_owned(), 1)])
    );
    assert_eq!(groups("other").await, Some(vec![("other".to_owned(), 1)]));
    assert_eq!(groups("nothing").await, None);
}
