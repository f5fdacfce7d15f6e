//! Behaviour in which the profiles differ.

use rstest::rstest;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{ListOptions, Profile, Rig, request_info};

fn versioned(resource_version: &str) -> ListOptions {
    ListOptions {
        resource_version: resource_version.to_owned(),
        ..ListOptions::default()
    }
}

async fn list(rig: &Rig, path: &str, options: &ListOptions) -> (u16, String) {
    match rig.0.list(&request_info(path), options).await {
        Ok(response) => (response.code, String::from_utf8(response.body.to_vec()).unwrap()),
        Err(status) => (status.code, status.message),
    }
}

#[rstest]
#[case(json!({"kind": "DeleteOptions", "apiVersion": "batch/v1"}), "batch/v1", 400)]
#[case(json!({"kind": "DeleteOptions", "apiVersion": "autoscaling/v1"}), "autoscaling/v1", 200)]
#[case(json!({"gracePeriodSeconds": 5}), "autoscaling/v1", 200)]
#[tokio::test]
async fn delete_options_may_be_of_the_groups_own_version_in_the_documented_profile(
    #[case] body: Value,
    #[case] group: &str,
    #[case] documented: u16,
) {
    let path = "/autoscaling/v1/ns/horizontalpodautoscalers/a";
    let made =
        json!({"metadata": {"name": "a"}, "spec": {"scaleTargetRef": {"kind": "K", "name": "n"}, "maxReplicas": 1}});
    for profile in Profile::ALL {
        let rig = Rig::of(profile).await;
        rig.expect_ok("POST", "/autoscaling/v1/ns/horizontalpodautoscalers", made.clone())
            .await;
        let (code, answer) = rig.send("DELETE", path, body.clone()).await;
        if profile == Profile::Documented {
            assert_eq!(code, documented);
        } else {
            let text = format!("no kind \"DeleteOptions\" is registered for version \"{group}\"");
            assert_eq!((code, &answer["message"]), (500, &json!(text)));
        }
    }
}

#[tokio::test]
async fn lists_check_the_resource_version() {
    let rig = Rig::new().await;
    let (code, text) = list(&rig, "ns/configmaps", &versioned("x")).await;
    assert_eq!(
        (code, text.as_str()),
        (500, "strconv.ParseUint: parsing \"x\": invalid syntax")
    );
    assert_eq!(list(&rig, "ns/events", &versioned("x")).await.0, 200);
    assert_eq!(list(&rig, "ns/configmaps", &versioned("1")).await.0, 200);
    assert_eq!(list(&rig, "ns/configmaps", &versioned("99999999")).await.0, 410);
    let both = ListOptions {
        field_selector: "x=1".to_owned(),
        ..versioned("x")
    };
    assert_eq!(list(&rig, "ns/configmaps", &both).await.0, 400);
    rig.expect_ok("POST", "ns/configmaps", json!({"metadata": {"name": "a"}}))
        .await;
    let deleted = rig
        .0
        .delete_collection(&request_info("ns/configmaps"), &versioned("x"), None)
        .await;
    assert_eq!(deleted.unwrap_err().code, 500);
    rig.expect_ok("GET", "ns/configmaps/a", Value::Null).await;
}

#[tokio::test]
async fn a_cluster_scoped_object_requires_its_name() {
    let rig = Rig::new().await;
    let refused = rig
        .expect_error("PUT", "namespaces/ns", json!({"metadata": null}))
        .await;
    assert_eq!(refused, (400, "Name parameter required.".to_owned()));
}

#[tokio::test]
async fn a_service_account_keeps_the_names_of_its_secrets() {
    let rig = Rig::new().await;
    let account = json!({"metadata": {"name": "a"}, "secrets": [{"name": "s", "kind": "Secret", "uid": "u"}]});
    let made = rig.expect_ok("POST", "ns/serviceaccounts", account.clone()).await;
    assert_eq!(made["secrets"], json!([{"name": "s"}]));
    let made = rig.expect_ok("PUT", "ns/serviceaccounts/a", account).await;
    assert_eq!(made["secrets"], json!([{"name": "s"}]));
}

