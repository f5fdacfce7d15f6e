//! Writes that change nothing.

use rstest::rstest;
use serde_json::{Value, json};

use super::Rig;

/// v1.2 stores new volumes, claims and events without a value that it shows. The first write adds it.
#[rstest]
#[case("persistentvolumes", true)]
#[case("ns/persistentvolumeclaims", true)]
#[case("ns/events", true)]
#[case("ns/configmaps", false)]
#[tokio::test]
async fn the_first_write_after_the_creation(
    #[case] path: &str,
    #[case] changes: bool,
    #[values("PATCH", "PUT")] method: &str,
) {
    let rig = Rig::new().await;
    let spec = json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/"},
        "resources": {"requests": {"storage": "1Gi"}}});
    let object = json!({"metadata": {"name": "a"}, "spec": spec, "involvedObject": {"namespace": "ns"}});
    let made = rig.expect_ok("POST", path, object.clone()).await;
    let body = if method == "PUT" { object } else { Value::Null };
    let one = format!("{path}/a");
    let versions = [
        rig.expect_ok(method, &one, if body.is_null() { json!({}) } else { body.clone() })
            .await,
        rig.expect_ok(method, &one, if body.is_null() { json!({}) } else { body })
            .await,
    ]
    .map(|written| written["metadata"]["resourceVersion"].clone());
    assert_eq!(versions[0] != made["metadata"]["resourceVersion"], changes);
    assert_eq!(versions[0], versions[1]);
}
