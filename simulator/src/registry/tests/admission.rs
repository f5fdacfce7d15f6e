//! Namespace lifecycle, limit ranges and quotas.

use rstest::rstest;
use serde_json::{Value, json};

use super::{Rig, pod};

/// Creates a quota whose controller has counted `used`.
async fn quota(rig: &Rig, spec: Value, used: Value) {
    let mut made = rig
        .expect_ok(
            "POST",
            "ns/resourcequotas",
            json!({"metadata": {"name": "q"}, "spec": spec}),
        )
        .await;
    made["status"] = json!({"hard": made["spec"]["hard"], "used": used});
    rig.expect_ok("PUT", "ns/resourcequotas/q/status", made).await;
}

async fn used(rig: &Rig) -> Value {
    rig.expect_ok("GET", "ns/resourcequotas/q", Value::Null).await["status"]["used"].clone()
}

#[rstest]
#[case("PUT", "nowhere/configmaps/c", json!({"metadata": {"name": "c"}}))]
#[case("PUT", "nowhere/pods/p/status", json!({"metadata": {"name": "p"}}))]
#[case("PUT", "nowhere/replicationcontrollers/r/scale", json!({"metadata": {"name": "r"}}))]
#[case("POST", "nowhere/configmaps", json!({}))]
#[case("POST", "nowhere/pods/p/binding", json!({"metadata": {"name": "p"}, "target": {"name": "n"}}))]
#[case("POST", "/extensions/v1beta1/nowhere/deployments/d/rollback", json!({"name": "d"}))]
#[case("DELETE", "nowhere/configmaps/c", Value::Null)]
#[case("DELETE", "nowhere/configmaps", Value::Null)]
#[tokio::test]
async fn writes_in_a_missing_namespace_fail(#[case] method: &str, #[case] path: &str, #[case] body: Value) {
    let rig = Rig::new().await;
    assert_eq!(
        rig.expect_error(method, path, body).await,
        (404, "namespaces \"nowhere\" not found".to_owned())
    );
}

#[tokio::test]
async fn a_patch_reports_a_missing_object_before_its_namespace() {
    let rig = Rig::new().await;
    assert_eq!(
        rig.expect_error("PATCH", "nowhere/configmaps/c", json!({})).await,
        (404, "configmaps \"c\" not found".to_owned())
    );
}

#[rstest]
#[case("ns/pods", json!({"metadata": {"generateName": "p-"}}), "pods \"p-\"")]
#[case("ns/pods", json!({}), "pods \"Unknown\"")]
#[case("/batch/v1/ns/jobs", json!({"metadata": {"name": "j"}}), "jobs.batch \"j\"")]
#[case("ns/bindings", json!({"metadata": {"name": "p"}}), "bindings \"p\"")]
#[tokio::test]
async fn a_terminating_namespace_rejects_new_objects(#[case] path: &str, #[case] body: Value, #[case] named: &str) {
    let rig = Rig::new().await;
    rig.expect_ok("DELETE", "namespaces/ns", Value::Null).await;
    let want =
        format!("{named} is forbidden: Unable to create new content in namespace ns because it is being terminated.");
    assert_eq!(rig.expect_error("POST", path, body).await, (403, want));
}

#[rstest]
#[case::no_requests(json!({}), "Failed quota: q: must specify cpu,limits.memory")]
#[case::missing_in_one_container(json!({"requests": {"cpu": "1"}}), "Failed quota: q: must specify limits.memory")]
#[case::invalid(json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
    "Failed quota: q: must specify limits.memory")]
#[case::too_much(json!({"requests": {"cpu": "300m"}, "limits": {"memory": "1Mi"}}),
    "Exceeded quota: q, requested: cpu=1300m, used: cpu=1, limited: cpu=2")]
#[tokio::test]
async fn a_quota_rejects_a_pod(#[case] second: Value, #[case] why: &str) {
    let rig = Rig::new().await;
    quota(
        &rig,
        json!({"hard": {"cpu": "2", "limits.memory": "1Gi", "pods": "5"}}),
        json!({"cpu": "1", "limits.memory": "0", "pods": "1"}),
    )
    .await;
    let asked = pod(
        "p",
        &[json!({"requests": {"cpu": "1"}, "limits": {"memory": "1Mi"}}), second],
    );
    assert_eq!(
        rig.expect_error("POST", "ns/pods", asked).await,
        (403, format!("pods \"p\" is forbidden: {why}"))
    );
    assert_eq!(used(&rig).await, json!({"cpu": "1", "limits.memory": "0", "pods": "1"}));
}

