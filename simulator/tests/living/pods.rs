//! Kubelets and the scheduler.

use serde_json::{Value, json};
use stuntdouble_simulator::{Addons, Clock, Simulator, Snapshot};

use crate::cluster::{Cluster, owner, pod_spec};

#[tokio::test]
async fn a_container_that_keeps_failing_is_restarted_with_increasing_delays() {
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
async fn an_ended_pod_has_its_result_in_the_status() {
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
async fn a_pod_that_fits_no_node_is_pending_with_events() {
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
async fn a_disk_is_on_one_node_at_a_time_and_preferences_choose_the_node() {
    let cluster = Cluster::start().await;
    let disk = |name: &str| {
        let mut spec = pod_spec("nginx:1.9", None);
        spec["volumes"] = json!([{"name": "d", "gcePersistentDisk": {"pdName": "disk-1", "fsType": "ext4"}}]);
        json!({"metadata": {"name": name}, "spec": spec})
    };
    for name in ["a", "b", "c"] {
        cluster.create("pods", disk(name)).await;
    }
    assert_eq!(cluster.pods("Running").await, 2);
    let message = &cluster.messages("FailedScheduling").await[0];
    assert!(
        message.contains("fit failure on node (node-1): NoDiskConflict"),
        "{message}"
    );
    let label = json!({"metadata": {"labels": {"disk": "ssd"}}});
    cluster.patch("nodes", "node-1", label).await;
    let term = json!({"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]});
    let preferences = json!([{"weight": 10, "preference": term}]);
    let affinity = json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferences}});
    for name in ["x", "y"] {
        let annotations = json!({"scheduler.alpha.kubernetes.io/affinity": affinity.to_string()});
        let pod = json!({"metadata": {"name": name, "annotations": annotations}, "spec": pod_spec("nginx:1.9", None)});
        cluster.create("pods", pod).await;
        assert_eq!(cluster.get("pods", name).await["spec"]["nodeName"], "node-1");
    }
}

#[tokio::test]
async fn an_ended_container_is_not_restarted_when_the_cluster_restarts() {
    let first = Cluster::start().await;
    let run = |name: &str, script: &str| json!({"name": name, "image": "busybox", "command": ["sh", "-c", script]});
    let mixed = json!({"restartPolicy": "Never", "containers": [run("ends", "exit 3"), run("stays", "sleep 9000")]});
    let failing = json!({"containers": [run("fails", "exit 4")]});
    for (name, spec) in [("mixed", mixed), ("failing", failing)] {
        first
            .create("pods", json!({"metadata": {"name": name}, "spec": spec}))
            .await;
    }
    first.advance(5).await;
    let text = first.0.snapshot().await.unwrap().to_string();
    let clock: Clock = "frozen:2016-03-01T00:00:05Z".parse().unwrap();
    let builder = Simulator::builder().seed(7).clock(clock).addons(Addons::none());
    let second = builder.snapshot(Snapshot::parse(&text).unwrap()).start().await.unwrap();
    let second = Cluster(second);
    second.advance(2).await;
    let before = first.get("pods", "mixed").await["status"].clone();
    assert_eq!(before["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
    assert_eq!(second.get("pods", "mixed").await["status"], before);
    let failing = second.get("pods", "failing").await["status"]["containerStatuses"][0].clone();
    assert_eq!(failing["lastState"]["terminated"]["exitCode"], 4);
    assert!(failing["restartCount"].as_u64() >= Some(1));
}

#[tokio::test]
async fn a_pod_deleted_without_a_grace_period_has_its_containers_killed() {
    let cluster = Cluster::start().await;
    let pod = |script| json!({"metadata": {"name": "p"}, "spec": pod_spec("busybox", Some(script))});
    cluster.create("pods", pod("echo first; sleep 1000")).await;
    let first = cluster.get("pods", "p").await;
    cluster.api("pods").delete("p", Some(0)).await.unwrap();
    // The next pod of the same name is created before the kubelet notices the removal of the first one.
    cluster.create("pods", pod("echo second; sleep 1000")).await;
    cluster.advance(1).await;
    let killed: Vec<_> = cluster.list("events").await;
    let killed: Vec<_> = killed.iter().filter(|event| event["reason"] == "Killing").collect();
    assert_eq!(killed.len(), 1);
    assert_eq!(killed[0]["involvedObject"]["uid"], first["metadata"]["uid"]);
    assert_eq!(cluster.log("p").await, "second\n");
    assert_eq!(cluster.pods("Running").await, 1);
}
