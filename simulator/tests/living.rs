//! What acts in a cluster, on a clock that stands still until it is stepped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test cannot do without fails it"
)]

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use stuntdouble_simulator::{
    Simulator,
    client::{Api, ObjectKey},
    clock::Clock,
    cluster::Controllers,
};

type Object = Arc<Map<String, Value>>;

struct Cluster(Simulator);

impl Cluster {
    async fn start() -> Self {
        Self::with(Controllers::default()).await
    }

    async fn with(controllers: Controllers) -> Self {
        let clock: Clock = "frozen:2016-03-01T00:00:00Z".parse().unwrap();
        let builder = Simulator::builder().seed(7).clock(clock).log_search(false);
        let cluster = Self(builder.controllers(controllers).start().await.unwrap());
        cluster.0.settle().await;
        cluster
    }

    fn api(&self, plural: &str) -> Api {
        let version = match plural {
            "deployments" | "replicasets" | "daemonsets" | "jobs" | "horizontalpodautoscalers" => "extensions/v1beta1",
            _ => "v1",
        };
        self.0.client().api(version, plural).unwrap().in_namespace("default")
    }

    /// Creates an object, and lets the cluster do what it makes of it.
    async fn create(&self, plural: &str, object: Value) -> Object {
        let object = self.api(plural).create(object).await.unwrap();
        self.0.settle().await;
        object
    }

    async fn patch(&self, plural: &str, name: &str, patch: Value) {
        self.api(plural).patch(name, &patch).await.unwrap();
        self.0.settle().await;
    }

    async fn delete(&self, plural: &str, name: &str) {
        self.api(plural).delete(name, None).await.unwrap();
        self.0.settle().await;
    }

    async fn advance(&self, seconds: u64) {
        self.0.advance(Duration::from_secs(seconds)).await;
        self.0.settle().await;
    }

    async fn list(&self, plural: &str) -> Vec<Object> {
        self.api(plural).list(&Default::default()).await.unwrap().items
    }

    async fn get(&self, plural: &str, name: &str) -> Value {
        Value::Object(self.api(plural).get(name).await.unwrap().as_ref().clone())
    }

    /// How many pods are in this phase.
    async fn pods(&self, phase: &str) -> usize {
        let pods = self.list("pods").await;
        pods.iter().filter(|pod| pod["status"]["phase"] == phase).count()
    }

    /// The reasons of the events of an object, with how often each came.
    async fn events(&self, name: &str) -> Vec<(String, u64)> {
        let mut events: Vec<_> = self
            .list("events")
            .await
            .iter()
            .filter(|event| event["involvedObject"]["name"] == name)
            .map(|event| {
                (
                    event["reason"].as_str().unwrap().to_owned(),
                    event["count"].as_u64().unwrap(),
                )
            })
            .collect();
        events.sort();
        events
    }
}

fn pod_spec(image: &str, script: Option<&str>) -> Value {
    match script {
        Some(script) => json!({"containers": [{"name": "main", "image": image, "command": ["sh", "-c", script]}]}),
        None => json!({"containers": [{"name": "main", "image": image}]}),
    }
}

fn owner(name: &str, replicas: u64, image: &str) -> Value {
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": pod_spec(image, None)});
    json!({"metadata": {"name": name}, "spec": {"replicas": replicas, "template": template}})
}

#[tokio::test]
async fn a_replication_controller_keeps_its_pods() {
    let cluster = Cluster::start().await;
    cluster
        .create("replicationcontrollers", owner("web", 3, "nginx:1.9"))
        .await;
    assert_eq!(cluster.pods("Running").await, 3);
    let first = ObjectKey::of(&cluster.list("pods").await[0]);
    cluster.delete("pods", &first.name).await;
    assert_eq!(cluster.pods("Running").await, 3);
    assert!(cluster.api("pods").get(&first.name).await.is_err());
    cluster
        .patch("replicationcontrollers", "web", json!({"spec": {"replicas": 1}}))
        .await;
    assert_eq!(cluster.pods("Running").await, 1);
    let status = &cluster.get("replicationcontrollers", "web").await["status"];
    assert_eq!(
        *status,
        json!({"replicas": 1, "fullyLabeledReplicas": 1, "observedGeneration": 2})
    );
}

