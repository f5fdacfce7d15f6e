//! Life cycle, service accounts and quotas of namespaces.

use serde_json::json;

use stuntdouble_simulator::{Addons, Clock, Profile, Simulator};

use crate::client::client;
use crate::cluster::{Cluster, owner, pod_spec};

#[tokio::test]
async fn a_deleted_namespace_is_emptied_first() {
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
async fn a_deleted_token_is_created_again_and_is_deleted_with_its_account() {
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
async fn deletions_lower_the_usage_of_a_quota() {
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
async fn in_v1_2_a_namespace_remains_for_half_the_grace_period_of_its_pods() {
    let clock: Clock = "frozen:2016-03-01T00:00:00Z".parse().unwrap();
    let builder = Simulator::builder().profile(Profile::Kubernetes12).clock(clock);
    let cluster = Cluster(builder.addons(Addons::none()).start().await.unwrap());
    for name in ["empty", "full"] {
        cluster.create("namespaces", json!({"metadata": {"name": name}})).await;
    }
    let pod = json!({"metadata": {"name": "p"}, "spec": pod_spec("nginx:1.9", None)});
    let pods = cluster.0.client().api("v1", "pods").unwrap();
    pods.in_namespace("full").create(pod).await.unwrap();
    cluster.0.settle().await;
    cluster.delete("namespaces", "empty").await;
    cluster.delete("namespaces", "full").await;
    assert!(cluster.api("namespaces").get("empty").await.is_err());
    cluster.advance(15).await;
    assert_eq!(
        cluster.get("namespaces", "full").await["status"]["phase"],
        "Terminating"
    );
    cluster.advance(1).await;
    assert!(cluster.api("namespaces").get("full").await.is_err());
}

#[tokio::test]
async fn a_container_reads_the_token_of_its_account() {
    let cluster = Cluster::start().await;
    let script = "cd /var/run/secrets/kubernetes.io/serviceaccount; cat namespace; echo; cat token; echo; cat ca.crt";
    let mut spec = pod_spec("busybox", Some(script));
    spec["restartPolicy"] = "Never".into();
    let pod = json!({"metadata": {"name": "reader"}, "spec": spec});
    let created = cluster.create("pods", pod).await;
    assert_eq!(created["spec"]["serviceAccountName"], "default");
    let account = cluster.get("serviceaccounts", "default").await;
    let token = &account["secrets"][0]["name"];
    assert_eq!(&created["spec"]["volumes"][0]["secret"]["secretName"], token);
    cluster.advance(5).await;
    let url = format!("{}/api/v1/namespaces/default/pods/reader/log", cluster.0.url());
    let log = client().get(url).send().await.unwrap().text().await.unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[0], "default");
    assert_eq!(lines[1].split('.').count(), 3);
    assert_eq!(
        (lines[2], *lines.last().unwrap()),
        ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
    );
    let mut spec = pod_spec("busybox", None);
    spec["serviceAccountName"] = "nobody".into();
    let refused = json!({"metadata": {"name": "refused"}, "spec": spec});
    let why = cluster.api("pods").create(refused).await.unwrap_err();
    assert_eq!(
        (why.code, why.message.as_str()),
        (
            403,
            "pods \"refused\" is forbidden: error looking up service account default/nobody: serviceaccounts \
                \"nobody\" not found"
        )
    );
}
