//! Routing values of requests and aliases, and index blocks.

use crate::support::{Backend, ask};
use rstest::rstest;
use serde_json::{Value, json};

/// An index of five shards with documents on different shards, and its aliases.
async fn routed() -> Backend {
    let backend = Backend::new();
    ask(&backend, "PUT", "/logs", json!({"settings": {"number_of_shards": 5}})).await;
    let aliases = json!({"actions": [
        {"add": {"index": "logs", "alias": "one", "routing": "a"}},
        {"add": {"index": "logs", "alias": "both", "search_routing": "a,b", "index_routing": "b"}},
        {"add": {"index": "logs", "alias": "all"}},
    ]});
    ask(&backend, "POST", "/_aliases", aliases).await;
    ask(&backend, "PUT", "/one/line/1", json!({"n": 1})).await;
    ask(&backend, "PUT", "/both/line/2", json!({"n": 2})).await;
    ask(&backend, "PUT", "/logs/line/3?routing=c", json!({"n": 3})).await;
    ask(&backend, "POST", "/_refresh", Value::Null).await;
    backend
}

/// Returns the number of searched shards, and the ids of the hits.
async fn found(backend: &Backend, uri: &str) -> (Value, Vec<String>) {
    let answer = ask(backend, "GET", uri, Value::Null).await;
    let hits = answer["hits"]["hits"].as_array().unwrap();
    let mut ids: Vec<String> = hits.iter().map(|hit| hit["_id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    (answer["_shards"]["total"].clone(), ids)
}

#[rstest]
#[case("/logs/_search", 5, &["1", "2", "3"])]
#[case("/_search?routing=a", 1, &["1"])]
#[case("/logs/_search?routing=a,b", 2, &["1", "2"])]
#[case("/one/_search", 1, &["1"])]
#[case("/both/_search", 2, &["1", "2"])]
#[case("/both/_search?routing=b", 1, &["2"])]
#[case("/all/_search", 5, &["1", "2", "3"])]
#[case("/one,all/_search", 5, &["1", "2", "3"])]
#[tokio::test]
async fn a_search_visits_the_shards_of_its_routing_values(
    #[case] uri: &str,
    #[case] shards: u64,
    #[case] ids: &[&str],
) {
    let backend = routed().await;
    let (total, found) = found(&backend, uri).await;
    assert_eq!(total, shards);
    assert_eq!(found, ids);
}

#[tokio::test]
async fn counts_shard_lists_and_deletions_are_routed_like_searches() {
    let backend = routed().await;
    let count = ask(&backend, "GET", "/one/_count", Value::Null).await;
    assert_eq!((&count["count"], &count["_shards"]["total"]), (&json!(1), &json!(1)));
    let shards = ask(&backend, "GET", "/both/_search_shards", Value::Null).await;
    assert_eq!(shards["shards"].as_array().unwrap().len(), 2);
    let header = json!({"index": "logs", "routing": "c"});
    let several = backend.post("/_msearch", &format!("{header}\n{{}}\n")).await;
    assert_eq!(several.body["responses"][0]["hits"]["total"], 1, "{}", several.text);
    ask(&backend, "DELETE", "/both/_query?q=*", Value::Null).await;
    assert_eq!(found(&backend, "/logs/_search").await.1, ["3"]);
}

#[tokio::test]
async fn a_document_is_on_the_shard_of_the_alias_routing() {
    let backend = routed().await;
    let read = ask(&backend, "GET", "/both/line/2?fields=_routing", Value::Null).await;
    assert_eq!(read["fields"]["_routing"], "b");
    assert_eq!(
        ask(&backend, "GET", "/logs/line/2?routing=b", Value::Null).await["found"],
        true
    );
    ask(&backend, "POST", "/both/line/2/_update", json!({"doc": {"n": 5}})).await;
    assert_eq!(
        ask(&backend, "GET", "/both/line/2", Value::Null).await["_source"]["n"],
        5
    );
    ask(&backend, "DELETE", "/both/line/2", Value::Null).await;
    assert_eq!(backend.get("/logs/line/2?routing=b").await.status, 404);
    let other = backend.put("/one/line/9?routing=b", "{}").await;
    let error = "ElasticsearchIllegalArgumentException[Alias [one] has index routing associated with it [a], \
                 and was provided with routing value [b], rejecting operation]";
    assert_eq!((other.status, &other.body["error"]), (400, &json!(error)));
}

#[tokio::test]
async fn an_update_without_a_required_routing_value_is_rejected() {
    let backend = Backend::new();
    ask(
        &backend,
        "PUT",
        "/i",
        json!({"mappings": {"t": {"_routing": {"required": true}}}}),
    )
    .await;
    let answer = backend.post("/i/t/1/_update", r#"{"doc": {"a": 1}}"#).await;
    let error = "RoutingMissingException[routing is required for [i]/[t]/[1]]";
    assert_eq!((answer.status, &answer.body["error"]), (400, &json!(error)));
}

#[rstest]
#[case("read_only", "PUT", "/i/t/1", "[FORBIDDEN/5/index read-only (api)];")]
#[case("read_only", "DELETE", "/i", "[FORBIDDEN/5/index read-only (api)];")]
#[case("read_only", "PUT", "/i/_mapping/t", "[FORBIDDEN/5/index read-only (api)];")]
#[case("read_only", "POST", "/i/_close", "[FORBIDDEN/5/index read-only (api)];")]
#[case("read_only", "PUT", "/i/_alias/a", "[FORBIDDEN/5/index read-only (api)];")]
#[case("write", "DELETE", "/i/t/1", "[FORBIDDEN/8/index write (api)];")]
#[case("write", "DELETE", "/i/_query?q=*", "[FORBIDDEN/8/index write (api)];")]
#[case("read", "GET", "/i/_search", "[FORBIDDEN/7/index read (api)];")]
#[case("read", "GET", "/i/_count", "[FORBIDDEN/7/index read (api)];")]
#[case("read", "GET", "/i/t/1", "[FORBIDDEN/7/index read (api)];")]
#[case("metadata", "PUT", "/i/_settings", "[FORBIDDEN/9/index metadata (api)];")]
#[tokio::test]
async fn an_index_block_rejects_requests(
    #[case] block: &str,
    #[case] method: &str,
    #[case] uri: &str,
    #[case] reason: &str,
) {
    let backend = Backend::new();
    ask(&backend, "PUT", "/i/t/1", json!({"a": 1})).await;
    let setting = format!("index.blocks.{block}");
    ask(&backend, "PUT", "/i/_settings", json!({&setting: true})).await;
    let body = match (method, uri) {
        ("PUT", "/i/_settings") => r#"{"number_of_replicas": 0}"#,
        ("PUT", "/i/_mapping/t") => r#"{"properties": {}}"#,
        ("PUT", _) => "{}",
        _ => "",
    };
    let answer = backend.send(method, uri, body).await;
    let error = format!("ClusterBlockException[blocked by: {reason}]");
    assert_eq!((answer.status, &answer.body["error"]), (403, &json!(error)));
    ask(&backend, "PUT", "/i/_settings", json!({&setting: false})).await;
    assert_eq!(backend.send(method, uri, body).await.status / 100, 2);
}

#[tokio::test]
async fn a_document_of_a_closed_index_cannot_be_deleted() {
    let backend = Backend::new();
    ask(&backend, "PUT", "/i/t/1", json!({"a": 1})).await;
    ask(&backend, "POST", "/i/_close", Value::Null).await;
    let answer = backend.send("DELETE", "/i/t/1", "").await;
    assert_eq!(
        answer.body,
        json!({"error": "IndexClosedException[[i] closed]", "status": 403})
    );
    ask(&backend, "POST", "/i/_open", Value::Null).await;
    assert_eq!(ask(&backend, "GET", "/i/t/1", Value::Null).await["found"], true);
}

#[tokio::test]
async fn primaries_of_single_shards_are_spread_over_the_nodes() {
    let backend = Backend::new();
    let mut nodes = Vec::new();
    for index in ["a", "b", "c", "d"] {
        let settings = json!({"settings": {"number_of_shards": 1, "number_of_replicas": 0}});
        ask(&backend, "PUT", &format!("/{index}"), settings).await;
        let shards = ask(&backend, "GET", &format!("/{index}/_search_shards"), Value::Null).await;
        nodes.push(shards["shards"][0][0]["node"].clone());
    }
    assert_ne!(nodes[0], nodes[1]);
    assert_eq!((&nodes[0], &nodes[1]), (&nodes[2], &nodes[3]));
}

#[tokio::test]
async fn a_preference_names_shards_and_nodes() {
    let backend = Backend::new();
    ask(&backend, "PUT", "/i", json!({"settings": {"number_of_shards": 2}})).await;
    let shards = async |preference: &str| {
        let found = backend.get(&format!("/i/_search?preference={preference}")).await;
        (found.status, found.body["_shards"]["total"].clone())
    };
    assert_eq!(shards("_local").await, (200, json!(2)));
    assert_eq!(shards("_shards:1").await, (200, json!(1)));
    assert_eq!(shards("_shards:0,1;_local").await, (200, json!(2)));
    assert_eq!(shards("_shards:7").await, (200, json!(0)));
    let other = backend.get("/i/_search?preference=_only_node:x").await;
    other.expect_error(400, "No data node with id[x] found");
}

#[rstest]
#[case::any("", "p0 r1, p1 r0")]
#[case::primaries("_primary", "p0, p1")]
#[case::primaries_first("_primary_first", "p0 r1, p1 r0")]
#[case::local("_local", "p0 r1, r0 p1")]
#[case::only_local("_only_local", "p0, r0")]
#[case::primary_of_a_shard("_shards:1%3B_primary", "p1")]
#[tokio::test]
async fn a_preference_selects_the_copies_of_shards(#[case] preference: &str, #[case] expected: &str) {
    let backend = Backend::new();
    let settings = json!({"settings": {"number_of_shards": 2, "number_of_replicas": 2}});
    ask(&backend, "PUT", "/two", settings).await;
    let path = format!("/two/_search_shards?preference={preference}");
    let found = ask(&backend, "GET", &path, Value::Null).await;
    let nodes = ask(&backend, "GET", "/_nodes/_local", Value::Null).await;
    let local = nodes["nodes"].as_object().unwrap().keys().next().unwrap();
    // The third copy of each shard is on no node.
    let copy = |copy: &Value| {
        let kind = if copy["primary"] == true { 'p' } else { 'r' };
        format!("{kind}{}", u8::from(copy["node"] != **local))
    };
    let shards = found["shards"].as_array().unwrap().iter();
    let shards = shards.map(|copies| {
        copies
            .as_array()
            .unwrap()
            .iter()
            .map(copy)
            .collect::<Vec<_>>()
            .join(" ")
    });
    assert_eq!(shards.collect::<Vec<_>>().join(", "), expected);
}