#[tokio::test]
async fn a_deployment_rolls_to_a_new_template_and_back() {
    let cluster = Cluster::start().await;
    cluster.create("deployments", owner("web", 4, "nginx:1.9")).await;
    assert_eq!(
        cluster.get("deployments", "web").await["status"]["availableReplicas"],
        4
    );
    let image =
        |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}});
    cluster.patch("deployments", "web", image("nginx:1.10")).await;
    let images = |pods: Vec<Object>| -> Vec<Value> {
        pods.iter()
            .map(|pod| pod["spec"]["containers"][0]["image"].clone())
            .collect()
    };
    assert_eq!(images(cluster.list("pods").await), vec![json!("nginx:1.10"); 4]);
    assert_eq!(cluster.list("replicasets").await.len(), 2);
    cluster
        .patch("deployments", "web", json!({"spec": {"rollbackTo": {"revision": 1}}}))
        .await;
    assert_eq!(images(cluster.list("pods").await), vec![json!("nginx:1.9"); 4]);
    let deployment = cluster.get("deployments", "web").await;
    assert_eq!(
        deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "3"
    );
    assert_eq!(deployment["status"]["updatedReplicas"], 4);
}

#[tokio::test]
async fn a_paused_deployment_makes_no_replica_set_until_it_is_resumed() {
    let cluster = Cluster::start().await;
    cluster.create("deployments", owner("web", 1, "nginx:1.9")).await;
    let change =
        json!({"spec": {"paused": true, "template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}});
    cluster.patch("deployments", "web", change).await;
    assert_eq!(cluster.list("replicasets").await.len(), 1);
    cluster
        .patch("deployments", "web", json!({"spec": {"paused": false}}))
        .await;
    assert_eq!(cluster.list("replicasets").await.len(), 2);
}

#[tokio::test]
async fn a_container_that_keeps_failing_is_restarted_ever_later() {
    let cluster = Cluster::start().await;
    cluster
        .create(
            "pods",
            json!({"metadata": {"name": "p"}, "spec": pod_spec("nginx:1.9", Some("exit 7"))}),
        )
        .await;
    cluster.advance(5).await;
    let status = cluster.get("pods", "p").await["status"]["containerStatuses"][0].clone();
    assert_eq!(
        (
            &status["restartCount"],
            &status["state"]["waiting"]["reason"],
            &status["lastState"]["terminated"]["exitCode"]
        ),
        (&json!(1), &json!("CrashLoopBackOff"), &json!(7))
    );
    cluster.advance(600).await;
    let restarts = cluster.get("pods", "p").await["status"]["containerStatuses"][0]["restartCount"].clone();
    assert_eq!(restarts, 6);
}

#[tokio::test]
async fn a_pod_that_ends_says_how() {
    let cluster = Cluster::start().await;
    for (name, script, policy) in [
        ("good", "sleep 3", "Never"),
        ("bad", "exit 4", "Never"),
        ("done", "true", "OnFailure"),
    ] {
        let mut spec = pod_spec("nginx:1.9", Some(script));
        spec["restartPolicy"] = policy.into();
        cluster
            .create("pods", json!({"metadata": {"name": name}, "spec": spec}))
            .await;
    }
    assert_eq!(cluster.get("pods", "good").await["status"]["phase"], "Running");
    cluster.advance(5).await;
    let ended = |pod: Value| {
        let state = pod["status"]["containerStatuses"][0]["state"]["terminated"].clone();
        (
            pod["status"]["phase"].clone(),
            state["exitCode"].clone(),
            state["reason"].clone(),
        )
    };
    assert_eq!(
        ended(cluster.get("pods", "good").await),
        ("Succeeded".into(), 0.into(), "Completed".into())
    );
    assert_eq!(
        ended(cluster.get("pods", "bad").await),
        ("Failed".into(), 4.into(), "Error".into())
    );
    assert_eq!(
        ended(cluster.get("pods", "done").await),
        ("Succeeded".into(), 0.into(), "Completed".into())
    );
}

#[tokio::test]
async fn a_pod_that_fits_no_node_waits_and_events_say_why() {
    let cluster = Cluster::start().await;
    let mut spec = pod_spec("nginx:1.9", None);
    spec["containers"][0]["resources"] = json!({"requests": {"cpu": "64"}});
    cluster
        .create("pods", json!({"metadata": {"name": "huge"}, "spec": spec}))
        .await;
    cluster.advance(4).await;
    assert_eq!(cluster.events("huge").await, [("FailedScheduling".to_owned(), 3)]);
    let node = json!({"spec": {"unschedulable": true}});
    for name in ["node-1", "node-2"] {
        cluster.patch("nodes", name, node.clone()).await;
    }
    cluster
        .create(
            "pods",
            json!({"metadata": {"name": "late"}, "spec": pod_spec("nginx:1.9", None)}),
        )
        .await;
    assert_eq!(cluster.pods("Running").await, 0);
    cluster
        .patch("nodes", "node-2", json!({"spec": {"unschedulable": false}}))
        .await;
    cluster.advance(2).await;
    assert_eq!(cluster.get("pods", "late").await["spec"]["nodeName"], "node-2");
}

#[tokio::test]
async fn pods_of_one_service_are_spread_and_behind_its_endpoints() {
    let cluster = Cluster::start().await;
    let ports = json!([{"port": 80, "targetPort": "http"}]);
    cluster
        .create(
            "services",
            json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": ports}}),
        )
        .await;
    let mut controller = owner("web", 4, "nginx:1.9");
    controller["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"name": "http", "containerPort": 8080}]);
    cluster.create("replicationcontrollers", controller).await;
    let mut nodes: Vec<_> = cluster
        .list("pods")
        .await
        .iter()
        .map(|pod| pod["spec"]["nodeName"].clone())
        .collect();
    nodes.sort_by_key(|node| node.to_string());
    assert_eq!(nodes, ["node-1", "node-1", "node-2", "node-2"]);
    let endpoints = cluster.get("endpoints", "web").await;
    assert_eq!(endpoints["subsets"][0]["addresses"].as_array().unwrap().len(), 4);
    assert_eq!(
        endpoints["subsets"][0]["ports"],
        json!([{"port": 8080, "protocol": "TCP"}])
    );
}

#[tokio::test]
async fn a_job_runs_pods_until_enough_have_succeeded() {
    let cluster = Cluster::start().await;
    let mut spec = pod_spec("busybox", Some("sleep 2"));
    spec["restartPolicy"] = "Never".into();
    let job = json!({"metadata": {"name": "pi"}, "spec": {
        "completions": 3, "parallelism": 2, "autoSelector": true, "template": {"metadata": {"name": "pi"}, "spec": spec},
    }});
    cluster.create("jobs", job).await;
    assert_eq!(cluster.get("jobs", "pi").await["status"]["active"], 2);
    cluster.advance(10).await;
    let status = cluster.get("jobs", "pi").await["status"].clone();
    assert_eq!(
        (&status["succeeded"], &status["conditions"][0]["type"]),
        (&json!(3), &json!("Complete"))
    );
}

#[tokio::test]
async fn a_daemon_set_runs_a_pod_on_each_node_that_fits() {
    let cluster = Cluster::start().await;
    let mut set = owner("agent", 0, "agent:1");
    set["spec"].as_object_mut().unwrap().remove("replicas");
    set["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "ssd"});
    cluster.create("daemonsets", set).await;
    assert_eq!(cluster.pods("Running").await, 0);
    cluster
        .patch("nodes", "node-2", json!({"metadata": {"labels": {"disk": "ssd"}}}))
        .await;
    assert_eq!(cluster.list("pods").await[0]["spec"]["nodeName"], "node-2");
    let status = cluster.get("daemonsets", "agent").await["status"].clone();
    assert_eq!(
        status,
        json!({"currentNumberScheduled": 1, "numberMisscheduled": 0, "desiredNumberScheduled": 1})
    );
}

#[tokio::test]
async fn a_namespace_that_is_deleted_takes_everything_with_it() {
    let cluster = Cluster::start().await;
    cluster
        .create("namespaces", json!({"metadata": {"name": "team"}}))
        .await;
    let client = cluster.0.client();
    let in_team = |plural: &str| client.api("v1", plural).unwrap().in_namespace("team");
    in_team("replicationcontrollers")
        .create(owner("web", 2, "nginx:1.9"))
        .await
        .unwrap();
    cluster.0.settle().await;
    assert_eq!(in_team("pods").list(&Default::default()).await.unwrap().items.len(), 2);
    assert_eq!(
        in_team("secrets").list(&Default::default()).await.unwrap().items.len(),
        1
    );
    cluster.delete("namespaces", "team").await;
    assert_eq!(cluster.api("namespaces").get("team").await.unwrap_err().code, 404);
    for plural in ["pods", "replicationcontrollers", "secrets", "serviceaccounts", "events"] {
        assert!(
            in_team(plural)
                .list(&Default::default())
                .await
                .unwrap()
                .items
                .is_empty(),
            "{plural}"
        );
    }
}

#[tokio::test]
async fn an_account_has_a_token_that_comes_back_and_goes_with_it() {
    let cluster = Cluster::start().await;
    cluster
        .create("serviceaccounts", json!({"metadata": {"name": "robot"}}))
        .await;
    let token = cluster.get("serviceaccounts", "robot").await["secrets"][0]["name"].clone();
    cluster.delete("secrets", token.as_str().unwrap()).await;
    let next = cluster.get("serviceaccounts", "robot").await["secrets"].clone();
    assert_eq!(next.as_array().unwrap().len(), 1);
    assert_ne!(next[0]["name"], token);
    cluster.delete("serviceaccounts", "robot").await;
    assert!(
        cluster
            .api("secrets")
            .get(next[0]["name"].as_str().unwrap())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn what_is_deleted_is_given_back_to_the_quota() {
    let cluster = Cluster::start().await;
    cluster
        .create(
            "resourcequotas",
            json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2", "secrets": "9"}}}),
        )
        .await;
    cluster
        .create(
            "pods",
            json!({"metadata": {"name": "p"}, "spec": pod_spec("nginx:1.9", None)}),
        )
        .await;
    let used = cluster.get("resourcequotas", "q").await["status"]["used"].clone();
    assert_eq!(used, json!({"pods": "1", "secrets": "1"}));
    cluster.delete("pods", "p").await;
    assert_eq!(cluster.get("resourcequotas", "q").await["status"]["used"]["pods"], "0");
    let fewer = json!({"spec": {"hard": {"secrets": null}}});
    cluster.patch("resourcequotas", "q", fewer).await;
    let status = cluster.get("resourcequotas", "q").await["status"].clone();
    assert_eq!(
        status,
        json!({"hard": {"pods": "2"}, "used": {"pods": "0", "secrets": "1"}})
    );
}

#[tokio::test]
async fn a_claim_is_bound_to_the_smallest_volume_that_fits() {
    let cluster = Cluster::start().await;
    for (name, size, policy) in [
        ("small", "1Gi", "Retain"),
        ("large", "9Gi", "Retain"),
        ("middle", "5Gi", "Recycle"),
    ] {
        let spec = json!({
            "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp/v"}, "persistentVolumeReclaimPolicy": policy,
        });
        cluster
            .create("persistentvolumes", json!({"metadata": {"name": name}, "spec": spec}))
            .await;
    }
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}});
    cluster
        .create(
            "persistentvolumeclaims",
            json!({"metadata": {"name": "c"}, "spec": spec}),
        )
        .await;
    let claim = cluster.get("persistentvolumeclaims", "c").await;
    assert_eq!(
        (&claim["spec"]["volumeName"], &claim["status"]["phase"]),
        (&json!("middle"), &json!("Bound"))
    );
    assert_eq!(
        cluster.get("persistentvolumes", "middle").await["status"]["phase"],
        "Bound"
    );
    cluster.delete("persistentvolumeclaims", "c").await;
    let volume = cluster.get("persistentvolumes", "middle").await;
    assert_eq!(
        (&volume["status"]["phase"], volume["spec"].get("claimRef")),
        (&json!("Available"), None)
    );
}

#[tokio::test]
async fn a_node_that_nobody_runs_becomes_unknown_and_takes_its_pods_with_it() {
    let cluster = Cluster::start().await;
    cluster.create("nodes", json!({"metadata": {"name": "ghost"}})).await;
    let mut spec = pod_spec("nginx:1.9", None);
    spec["nodeName"] = "ghost".into();
    cluster
        .create("pods", json!({"metadata": {"name": "held"}, "spec": spec}))
        .await;
    cluster.advance(120).await;
    let ready = |node: Value| {
        let conditions = node["status"]["conditions"].as_array().unwrap().clone();
        conditions.into_iter().find(|c| c["type"] == "Ready").unwrap()["status"].clone()
    };
    assert_eq!(ready(cluster.get("nodes", "ghost").await), "Unknown");
    assert_eq!(ready(cluster.get("nodes", "node-1").await), "True");
    assert_eq!(cluster.list("pods").await.len(), 1);
    cluster.delete("nodes", "ghost").await;
    assert_eq!(cluster.list("pods").await.len(), 0);
}

#[tokio::test]
async fn an_autoscaler_keeps_replicas_within_its_bounds() {
    let cluster = Cluster::start().await;
    cluster
        .create("replicationcontrollers", owner("web", 1, "nginx:1.9"))
        .await;
    let spec = json!({
        "scaleRef": {"kind": "ReplicationController", "name": "web", "apiVersion": "v1", "subresource": "scale"},
        "minReplicas": 2, "maxReplicas": 4, "cpuUtilization": {"targetPercentage": 70},
    });
    cluster
        .create(
            "horizontalpodautoscalers",
            json!({"metadata": {"name": "auto"}, "spec": spec}),
        )
        .await;
    cluster.advance(30).await;
    assert_eq!(cluster.pods("Running").await, 2);
    let rescaled: Vec<_> = cluster.events("auto").await;
    assert!(rescaled.contains(&("SuccessfulRescale".to_owned(), 1)), "{rescaled:?}");
}

#[tokio::test]
async fn a_controller_that_is_switched_off_leaves_its_objects_alone() {
    let cluster = Cluster::with("*,-replicationcontroller".parse().unwrap()).await;
    cluster
        .create("replicationcontrollers", owner("web", 2, "nginx:1.9"))
        .await;
    cluster.create("replicasets", owner("other", 1, "nginx:1.9")).await;
    assert_eq!(cluster.pods("Running").await, 1);
}

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
async fn the_clock_is_stepped_over_http_and_the_cluster_goes_on() {
    let cluster = Cluster::start().await;
    let mut spec = pod_spec("busybox", Some("sleep 300"));
    spec["restartPolicy"] = "Never".into();
    cluster
        .create("pods", json!({"metadata": {"name": "p"}, "spec": spec}))
        .await;
    let url = format!("{}/_stuntdouble/clock", cluster.0.url());
    let _installed = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
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
