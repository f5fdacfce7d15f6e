//! Deployments.

use futures::future::join_all;
use rstest::rstest;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Object, owner};

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
async fn a_paused_deployment_creates_no_replica_set_until_it_is_resumed() {
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

#[rstest]
#[case::alone(1)]
#[case::beside_three_others(4)]
#[case::beside_seven_others(8)]
#[tokio::test]
async fn a_rollout_takes_one_step_for_each_pod_that_becomes_ready(#[case] deployments: usize) {
    let cluster = Cluster::start().await;
    let names: Vec<String> = (0..deployments).map(|number| format!("web{number}")).collect();
    for name in &names {
        let mut deployment = owner(name, 3, "nginx:1.9");
        deployment["spec"]["strategy"] =
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}});
        cluster.create("deployments", deployment).await;
    }
    let (api, change) = (cluster.api("deployments"), image("nginx:1.10"));
    join_all(names.iter().map(|name| api.patch(name, &change))).await;
    cluster.0.settle().await;
    let messages = cluster.messages("ScalingReplicaSet").await;
    for name in &names {
        let prefix = format!("{name}-");
        let words = messages.iter().map(|message| message.split(' ').collect::<Vec<_>>());
        let own = words.filter(|words| words.iter().any(|word| word.starts_with(&prefix)));
        let steps: Vec<String> = own
            .map(|words| format!("{} to {}", words[1], words[words.len() - 1]))
            .collect();
        assert_eq!(
            steps,
            [
                "up to 3",
                "up to 1",
                "down to 2",
                "up to 2",
                "down to 1",
                "up to 3",
                "down to 0"
            ],
            "{name}"
        );
    }
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}})
}

#[tokio::test]
async fn a_deployment_adopts_the_replica_set_with_its_template() {
    let cluster = Cluster::start().await;
    cluster.create("replicasets", owner("before", 2, "nginx:1.9")).await;
    let pods: Vec<Value> = uids(cluster.list("pods").await);
    cluster.create("deployments", owner("before", 2, "nginx:1.9")).await;
    let sets = cluster.list("replicasets").await;
    assert_eq!(sets.len(), 1);
    let hash = &sets[0]["spec"]["selector"]["matchLabels"]["pod-template-hash"];
    assert!(hash.is_string());
    assert_eq!(&sets[0]["metadata"]["labels"]["pod-template-hash"], hash);
    for pod in cluster.list("pods").await {
        assert_eq!(&pod["metadata"]["labels"]["pod-template-hash"], hash);
    }
    assert_eq!(uids(cluster.list("pods").await), pods);
    let status = cluster.get("deployments", "before").await["status"].clone();
    assert_eq!(
        (&status["replicas"], &status["updatedReplicas"]),
        (&json!(2), &json!(2))
    );
}

fn uids(objects: Vec<Object>) -> Vec<Value> {
    objects.iter().map(|object| object["metadata"]["uid"].clone()).collect()
}

#[tokio::test]
async fn a_rollback_to_a_missing_revision_changes_nothing() {
    let cluster = Cluster::start().await;
    cluster.create("deployments", owner("web", 1, "nginx:1.9")).await;
    for (revision, message) in [
        (0, "Unable to find last revision."),
        (7, "Unable to find the revision to rollback to."),
    ] {
        let rollback = json!({"spec": {"rollbackTo": {"revision": revision}}});
        cluster.patch("deployments", "web", rollback).await;
        let found = cluster.messages("DeploymentRollbackRevisionNotFound").await;
        assert_eq!(found.last().unwrap(), message);
    }
    let rollback = json!({"spec": {"rollbackTo": {"revision": 1}}});
    cluster.patch("deployments", "web", rollback).await;
    assert_eq!(
        cluster.messages("DeploymentRollbackTemplateUnchanged").await,
        ["The rollback revision contains the same template as current deployment \"web\""]
    );
    let deployment = cluster.get("deployments", "web").await;
    assert_eq!(deployment["spec"].get("rollbackTo"), None);
    assert_eq!(cluster.list("replicasets").await.len(), 1);
}

#[tokio::test]
async fn a_deployment_of_100_replicas_rolls_pauses_resumes_and_rolls_back() {
    let cluster = Cluster::start().await;
    let mut deployment = owner("web", 100, "nginx:1.9");
    deployment["spec"]["strategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "20%", "maxUnavailable": 0}});
    deployment["spec"]["minReadySeconds"] = 10.into();
    cluster.create("deployments", deployment).await;
    cluster.advance(15).await;
    cluster.patch("deployments", "web", image("nginx:1.10")).await;
    cluster.advance(15).await;
    cluster
        .patch("deployments", "web", json!({"spec": {"paused": true}}))
        .await;
    let updated = |deployment: Value| deployment["status"]["updatedReplicas"].as_u64().unwrap();
    let midway = updated(cluster.get("deployments", "web").await);
    assert!((20..100).contains(&midway), "{midway}");
    cluster.advance(60).await;
    assert_eq!(updated(cluster.get("deployments", "web").await), midway);
    cluster
        .patch("deployments", "web", json!({"spec": {"paused": false}}))
        .await;
    cluster.advance(120).await;
    let status = cluster.get("deployments", "web").await["status"].clone();
    assert_eq!(
        (
            &status["updatedReplicas"],
            &status["availableReplicas"],
            &status["replicas"]
        ),
        (&json!(100), &json!(100), &json!(100))
    );
    let rollback = json!({"spec": {"rollbackTo": {"revision": 1}}});
    cluster.patch("deployments", "web", rollback).await;
    cluster.advance(120).await;
    let pods = cluster.list("pods").await;
    assert_eq!(pods.len(), 100);
    assert!(
        pods.iter()
            .all(|pod| pod["spec"]["containers"][0]["image"] == "nginx:1.9")
    );
}