#[rstest]
#[case(Profile::Kubernetes12, json!(null))]
#[case(Profile::Documented, json!({"a": "b"}))]
#[tokio::test]
async fn charging_a_quota_loses_its_labels_as_recorded(#[case] profile: Profile, #[case] labels: Value) {
    let rig = Rig::of(profile).await;
    let mut quota = json!({"metadata": {"name": "q", "labels": {"a": "b"}}, "spec": {"hard": {"configmaps": "5"}}});
    rig.expect_ok("POST", "ns/resourcequotas", quota.clone()).await;
    quota["status"] = json!({"hard": {"configmaps": "5"}, "used": {"configmaps": "0"}});
    rig.expect_ok("PUT", "ns/resourcequotas/q/status", quota).await;
    rig.expect_ok("POST", "ns/configmaps", json!({"metadata": {"name": "a"}}))
        .await;
    let quota = rig.expect_ok("GET", "ns/resourcequotas/q", Value::Null).await;
    assert_eq!(
        (&quota["metadata"]["labels"], &quota["status"]["used"]["configmaps"]),
        (&labels, &json!("1"))
    );
}

#[tokio::test]
async fn a_claim_status_update_requires_access_modes() {
    let rig = Rig::new().await;
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    rig.expect_ok(
        "POST",
        "ns/persistentvolumeclaims",
        json!({"metadata": {"name": "c"}, "spec": spec}),
    )
    .await;
    let put = |body: Value| rig.send("PUT", "ns/persistentvolumeclaims/c/status", body);
    let (code, answer) = put(json!({"metadata": {"name": "c"}, "status": {}})).await;
    assert_eq!(
        (code, &answer["details"]["causes"][0]["field"]),
        (422, &json!("Spec.accessModes"))
    );
    let (code, answer) = put(json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteMany"]}})).await;
    assert_eq!((code, &answer["spec"]), (200, &spec));
}

#[rstest]
#[case("persistentvolumes", json!({"metadata": {"name": "a"},
    "spec": {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}, "accessModes": ["ReadWriteOnce"]}}), true)]
#[case("ns/persistentvolumeclaims", json!({"metadata": {"name": "a"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}), true)]
#[case("ns/events", json!({"metadata": {"name": "a"}, "involvedObject": {"namespace": "ns"}}), true)]
#[case("ns/configmaps", json!({"metadata": {"name": "a"}}), false)]
#[tokio::test]
async fn the_first_write_that_changes_nothing(#[case] path: &str, #[case] made: Value, #[case] is_a_change: bool) {
    let rig = Rig::new().await;
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    let created = version(&rig.expect_ok("POST", path, made).await);
    let one = format!("{path}/a");
    let first = version(&rig.expect_ok("PATCH", &one, json!({})).await);
    assert_eq!(first != created, is_a_change);
    assert_eq!(version(&rig.expect_ok("PATCH", &one, json!({})).await), first);
}

#[rstest]
#[case(json!({"status": {"targetSelector": "a b"}}), 400,
    "Scale in version \"v1beta1\" cannot be handled as a Scale: failed to parse target selector: ")]
#[case(json!({"metadata": {"resourceVersion": "http"}}), 409,
    "deployments/scale.extensions \"d\" cannot be updated: strconv.ParseUint: parsing \"http\": invalid syntax")]
