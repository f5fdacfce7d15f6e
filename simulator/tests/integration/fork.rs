//! Copies of a running cluster.

use std::time::Duration;

use crate::client::client;
use reqwest::StatusCode;
use serde_json::{Value, json};
use stuntdouble_simulator::{Api, Clock, Simulator};

fn frozen() -> Clock {
    "frozen:2016-03-01T00:00:00Z".parse().unwrap()
}

fn config_maps(cluster: &Simulator) -> Api {
    cluster
        .client()
        .api("v1", "configmaps")
        .unwrap()
        .in_namespace("default")
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

async fn ask(method: &str, url: String, body: Value) -> (StatusCode, Value) {
    let request = client().request(method.parse().unwrap(), url).json(&body);
    let response = request.send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

#[tokio::test]
async fn a_copy_is_independent_of_its_cluster() {
    let base = Simulator::builder().bare(true).clock(frozen()).start().await.unwrap();
    let before = config_maps(&base).create(named("shared")).await.unwrap();
    let (one, two) = (base.fork().await.unwrap(), base.fork().await.unwrap());
    for cluster in [&one, &two] {
        assert_eq!(config_maps(cluster).get("shared").await.unwrap(), before);
    }
    let made = [
        config_maps(&one).create(named("own")).await.unwrap(),
        config_maps(&two).create(named("own")).await.unwrap(),
        config_maps(&base).create(named("own")).await.unwrap(),
    ];
    // Copies of the same revision respond to the same requests with the same bytes; the cluster itself does not
    // repeat their UIDs.
    assert_eq!(made[0], made[1]);
    assert_ne!(made[0]["metadata"]["uid"], made[2]["metadata"]["uid"]);
    config_maps(&one).delete("shared", None).await.unwrap();
    assert!(config_maps(&one).get("shared").await.is_err());
    for cluster in [&base, &two] {
        config_maps(cluster).get("shared").await.unwrap();
    }
}

#[tokio::test]
async fn a_copy_has_the_history_and_allocations_and_its_own_clock() {
    let clock = frozen();
    let base = Simulator::builder()
        .bare(true)
        .clock(clock.clone())
        .start()
        .await
        .unwrap();
    let services = |cluster: &Simulator| cluster.client().api("v1", "services").unwrap().in_namespace("default");
    let service =
        |name: &str| json!({"metadata": {"name": name}, "spec": {"clusterIP": "10.0.0.7", "ports": [{"port": 80}]}});
    services(&base).create(service("a")).await.unwrap();
    let fork = base.fork().await.unwrap();
    services(&fork).create(service("b")).await.unwrap_err();
    services(&fork).delete("a", None).await.unwrap();
    services(&fork).create(service("b")).await.unwrap();
    services(&base).create(service("b")).await.unwrap_err();

    let watch = "/api/v1/namespaces/default/services?watch=true&resourceVersion=0&timeoutSeconds=1";
    let events = client()
        .get(format!("{}{watch}", fork.url()))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let kinds: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone())
        .collect();
    assert_eq!(kinds, ["ADDED", "ADDED", "DELETED", "ADDED"]);

    fork.advance(Duration::from_secs(3600)).await;
    let later = config_maps(&fork).create(named("m")).await.unwrap();
    assert_eq!(later["metadata"]["creationTimestamp"], "2016-03-01T01:00:00Z");
    assert_eq!(clock.stamp(), "2016-03-01T00:00:00Z");
}

#[tokio::test]
async fn a_watch_of_a_cluster_receives_nothing_from_its_copies() {
    let base = Simulator::builder().bare(true).start().await.unwrap();
    let fork = base.fork().await.unwrap();
    let mut watch = config_maps(&base).watch(&Default::default()).await.unwrap();
    config_maps(&fork).create(named("there")).await.unwrap();
    config_maps(&base).create(named("here")).await.unwrap();
    let first = watch.next().await.unwrap();
    assert_eq!(first.object()["metadata"]["name"], "here");
}

#[tokio::test]
async fn the_components_of_a_cluster_also_run_in_its_copy() {
    let base = Simulator::builder().clock(frozen()).start().await.unwrap();
    let fork = base.fork().await.unwrap();
    let controllers = |cluster: &Simulator| {
        cluster
            .client()
            .api("v1", "replicationcontrollers")
            .unwrap()
            .in_namespace("default")
    };
    let template = json!({"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    let controller = json!({"metadata": {"name": "w"}, "spec": {"replicas": 3, "template": template}});
    controllers(&fork).create(controller).await.unwrap();
    fork.settle().await;
    let pods = fork.client().api("v1", "pods").unwrap().in_namespace("default");
    let pods = pods.list(&Default::default()).await.unwrap().items;
    assert_eq!(pods.iter().filter(|pod| pod["status"]["phase"] == "Running").count(), 3);
    assert!(controllers(&base).get("w").await.is_err());
    let health = "/api/v1/proxy/namespaces/kube-system/services/elasticsearch-logging/_cluster/health";
    assert_eq!(ask("GET", format!("{}{health}", fork.url()), json!({})).await.0, 200);
}

#[tokio::test]
async fn a_path_addresses_a_copy_by_name() {
    let base = Simulator::builder().bare(true).clusters(2).start().await.unwrap();
    config_maps(&base).create(named("shared")).await.unwrap();
    let path = "api/v1/namespaces/default/configmaps";
    let url = |cluster: &str| format!("{}/clusters/{cluster}/{path}", base.url());
    assert_eq!(ask("POST", url("a"), named("own")).await.0, 200);
    assert_eq!(ask("GET", url("a") + "/shared", json!({})).await.0, 200);
    assert_eq!(ask("GET", url("b") + "/own", json!({})).await.0, 404);
    assert!(config_maps(&base).get("own").await.is_err());
    let (status, full) = ask("GET", url("c"), json!({})).await;
    assert_eq!((status.as_u16(), &full["reason"]), (403, &"Forbidden".into()));
    assert_eq!(ask("GET", url("No_Name"), json!({})).await.0, 404);

    let mut watch = client()
        .get(url("a") + "?watch=true&fieldSelector=metadata.name%3Dlate")
        .send()
        .await
        .unwrap();
    assert_eq!(ask("POST", url("a"), named("late")).await.0, 200);
    let event: Value = serde_json::from_slice(&watch.chunk().await.unwrap().unwrap()).unwrap();
    assert_eq!(event["object"]["metadata"]["name"], "late");

    let without = Simulator::builder().bare(true).start().await.unwrap();
    assert_eq!(
        ask("GET", format!("{}/clusters/a/{path}", without.url()), json!({}))
            .await
            .0,
        404
    );
}

#[tokio::test]
async fn a_removed_copy_no_longer_counts_towards_the_limit() {
    let base = Simulator::builder().bare(true).clusters(1).start().await.unwrap();
    let maps = |cluster: &str| format!("{}/clusters/{cluster}/api/v1/namespaces/default/configmaps", base.url());
    let cluster = |cluster: &str| format!("{}/clusters/{cluster}", base.url());
    assert_eq!(ask("POST", maps("a"), named("own")).await.0, 200);
    assert_eq!(ask("GET", maps("b"), json!({})).await.0, 403);
    let mut watch = client().get(maps("a") + "?watch=true").send().await.unwrap();
    while !watch.chunk().await.unwrap().unwrap().ends_with(b"}\n") {}

    assert_eq!(ask("DELETE", cluster("b"), json!({})).await.0, 404);
    let (status, removed) = ask("DELETE", cluster("a"), json!({})).await;
    assert_eq!((status.as_u16(), &removed["status"]), (200, &"Success".into()));
    assert_eq!(watch.chunk().await.unwrap(), None, "the streams of a removed copy end");
    assert_eq!(ask("GET", maps("b"), json!({})).await.0, 200);
    assert_eq!(ask("DELETE", cluster("b") + "/", json!({})).await.0, 200);
    // The next request for its name creates it again.
    assert_eq!(ask("GET", maps("a") + "/own", json!({})).await.0, 404);
}

/// Returns the resident memory of this process in bytes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_thousand_copies_fit_in_a_hundred_megabytes() {
    let base = Simulator::builder().bare(true).clusters(1000).start().await.unwrap();
    for n in 0..100 {
        config_maps(&base).create(named(&format!("m{n}"))).await.unwrap();
    }
    let client = client();
    let before = resident();
    for n in 0..1000 {
        let url = format!("{}/clusters/c{n}/api/v1/namespaces/default", base.url());
        let response = client.get(url).send().await.unwrap();
        assert_eq!(response.status(), 200);
    }
    let grown = resident() - before;
    println!("a copy has {} kB", grown / 1000 / 1000);
    assert!(grown < 100_000_000, "{grown}");
}
