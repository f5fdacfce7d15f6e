//! Determinism, the clock endpoint and snapshots.

use futures::FutureExt;
use serde_json::{Value, json};
use stuntdouble_simulator::{Addons, Clock, Simulator, Snapshot};

use crate::client::client;
use crate::cluster::{Cluster, Object, owner, pod_spec};

#[tokio::test]
async fn the_same_seed_clock_and_requests_give_the_same_objects() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let cluster = Cluster::start().await;
        cluster.create("deployments", owner("web", 5, "nginx:1.9")).await;
        let change = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}});
        cluster.patch("deployments", "web", change).await;
        cluster.advance(60).await;
        let mut objects = Vec::new();
        for plural in ["pods", "replicasets", "deployments", "events", "nodes", "secrets"] {
            objects.push(cluster.list(plural).await);
        }
        runs.push(objects);
    }
    assert_eq!(runs[0], runs[1]);
}

#[tokio::test]
async fn stepping_the_clock_over_http_advances_the_cluster() {
    let cluster = Cluster::start().await;
    let mut spec = pod_spec("busybox", Some("sleep 300"));
    spec["restartPolicy"] = "Never".into();
    cluster
        .create("pods", json!({"metadata": {"name": "p"}, "spec": spec}))
        .await;
    let url = format!("{}/_stuntdouble/clock", cluster.0.url());
    let client = client();
    let step = |by: &str| client.post(&url).json(&json!({"advance": by})).send();
    let now: Value = step("10m").await.unwrap().json().await.unwrap();
    assert_eq!(now, json!({"now": "2016-03-01T00:10:00Z"}));
    assert_eq!(cluster.get("pods", "p").await["status"]["phase"], "Succeeded");
    assert_eq!(step("soon").await.unwrap().status(), 400);
    assert_eq!(step("25h").await.unwrap().status(), 400);
    let running = Simulator::builder().bare(true).start().await.unwrap();
    let url = format!("{}/_stuntdouble/clock", running.url());
    let refused = client.post(&url).json(&json!({"advance": "1s"})).send().await.unwrap();
    assert_eq!(refused.status(), 409);
}

#[tokio::test]
async fn the_same_seed_clock_and_requests_give_the_same_watches() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let cluster = Cluster::start().await;
        let mut watches = Vec::new();
        for plural in ["pods", "replicasets", "deployments", "events", "endpoints", "nodes"] {
            watches.push(cluster.api(plural).watch(&Default::default()).await.unwrap());
        }
        let service =
            json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
        cluster.create("services", service).await;
        cluster.create("deployments", owner("web", 5, "nginx:1.9")).await;
        let change = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}});
        cluster.patch("deployments", "web", change).await;
        cluster.advance(600).await;
        let mut seen = Vec::new();
        for watch in &mut watches {
            while let Some(Some(event)) = watch.next().now_or_never() {
                seen.push(format!("{event:?}"));
            }
        }
        runs.push(seen);
    }
    assert!(runs[0].len() > 100);
    assert_eq!(runs[0], runs[1]);
}

#[tokio::test]
async fn a_snapshot_continues_from_the_state_of_the_cluster() {
    let first = Cluster::start().await;
    let service = json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    first.create("services", service).await;
    first.create("deployments", owner("web", 2, "nginx:1.9")).await;
    let text = first.0.snapshot().await.unwrap().to_string();

    let clock: Clock = "frozen:2016-03-01T00:00:05Z".parse().unwrap();
    let builder = Simulator::builder().seed(7).clock(clock).addons(Addons::none());
    let second = builder.snapshot(Snapshot::parse(&text).unwrap()).start().await.unwrap();
    let second = Cluster(second);
    second.0.settle().await;
    for plural in [
        "pods",
        "services",
        "endpoints",
        "replicasets",
        "deployments",
        "nodes",
        "secrets",
    ] {
        assert_eq!(
            without_versions(second.list(plural).await),
            without_versions(first.list(plural).await),
            "{plural}"
        );
    }
    let change = json!({"spec": {"replicas": 3}});
    second.patch("deployments", "web", change).await;
    assert_eq!(second.pods("Running").await, 3);
    let mut addresses: Vec<Value> = Vec::new();
    for pod in second.list("pods").await {
        addresses.push(pod["status"]["podIP"].clone());
    }
    addresses.sort_by_key(Value::to_string);
    addresses.dedup();
    assert_eq!(addresses.len(), 3);
    let taken = first.get("services", "web").await["spec"]["clusterIP"].clone();
    let service = json!({"metadata": {"name": "other"}, "spec": {"clusterIP": taken, "ports": [{"port": 80}]}});
    assert_eq!(second.api("services").create(service).await.unwrap_err().code, 422);
}

fn without_versions(objects: Vec<Object>) -> Vec<Value> {
    fn strip(value: &mut Value) {
        if let Value::Object(fields) = value {
            fields.shift_remove("resourceVersion");
            fields.values_mut().for_each(strip);
        } else if let Value::Array(items) = value {
            items.iter_mut().for_each(strip);
        }
    }
    let mut values: Vec<Value> = objects
        .iter()
        .map(|object| Value::Object(object.as_ref().clone()))
        .collect();
    values.iter_mut().for_each(strip);
    values
}
