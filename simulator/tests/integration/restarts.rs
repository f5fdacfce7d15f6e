//! Restarts of a cluster with nodes and controllers at any moment of what they do.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};
use stuntdouble_simulator::{Addons, Api, Clock, Simulator};
use tempfile::TempDir;

const ROUNDS: usize = 25;

/// A source of numbers that looks random, and is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

async fn start(directory: &Path) -> Simulator {
    let clock: Clock = "frozen:2016-03-01T00:00:00Z".parse().unwrap();
    let builder = Simulator::builder().seed(7).clock(clock).addons(Addons::none());
    builder.data_dir(directory).start().await.unwrap()
}

fn api(cluster: &Simulator, plural: &str) -> Api {
    let version = match plural {
        "deployments" | "daemonsets" => "extensions/v1beta1",
        _ => "v1",
    };
    let api = cluster.client().api(version, plural).unwrap();
    api.in_namespace("default")
}

/// Creates, scales, rolls out or deletes something. Some requests fail: there is no such object, or there is one.
async fn act(cluster: &Simulator, numbers: &mut Numbers) {
    let replicas = numbers.below(5);
    let template = |app: &str| {
        let containers = json!([{"name": "c", "image": "nginx:1.9"}]);
        json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": containers}})
    };
    let made = |spec: Value| json!({"metadata": {"name": "o"}, "spec": spec});
    let controller = made(json!({"replicas": replicas, "template": template("rc")}));
    let deployment = made(json!({"replicas": replicas, "template": template("d")}));
    let (plural, object) = match numbers.below(4) {
        0 => ("replicationcontrollers", controller),
        1 => ("deployments", deployment),
        2 => ("daemonsets", made(json!({"template": template("ds")}))),
        _ => (
            "services",
            made(json!({"selector": {"app": "rc"}, "ports": [{"port": 80}]})),
        ),
    };
    let api_of_kind = api(cluster, plural);
    let done = match numbers.below(6) {
        0..3 => api_of_kind.create(object).await.map(drop),
        3 => api_of_kind.delete("o", None).await.map(drop),
        4 if plural != "services" => {
            let image = json!([{"name": "c", "image": format!("nginx:{replicas}")}]);
            let spec = json!({"replicas": replicas, "template": {"spec": {"containers": image}}});
            api_of_kind.patch("o", &json!({"spec": spec})).await.map(drop)
        }
        _ => match api(cluster, "pods")
            .list(&Default::default())
            .await
            .unwrap()
            .items
            .first()
        {
            Some(pod) => {
                let name = pod["metadata"]["name"].as_str().unwrap();
                api(cluster, "pods").delete(name, Some(0)).await.map(drop)
            }
            None => Ok(()),
        },
    };
    if let Err(refused) = done {
        assert!(matches!(refused.code, 404 | 409), "{refused}");
    }
}

async fn list(cluster: &Simulator, plural: &str) -> Vec<Value> {
    let found = api(cluster, plural).list(&Default::default()).await.unwrap();
    found
        .items
        .iter()
        .map(|object| Value::Object(Map::clone(object)))
        .collect()
}

/// Checks that every pod runs, and that controllers have the pods and services the endpoints that they want.
async fn check(cluster: &Simulator, round: usize) {
    let pods = list(cluster, "pods").await;
    let mut addresses = BTreeSet::new();
    for pod in &pods {
        assert_eq!(pod["status"]["phase"], "Running", "round {round}: {pod}");
        let address = pod["status"]["podIP"].as_str().unwrap();
        assert!(addresses.insert(address), "round {round}: {address} of {pods:?}");
    }
    let of_app = |app: &str| {
        let own = pods.iter().filter(|pod| pod["metadata"]["labels"]["app"] == app);
        own.map(|pod| pod["status"]["podIP"].clone()).collect::<Vec<_>>()
    };
    for (plural, app) in [("replicationcontrollers", "rc"), ("deployments", "d")] {
        for controller in list(cluster, plural).await {
            let wanted = controller["spec"]["replicas"].as_u64().unwrap();
            assert_eq!(of_app(app).len() as u64, wanted, "round {round}: {controller}");
        }
    }
    let nodes = list(cluster, "nodes").await.len();
    for _ in list(cluster, "daemonsets").await {
        assert_eq!(of_app("ds").len(), nodes, "round {round}");
    }
    for service in list(cluster, "services")
        .await
        .iter()
        .filter(|own| own["metadata"]["name"] == "o")
    {
        let endpoints = list(cluster, "endpoints").await;
        let own = endpoints.iter().find(|own| own["metadata"]["name"] == "o").unwrap();
        let listed = own["subsets"].as_array().into_iter().flatten();
        let listed = listed.flat_map(|subset| subset["addresses"].as_array().into_iter().flatten());
        let listed: BTreeSet<String> = listed.map(|address| address["ip"].to_string()).collect();
        let wanted: BTreeSet<String> = of_app("rc").iter().map(Value::to_string).collect();
        assert_eq!(listed, wanted, "round {round}: {service}");
    }
}

#[tokio::test]
async fn a_cluster_settles_after_a_restart_at_any_moment() {
    let directory = TempDir::new().unwrap();
    let mut numbers = Numbers(1);
    for round in 0..ROUNDS {
        let cluster = start(directory.path()).await;
        cluster.settle().await;
        check(&cluster, round).await;
        for _ in 0..8 {
            act(&cluster, &mut numbers).await;
            for _ in 0..numbers.below(30) {
                tokio::task::yield_now().await;
            }
        }
        cluster.shutdown().await;
    }
}