#[tokio::test]
async fn every_field_of_a_scale_is_decoded(#[case] patch: Value, #[case] code: u16, #[case] text: &str) {
    let rig = Rig::new().await;
    let spec = json!({"template": {"metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}});
    rig.expect_ok(
        "POST",
        "/extensions/v1beta1/ns/deployments",
        json!({"metadata": {"name": "d"}, "spec": spec}),
    )
    .await;
    let scale = "/extensions/v1beta1/ns/deployments/d/scale";
    let mut body = rig.expect_ok("GET", scale, Value::Null).await;
    for (part, fields) in patch.as_object().unwrap() {
        for (field, value) in fields.as_object().unwrap() {
            body[part][field] = value.clone();
        }
    }
    let refused = rig.expect_error("PUT", scale, body).await;
    assert_eq!(refused.0, code);
    assert!(refused.1.starts_with(text), "{}", refused.1);
}

#[rstest]
#[case(Profile::Kubernetes12, 500)]
#[case(Profile::Documented, 422)]
#[tokio::test]
async fn a_generate_name_of_a_single_dash_is_rejected(#[case] profile: Profile, #[case] code: u16) {
    let rig = Rig::of(profile).await;
    let made = json!({"metadata": {"generateName": "-", "name": "a"}});
    assert_eq!(rig.expect_error("POST", "ns/configmaps", made).await.0, code);
}

#[tokio::test]
async fn a_selector_with_an_invalid_label_counts_as_empty() {
    let rig = Rig::new().await;
    let template =
        json!({"metadata": {"labels": {"a": "b", "t": "-a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let made = json!({"metadata": {"name": "r"}, "spec": {"selector": {"a": "b", "t": "-a"}, "template": template}});
    let (code, answer) = rig.send("POST", "ns/replicationcontrollers", made).await;
    let causes = answer["details"]["causes"].as_array().unwrap();
    assert_eq!(code, 422);
    assert!(
        causes
            .iter()
            .any(|c| c["field"] == "spec.selector" && c["message"] == "Required value")
    );
}

#[rstest]
#[case(Profile::Kubernetes12, "ns/configmaps", &["ns-more", "ns"])]
#[case(Profile::Documented, "ns/configmaps", &["ns"])]
#[case(Profile::Kubernetes12, "ns/events", &["ns"])]
#[tokio::test]
async fn a_watch_of_a_namespace_matches_a_prefix_as_recorded(
    #[case] profile: Profile,
    #[case] path: &str,
    #[case] expected: &[&str],
) {
    let rig = Rig::of(profile).await;
    rig.expect_ok("POST", "namespaces", json!({"metadata": {"name": "ns-more"}}))
        .await;
    let mut versions = Vec::new();
    for name in ["default", "ns-more", "ns"] {
        let mut request = request_info(path);
        request.namespace = Some(name.to_owned());
        let body = json!({"metadata": {"name": "a"}, "involvedObject": {"namespace": name}});
        let body = super::RequestBody {
            bytes: body.to_string().into(),
            syntax: super::Syntax::Json,
        };
        let made: Value = serde_json::from_slice(&rig.0.create(&request, &body).await.unwrap().body).unwrap();
        versions.push(made["metadata"]["resourceVersion"].as_str().unwrap().to_owned());
    }
    let from = versioned(&versions[0]);
    let mut stream = rig
        .0
        .watch(&request_info(path), &from, CancellationToken::new())
        .await
        .unwrap();
    for name in expected {
        let frame: Value = serde_json::from_slice(&stream.next().await.unwrap()).unwrap();
        assert_eq!(frame["object"]["metadata"]["namespace"], *name);
    }
}

#[rstest]
#[case(Profile::Kubernetes12, "MODIFIED")]
#[case(Profile::Documented, "ADDED")]
#[tokio::test]
async fn the_first_event_of_a_watch_of_existing_events(#[case] profile: Profile, #[case] kind: &str) {
    let rig = Rig::of(profile).await;
    let made = json!({"metadata": {"name": "a"}, "involvedObject": {"namespace": "ns"}});
    rig.expect_ok("POST", "ns/events", made).await;
    rig.expect_ok("PATCH", "ns/events/a", json!({"message": "again"})).await;
    let options = ListOptions::default();
    let mut stream = rig
        .0
        .watch(&request_info("ns/events"), &options, CancellationToken::new())
        .await
        .unwrap();
    let frame: Value = serde_json::from_slice(&stream.next().await.unwrap()).unwrap();
    assert_eq!(frame["type"], kind);
}

#[tokio::test]
async fn components_have_no_field_to_select_by() {
    for profile in Profile::ALL {
        let options = ListOptions {
            field_selector: "metadata.name=etcd-0".to_owned(),
            ..ListOptions::default()
        };
        let text = "No field label conversion function found for version v1 and kind ComponentStatus";
        let refused = list(&Rig::of(profile).await, "componentstatuses", &options).await;
        assert_eq!(refused, (400, text.to_owned()));
    }
}
