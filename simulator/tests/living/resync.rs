//! What controllers repair only at their periodic resync, and what they do not change.

use serde_json::{Value, json};
use stuntdouble_simulator::ObjectKey;

use crate::cluster::{Cluster, owner, pod_spec};

fn host_port(port: u16) -> Value {
    let mut spec = pod_spec("nginx:1.9", None);
    spec["containers"][0]["ports"] = json!([{"containerPort": port, "hostPort": port}]);
    spec
}

#[tokio::test]
async fn a_daemon_set_uses_freed_resources_after_30_seconds() {
    let cluster = Cluster::start().await;
    let mut spec = host_port(8080);
    spec["nodeName"] = "node-1".into();
    cluster
        .create("pods", json!({"metadata": {"name": "taken"}, "spec": spec}))
        .await;
    let template = json!({"metadata": {"labels": {"app": "agent"}}, "spec": host_port(8080)});
    let set = json!({"metadata": {"name": "agent"}, "spec": {"template": template}});
    cluster.create("daemonsets", set).await;
    assert_eq!(cluster.pods("Running").await, 2);
    cluster.delete("pods", "taken").await;
    cluster.advance(5).await;
    assert_eq!(cluster.pods("Running").await, 1);
    cluster.advance(30).await;
    assert_eq!(cluster.pods("Running").await, 2);
    let status = &cluster.get("daemonsets", "agent").await["status"];
    assert_eq!(status["currentNumberScheduled"], 2);
}

#[tokio::test]
async fn changed_or_deleted_endpoints_are_restored_after_30_seconds() {
    let cluster = Cluster::start().await;
    let service = json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    cluster.create("services", service).await;
    let pod = json!({"metadata": {"name": "p", "labels": {"app": "web"}}, "spec": pod_spec("nginx:1.9", None)});
    cluster.create("pods", pod).await;
    let subsets = cluster.get("endpoints", "web").await["subsets"].clone();
    cluster.patch("endpoints", "web", json!({"subsets": []})).await;
    assert_eq!(cluster.get("endpoints", "web").await["subsets"], json!([]));
    cluster.advance(30).await;
    assert_eq!(cluster.get("endpoints", "web").await["subsets"], subsets);
    cluster.delete("endpoints", "web").await;
    cluster.advance(30).await;
    assert_eq!(cluster.get("endpoints", "web").await["subsets"], subsets);
}

#[tokio::test]
async fn failed_pod_creations_are_retried_after_30_seconds() {
    let cluster = Cluster::start().await;
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}});
    cluster.create("resourcequotas", quota).await;
    cluster
        .create("replicationcontrollers", owner("web", 2, "nginx:1.9"))
        .await;
    let more = json!({"spec": {"hard": {"pods": "4"}}});
    cluster.patch("resourcequotas", "q", more).await;
    assert_eq!(cluster.pods("Running").await, 1);
    cluster.advance(30).await;
    assert_eq!(cluster.pods("Running").await, 2);
}

#[tokio::test]
async fn controllers_that_select_the_same_pods_do_not_fight() {
    for (second, made, deleted) in [(3, 1, 1), (1, 1, 1)] {
        let cluster = Cluster::start().await;
        for (name, replicas) in [("first", 2), ("second", second)] {
            let mut controller = owner(name, replicas, "nginx:1.9");
            controller["spec"]["selector"] = json!({"app": "web"});
            controller["spec"]["template"]["metadata"]["labels"] = json!({"app": "web"});
            cluster.create("replicationcontrollers", controller).await;
        }
        cluster.advance(60).await;
        assert_eq!(cluster.pods("Running").await, 2);
        let count = |reason| {
            let messages = cluster.messages(reason);
            async move { messages.await.len() }
        };
        assert_eq!(
            (count("SuccessfulCreate").await, count("SuccessfulDelete").await),
            (2 + made, deleted)
        );
    }
}

