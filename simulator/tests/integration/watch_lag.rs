//! A watch cache with a delay.

use std::time::Duration;

use crate::client::client;
use rstest::rstest;
use serde_json::{Value, json};
use stuntdouble_simulator::{Profile, Simulator};

const PATH: &str = "/api/v1/namespaces/default/configmaps";

async fn create(cluster: &Simulator, name: &str) -> String {
    let request = client().post(format!("{}{PATH}", cluster.url()));
    let response = request.json(&json!({"metadata": {"name": name}})).send().await.unwrap();
    let made: Value = response.json().await.unwrap();
    made["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

async fn names(cluster: &Simulator, query: &str) -> Vec<String> {
    let response = client()
        .get(format!("{}{PATH}{query}", cluster.url()))
        .send()
        .await
        .unwrap();
    let list: Value = response.json().await.unwrap();
    let items = list["items"].as_array().into_iter().flatten();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the names in the events of a watch, up to that of the object `end`, which is created when the watch is
/// open.
async fn watched(cluster: &Simulator, from: &str) -> Vec<String> {
    let url = format!("{}{PATH}?watch=true&resourceVersion={from}", cluster.url());
    let mut watch = client().get(url).send().await.unwrap();
    create(cluster, "end").await;
    let (mut text, mut names) = (String::new(), Vec::new());
    while names.last().is_none_or(|last| last != "end") {
        text.push_str(std::str::from_utf8(&watch.chunk().await.unwrap().unwrap()).unwrap());
        while let Some((line, rest)) = text.split_once('\n') {
            let event: Value = serde_json::from_str(line).unwrap();
            names.push(event["object"]["metadata"]["name"].as_str().unwrap().to_owned());
            text = rest.to_owned();
        }
    }
    names
}

#[rstest]
#[case::documented(Profile::Documented, &["end"])]
#[case::kubernetes_1_2(Profile::Kubernetes12, &["a", "b", "end"])]
#[tokio::test]
async fn a_delayed_cache_returns_older_lists_and_in_v1_2_older_watch_events(
    #[case] profile: Profile,
    #[case] shown: &[&str],
) {
    let builder = Simulator::builder().bare(true).profile(profile);
    let cluster = builder.watch_lag(Duration::from_secs(2)).start().await.unwrap();
    create(&cluster, "a").await;
    let last = create(&cluster, "b").await;
    assert!(names(&cluster, "?resourceVersion=0").await.is_empty());
    assert_eq!(names(&cluster, "").await, ["a", "b"]);
    assert_eq!(watched(&cluster, &last).await, shown);
    assert_eq!(names(&cluster, "?resourceVersion=0").await, ["a", "b", "end"]);
}

#[tokio::test]
async fn a_list_waits_until_the_cache_has_its_version() {
    let cluster = Simulator::builder()
        .bare(true)
        .watch_lag(Duration::from_secs(1))
        .start()
        .await
        .unwrap();
    let last = create(&cluster, "a").await;
    assert_eq!(names(&cluster, &format!("?resourceVersion={last}")).await, ["a"]);
}

#[tokio::test]
async fn a_cache_has_no_delay_by_default() {
    let cluster = Simulator::builder().bare(true).start().await.unwrap();
    create(&cluster, "a").await;
    let last = create(&cluster, "b").await;
    assert_eq!(names(&cluster, "?resourceVersion=0").await, ["a", "b"]);
    assert_eq!(watched(&cluster, &last).await, ["end"]);
}

#[tokio::test]
async fn the_components_of_a_cluster_catch_up_with_a_delayed_cache() {
    let cluster = Simulator::builder()
        .watch_lag(Duration::from_millis(50))
        .start()
        .await
        .unwrap();
    let api = |plural: &str| cluster.client().api("v1", plural).unwrap().in_namespace("default");
    let template = json!({"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    let controller = json!({"metadata": {"name": "w"}, "spec": {"replicas": 3, "template": template}});
    api("replicationcontrollers").create(controller).await.unwrap();
    cluster.settle().await;
    let pods = api("pods").list(&Default::default()).await.unwrap().items;
    assert_eq!(pods.iter().filter(|pod| pod["status"]["phase"] == "Running").count(), 3);
}
