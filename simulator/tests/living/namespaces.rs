//! What belongs to a namespace: its life, its accounts, its quotas.

use serde_json::json;

use crate::cluster::{Cluster, owner, pod_spec};

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