#[tokio::test]
async fn a_job_without_active_or_ended_pods_has_no_status() {
    let cluster = Cluster::start().await;
    let mut spec = pod_spec("busybox", None);
    spec["restartPolicy"] = "Never".into();
    let template = json!({"metadata": {"labels": {"app": "idle"}}, "spec": spec});
    let job = json!({"metadata": {"name": "idle"}, "spec": {"parallelism": 0, "template": template}});
    cluster.create("jobs", job).await;
    assert_eq!(cluster.get("jobs", "idle").await["status"], json!({}));
    cluster.patch("jobs", "idle", json!({"spec": {"parallelism": 1}})).await;
    let status = cluster.get("jobs", "idle").await["status"].clone();
    assert_eq!(status, json!({"startTime": "2016-03-01T00:00:00Z", "active": 1}));
}

#[tokio::test]
async fn a_secret_that_names_an_account_gets_its_token() {
    let cluster = Cluster::start().await;
    let account = json!({"metadata": {"name": "robot"}, "secrets": [{"name": "mine"}]});
    cluster.create("serviceaccounts", account).await;
    let named = |name: &str, account: &str| {
        let annotations = json!({"kubernetes.io/service-account.name": account});
        json!({"metadata": {"name": name, "annotations": annotations}, "type": "kubernetes.io/service-account-token"})
    };
    cluster.create("secrets", named("extra", "robot")).await;
    cluster.create("secrets", named("stray", "nobody")).await;
    let secret = cluster.get("secrets", "extra").await;
    let robot = cluster.get("serviceaccounts", "robot").await;
    assert!(
        secret["data"]["token"].is_string() && secret["data"]["namespace"].is_string(),
        "{secret}"
    );
    let uid = &secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"];
    assert_eq!(*uid, robot["metadata"]["uid"]);
    assert_eq!(robot["secrets"].as_array().unwrap().len(), 2);
    let names: Vec<String> = cluster
        .list("secrets")
        .await
        .iter()
        .map(|secret| ObjectKey::of(secret).name)
        .collect();
    assert!(!names.contains(&"stray".to_owned()), "{names:?}");
}

#[tokio::test]
async fn an_account_that_lists_no_token_gets_a_new_one() {
    let cluster = Cluster::start().await;
    let listed = |account: Value| account["secrets"].as_array().unwrap().clone();
    let before = listed(cluster.get("serviceaccounts", "default").await);
    cluster
        .patch("serviceaccounts", "default", json!({"secrets": null}))
        .await;
    let after = listed(cluster.get("serviceaccounts", "default").await);
    assert!(after.len() == 1 && after != before, "{after:?}");
    assert_eq!(cluster.list("secrets").await.len(), 2);
    let name = after[0]["name"].as_str().unwrap();
    cluster.delete("secrets", name).await;
    let last = listed(cluster.get("serviceaccounts", "default").await);
    assert!(last.len() == 1 && last != after, "{last:?}");
}

/// Sets the used pods of the quota `q`, as if admission or the controller had done so.
async fn set_used(cluster: &Cluster, pods: &str) {
    let mut quota = cluster.get("resourcequotas", "q").await;
    quota["status"]["used"]["pods"] = pods.into();
    let quota = quota.as_object().unwrap().clone();
    cluster.api("resourcequotas").update_status(quota).await.unwrap();
}

async fn used(cluster: &Cluster) -> Value {
    cluster.get("resourcequotas", "q").await["status"]["used"]["pods"].clone()
}

#[tokio::test]
async fn the_usage_that_admission_has_counted_is_counted_again_after_5_minutes() {
    let cluster = Cluster::start().await;
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "4"}}});
    cluster.create("resourcequotas", quota).await;
    // It is counted again a second after its own creation.
    cluster.advance(1).await;
    // As if the pods had been admitted, but not been stored yet.
    set_used(&cluster, "2").await;
    cluster.advance(299).await;
    assert_eq!(used(&cluster).await, "2");
    cluster.advance(1).await;
    assert_eq!(used(&cluster).await, "0");
}

#[tokio::test]
async fn a_deletion_that_was_counted_before_a_new_object_was_stored_is_counted_again() {
    let cluster = Cluster::start().await;
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "4"}}});
    cluster.create("resourcequotas", quota).await;
    let pod = json!({"metadata": {"name": "p"}, "spec": pod_spec("nginx:1.9", None)});
    cluster.create("pods", pod).await;
    assert_eq!(used(&cluster).await, "1");
    set_used(&cluster, "0").await;
    cluster.advance(1).await;
    assert_eq!(used(&cluster).await, "1");
}
