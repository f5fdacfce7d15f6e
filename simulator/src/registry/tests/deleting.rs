//! Deletion: grace periods, collections and dependent objects.

use serde_json::{Value, json};

use super::{Rig, pod};

#[tokio::test]
async fn deleting_a_service_deletes_its_endpoints() {
    let rig = Rig::new().await;
    for kind in ["services", "endpoints"] {
        for name in ["a", "b"] {
            rig.expect_ok(
                "POST",
                &format!("ns/{kind}"),
                json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}),
            )
            .await;
        }
    }
    rig.expect_ok("DELETE", "ns/services/a", Value::Null).await;
    assert_eq!(rig.send("GET", "ns/endpoints/a", Value::Null).await.0, 404);
    assert_eq!(rig.send("GET", "ns/endpoints/b", Value::Null).await.0, 200);
}

/// Objects of a collection are deleted in the order of their names.
#[tokio::test]
async fn the_pods_of_a_collection_share_the_grace_period_of_the_first() {
    let rig = Rig::new().await;
    for (name, node, seconds) in [("a", "n", 9), ("b", "n", 30), ("c", "", 30)] {
        let mut made = pod(name, &[json!({})]);
        made["spec"]["terminationGracePeriodSeconds"] = seconds.into();
        made["spec"]["nodeName"] = node.into();
        rig.expect_ok("POST", "ns/pods", made).await;
    }
    rig.expect_ok("DELETE", "ns/pods", Value::Null).await;
    let left = rig.expect_ok("GET", "ns/pods", Value::Null).await;
    let left: Vec<_> = left["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (&p["metadata"]["name"], &p["metadata"]["deletionGracePeriodSeconds"]))
        .collect();
    assert_eq!(left, [(&json!("a"), &json!(9)), (&json!("b"), &json!(9))]);
}

#[tokio::test]
async fn delete_options_of_a_collection_apply_to_every_object() {
    let rig = Rig::new().await;
    let mut made = pod("a", &[json!({})]);
    made["spec"]["nodeName"] = "n".into();
    rig.expect_ok("POST", "ns/pods", made).await;
    let wrong = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": "soon"});
    assert_eq!(rig.send("DELETE", "ns/pods", wrong).await.0, 500);
    rig.expect_ok(
        "DELETE",
        "ns/pods",
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}),
    )
    .await;
    assert_eq!(rig.expect_ok("GET", "ns/pods", Value::Null).await["items"], json!([]));
}

#[tokio::test]
async fn extreme_grace_periods_are_not_clamped() {
    let rig = Rig::new().await;
    for (name, seconds) in [("a", i64::MAX), ("b", i64::MIN), ("c", -1)] {
        let mut made = pod(name, &[json!({})]);
        made["spec"]["nodeName"] = "n".into();
        rig.expect_ok("POST", "ns/pods", made).await;
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": seconds});
        rig.expect_ok("DELETE", &format!("ns/pods/{name}"), options).await;
        let code = rig.send("GET", &format!("ns/pods/{name}"), Value::Null).await.0;
        assert_eq!(code, if seconds > 0 { 200 } else { 404 });
    }
}

#[tokio::test]
async fn a_second_delete_with_a_shorter_period_counts_from_now() {
    let rig = Rig::new().await;
    let mut made = pod("a", &[json!({})]);
    made["spec"]["nodeName"] = "n".into();
    rig.expect_ok("POST", "ns/pods", made).await;
    for (seconds, passed, end) in [(60, 0, "00:01:00"), (30, 10, "00:00:40"), (40, 0, "00:00:40")] {
        rig.1.advance(std::time::Duration::from_secs(passed)).await;
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": seconds});
        let pod = rig.expect_ok("DELETE", "ns/pods/a", options).await;
        assert_eq!(pod["metadata"]["deletionTimestamp"], format!("2016-03-01T{end}Z"));
    }
}
