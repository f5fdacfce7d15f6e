//! The node controller.

use serde_json::{Value, json};

use crate::cluster::{Cluster, pod_spec};

#[tokio::test]
async fn a_node_without_a_kubelet_becomes_unknown_and_loses_its_pods() {
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
async fn a_silent_node_loses_its_pods_except_those_of_daemon_sets() {
    let cluster = Cluster::start().await;
    cluster.create("nodes", ghost("v1.2.0")).await;
    let mut spec = pod_spec("nginx:1.9", None);
    spec["nodeName"] = "ghost".into();
    let pod = |name: &str| json!({"metadata": {"name": name, "labels": {"name": name}}, "spec": spec});
    cluster.create("pods", pod("held")).await;
    cluster.create("pods", pod("daemon")).await;
    let template = json!({"metadata": {"labels": {"name": "daemon"}}, "spec": spec});
    let set = json!({"metadata": {"name": "set"}, "spec": {"template": template}});
    cluster.create("daemonsets", set).await;
    cluster.advance(301).await;
    assert_eq!(
        cluster.messages("NodeControllerEviction").await,
        ["Marking for deletion Pod held from Node ghost"]
    );
    let held = cluster.get("pods", "held").await;
    assert!(held["metadata"]["deletionTimestamp"].is_string());
    cluster.advance(31).await;
    assert!(cluster.api("pods").get("held").await.is_err());
    assert!(cluster.api("pods").get("daemon").await.is_ok());
    assert_eq!(cluster.messages("TerminatedAllPods").await.len(), 1);
}

fn ghost(version: &str) -> Value {
    json!({"metadata": {"name": "ghost"}, "status": {"nodeInfo": {"kubeletVersion": version}}})
}

#[tokio::test]
async fn a_pod_without_a_kubelet_is_removed_at_once() {
    let cluster = Cluster::start().await;
    cluster.create("nodes", ghost("")).await;
    let mut spec = pod_spec("nginx:1.9", None);
    spec["nodeName"] = "ghost".into();
    cluster
        .create("pods", json!({"metadata": {"name": "held"}, "spec": spec}))
        .await;
    cluster.delete("pods", "held").await;
    assert_eq!(cluster.list("pods").await.len(), 0);
    spec["nodeName"] = "nowhere".into();
    cluster
        .create("pods", json!({"metadata": {"name": "lost"}, "spec": spec}))
        .await;
    cluster.advance(31).await;
    assert_eq!(cluster.list("pods").await.len(), 0);
}

#[tokio::test]
async fn the_servers_of_a_node_respond_through_its_proxy() {
    let cluster = Cluster::start().await;
    cluster
        .create(
            "pods",
            json!({"metadata": {"name": "p"}, "spec": pod_spec("nginx:1.9", None)}),
        )
        .await;
    cluster.advance(1).await;
    let pod = cluster.get("pods", "p").await;
    let node = pod["spec"]["nodeName"].as_str().unwrap();
    for path in [
        format!("proxy/nodes/{node}:10250/logs/"),
        format!("proxy/nodes/{node}/logs/"),
        format!("nodes/{node}:10250/proxy/logs/"),
        format!("nodes/{node}/proxy/logs/"),
        format!("nodes/{node}/proxy/healthz"),
    ] {
        assert_eq!(
            cluster.request("GET", &format!("/api/v1/{path}")).await.0,
            200,
            "{path}"
        );
    }
    let id = pod["status"]["containerStatuses"][0]["containerID"].as_str().unwrap();
    for path in [
        format!("proxy/nodes/{node}:4194/containers/"),
        format!("nodes/{node}:4194/proxy/containers/"),
    ] {
        let (status, page) = cluster.request("GET", &format!("/api/v1/{path}")).await;
        assert!(
            status == 200 && page.contains(id.trim_start_matches("docker://")),
            "{page}"
        );
    }
    let (_, pods) = cluster
        .request("GET", &format!("/api/v1/proxy/nodes/{node}:10250/pods"))
        .await;
    let pods: Value = serde_json::from_str(&pods).unwrap();
    assert_eq!(
        (&pods["kind"], &pods["items"][0]["metadata"]["name"]),
        (&json!("PodList"), &json!("p"))
    );
    let (status, _) = cluster
        .request("GET", &format!("/api/v1/proxy/nodes/{node}:10250/absent"))
        .await;
    assert_eq!(status, 404);
}