/// v1.2 charges a pod to the quota before it validates the pod, and validates the quota's status.
#[rstest]
#[case("0", 403, concat!("pods \"p\" is forbidden: Unable to update quota status: q ResourceQuota \"q\" is invalid: ",
    "status.used[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"))]
#[case("1", 422, concat!("Pod \"p\" is invalid: spec.containers[0].resources.requests[cpu][cpu]: Invalid value: -1: ",
    "must be a valid resource quantity"))]
#[tokio::test]
async fn a_negative_request_makes_the_usage_of_a_quota_negative(
    #[case] before: &str,
    #[case] code: u16,
    #[case] why: &str,
) {
    let rig = Rig::new().await;
    quota(&rig, json!({"hard": {"cpu": "2"}}), json!({"cpu": before})).await;
    let negative = pod("p", &[json!({"requests": {"cpu": "-1"}})]);
    assert_eq!(
        rig.expect_error("POST", "ns/pods", negative).await,
        (code, why.to_owned())
    );
    assert_eq!(used(&rig).await, json!({"cpu": "0"}));
}

#[tokio::test]
async fn an_exceeded_limit_rejects_objects_of_other_resources() {
    let rig = Rig::new().await;
    quota(
        &rig,
        json!({"hard": {"pods": "1", "secrets": "9"}}),
        json!({"pods": "2", "secrets": "0"}),
    )
    .await;
    let why = "secrets \"s\" is forbidden: Exceeded quota: q, requested: , used: pods=2, limited: pods=1";
    assert_eq!(
        rig.expect_error("POST", "ns/secrets", json!({"metadata": {"name": "s"}}))
            .await,
        (403, why.to_owned())
    );
}

#[tokio::test]
async fn a_quota_with_unknown_usage_rejects_limited_objects() {
    let rig = Rig::new().await;
    quota(
        &rig,
        json!({"hard": {"pods": "1", "secrets": "9"}}),
        json!({"secrets": "0"}),
    )
    .await;
    let why = "secrets \"s\" is forbidden: Status unknown for quota: q";
    assert_eq!(
        rig.expect_error("POST", "ns/secrets", json!({"metadata": {"name": "s"}}))
            .await,
        (403, why.to_owned())
    );
    rig.expect_ok("POST", "ns/configmaps", json!({"metadata": {"name": "c"}}))
        .await;
}

#[rstest]
#[case(json!({}), json!("BestEffort"), true)]
#[case(json!({"requests": {"cpu": "1"}}), json!("BestEffort"), true)]
#[case(json!({"requests": {"cpu": "1", "memory": "0"}}), json!("BestEffort"), true)]
#[case(json!({"requests": {"cpu": "1", "memory": "1"}}), json!("BestEffort"), false)]
#[case(json!({"requests": {"cpu": "1", "memory": "1"}}), json!("NotBestEffort"), true)]
#[case(json!({}), json!("NotTerminating"), true)]
#[case(json!({}), json!("Terminating"), false)]
#[tokio::test]
async fn a_quota_counts_the_pods_of_its_scope(#[case] resources: Value, #[case] scope: Value, #[case] counted: bool) {
    let rig = Rig::new().await;
    quota(
        &rig,
        json!({"hard": {"pods": "1"}, "scopes": [scope]}),
        json!({"pods": "0"}),
    )
    .await;
    rig.expect_ok("POST", "ns/pods", pod("p", &[resources])).await;
    assert_eq!(used(&rig).await["pods"], if counted { "1" } else { "0" });
}

#[tokio::test]
async fn an_updated_pod_is_checked_but_not_charged_again() {
    let rig = Rig::new().await;
    rig.expect_ok("POST", "ns/pods", pod("old", &[json!({})])).await;
    quota(&rig, json!({"hard": {"cpu": "2"}}), json!({"cpu": "0"})).await;
    rig.expect_ok("POST", "ns/pods", pod("new", &[json!({"requests": {"cpu": "1"}})]))
        .await;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    rig.expect_ok("PATCH", "ns/pods/new", label.clone()).await;
    assert_eq!(used(&rig).await, json!({"cpu": "1"}));
    let why = "pods \"old\" is forbidden: Failed quota: q: must specify cpu";
    assert_eq!(
        rig.expect_error("PATCH", "ns/pods/old", label).await,
        (403, why.to_owned())
    );
}
