//! Controllers of pods.

use serde_json::{Value, json};
use stuntdouble_simulator::ObjectKey;

use crate::cluster::{Cluster, owner, pod_spec};

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
async fn a_job_runs_pods_until_enough_have_succeeded() {
    let cluster = Cluster::start().await;
    let mut spec = pod_spec("busybox", Some("sleep 2"));
    spec["restartPolicy"] = "Never".into();
    let job = json!({"metadata": {"name": "pi"}, "spec": {
        "completions": 3, "parallelism": 2, "autoSelector": true, "template": {"metadata": {"name": "pi"},
            "spec": spec},
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
async fn a_disabled_controller_does_not_change_its_objects() {
    let cluster = Cluster::with("*,-replicationcontroller".parse().unwrap()).await;
    cluster
        .create("replicationcontrollers", owner("web", 2, "nginx:1.9"))
        .await;
    cluster.create("replicasets", owner("other", 1, "nginx:1.9")).await;
    assert_eq!(cluster.pods("Running").await, 1);
}

#[tokio::test]
async fn pods_rejected_by_a_quota_are_retried_when_something_changes() {
    let cluster = Cluster::start().await;
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}});
    cluster.create("resourcequotas", quota).await;
    cluster
        .create("replicationcontrollers", owner("web", 4, "nginx:1.9"))
        .await;
    assert_eq!(cluster.pods("Running").await, 2);
    let failures = cluster.messages("FailedCreate").await;
    assert!(failures[0].starts_with("Error creating: pods \"web-\" is forbidden: Exceeded quota: q"));
    let more = json!({"spec": {"hard": {"pods": "4"}}});
    cluster.patch("resourcequotas", "q", more).await;
    assert_eq!(cluster.pods("Running").await, 2);
    let name = ObjectKey::of(&cluster.list("pods").await[0]).name;
    let label = json!({"metadata": {"labels": {"color": "red"}}});
    cluster.patch("pods", &name, label).await;
    assert_eq!(cluster.pods("Running").await, 4);
}

#[tokio::test]
async fn a_job_that_adopts_surplus_pods_records_an_event() {
    let cluster = Cluster::start().await;
    for name in ["one", "two"] {
        let mut spec = pod_spec("busybox", Some("true"));
        spec["restartPolicy"] = "Never".into();
        let pod = json!({"metadata": {"name": name, "labels": {"task": "t"}}, "spec": spec});
        cluster.create("pods", pod).await;
    }
    cluster.advance(5).await;
    let mut spec = pod_spec("busybox", None);
    spec["restartPolicy"] = "Never".into();
    let job = json!({"metadata": {"name": "j"}, "spec": {
        "completions": 1, "selector": {"matchLabels": {"task": "t"}},
        "template": {"metadata": {"labels": {"task": "t"}}, "spec": spec},
    }});
    cluster.create("jobs", job).await;
    assert_eq!(
        cluster.messages("TooManySucceededPods").await,
        ["Too many succeeded pods running after completion count reached"]
    );
    assert_eq!(cluster.get("jobs", "j").await["status"]["succeeded"], 2);
}

#[tokio::test]
async fn endpoints_name_the_hosts_of_their_subdomain() {
    let cluster = Cluster::start().await;
    let service = json!({"metadata": {"name": "sub"}, "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}});
    cluster.create("services", service).await;
    let annotations = json!({"pod.beta.kubernetes.io/hostname": "first", "pod.beta.kubernetes.io/subdomain": "sub"});
    let pod = json!({
        "metadata": {"name": "p", "labels": {"app": "a"}, "annotations": annotations},
        "spec": pod_spec("nginx:1.9", None),
    });
    cluster.create("pods", pod).await;
    let address = cluster.get("pods", "p").await["status"]["podIP"].clone();
    let names = |endpoints: Value| {
        let annotations = endpoints["metadata"]["annotations"].clone();
        annotations["endpoints.beta.kubernetes.io/hostnames-map"].clone()
    };
    let expected = json!({address.as_str().unwrap(): {"HostName": "first"}}).to_string();
    assert_eq!(names(cluster.get("endpoints", "sub").await), expected);
    cluster.delete("pods", "p").await;
    assert_eq!(names(cluster.get("endpoints", "sub").await), Value::Null);
}

#[tokio::test]
async fn an_autoscaler_follows_the_usage_of_its_pods() {
    let cluster = Cluster::start().await;
    let mut target = owner("web", 2, "nginx:1.9");
    target["spec"]["template"]["metadata"]["annotations"] = json!({"stuntdouble/cpu-usage": "90m"});
    target["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "100m"}});
    cluster.create("replicationcontrollers", target).await;
    let spec = json!({
        "scaleRef": {"kind": "ReplicationController", "name": "web", "apiVersion": "v1", "subresource": "scale"},
        "minReplicas": 1, "maxReplicas": 9, "cpuUtilization": {"targetPercentage": 50},
    });
    let autoscaler = json!({"metadata": {"name": "auto"}, "spec": spec});
    cluster.create("horizontalpodautoscalers", autoscaler).await;
    assert_eq!(cluster.pods("Running").await, 4);
    assert_eq!(
        cluster.messages("SuccessfulRescale").await,
        ["New size: 4; reason: CPU utilization above target"]
    );
    cluster.advance(30).await;
    let status = cluster.get("horizontalpodautoscalers", "auto").await["status"].clone();
    assert_eq!(status["currentCPUUtilizationPercentage"], 90);
    let calm = json!({"metadata": {"annotations": {"stuntdouble/cpu-usage": "20m"}}});
    for pod in cluster.list("pods").await {
        cluster.patch("pods", &ObjectKey::of(&pod).name, calm.clone()).await;
    }
    cluster.advance(240).await;
    assert_eq!(cluster.pods("Running").await, 4);
    cluster.advance(60).await;
    assert_eq!(cluster.pods("Running").await, 2);
}

#[tokio::test]
async fn each_controller_can_be_disabled_on_its_own_or_with_all_others() {
    let cluster = Cluster::with("-*".parse().unwrap()).await;
    cluster.create("deployments", owner("web", 2, "nginx:1.9")).await;
    cluster
        .create("replicationcontrollers", owner("rc", 1, "nginx:1.9"))
        .await;
    let pod = json!({"metadata": {"name": "p"}, "spec": pod_spec("nginx:1.9", None)});
    cluster.create("pods", pod).await;
    cluster.advance(60).await;
    for (plural, count) in [("replicasets", 0), ("pods", 1), ("serviceaccounts", 0), ("secrets", 0)] {
        assert_eq!(cluster.list(plural).await.len(), count, "{plural}");
    }
    assert_eq!(cluster.pods("Pending").await, 1);
    cluster.api("pods").bind("p", "node-1").await.unwrap();
    cluster.0.settle().await;
    assert_eq!(cluster.pods("Running").await, 1);

    let cluster = Cluster::with("*,-scheduler".parse().unwrap()).await;
    cluster.create("deployments", owner("web", 2, "nginx:1.9")).await;
    assert_eq!(
        (
            cluster.pods("Pending").await,
            cluster.list("serviceaccounts").await.len()
        ),
        (2, 1)
    );
}

#[tokio::test]
async fn an_autoscaler_without_its_target_records_an_event() {
    let cluster = Cluster::start().await;
    let target =
        json!({"kind": "Deployment", "name": "gone", "apiVersion": "extensions/v1beta1", "subresource": "scale"});
    let autoscaler = json!({"metadata": {"name": "auto"}, "spec": {"scaleRef": target, "maxReplicas": 4}});
    cluster.create("horizontalpodautoscalers", autoscaler).await;
    let said = cluster.messages("FailedGetScale").await;
    assert_eq!(said, ["deployments/scale.extensions \"gone\" not found"]);
}
