//! Lists and the list cache.

use serde_json::{Value, json};

use super::Rig;

#[tokio::test]
async fn a_list_has_the_current_revision_and_objects() {
    let rig = Rig::new().await;
    let map = |name: &str| json!({"metadata": {"name": name}});
    let pods = rig.expect_ok("GET", "ns/pods", Value::Null).await;
    let made = rig.expect_ok("POST", "ns/configmaps", map("a")).await;
    let later = rig.expect_ok("GET", "ns/pods", Value::Null).await;
    assert_ne!(
        pods["metadata"]["resourceVersion"],
        later["metadata"]["resourceVersion"]
    );
    assert_eq!(
        later["metadata"]["resourceVersion"],
        made["metadata"]["resourceVersion"]
    );
    assert_eq!((&pods["items"], &later["items"]), (&json!([]), &json!([])));
    for names in [&["a"][..], &["a", "b"]] {
        let list = rig.expect_ok("GET", "ns/configmaps", Value::Null).await;
        let found: Vec<_> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| &i["metadata"]["name"])
            .collect();
        assert_eq!(found, names);
        if names.len() == 1 {
            rig.expect_ok("POST", "ns/configmaps", map("b")).await;
        }
    }
}

#[tokio::test]
async fn each_version_of_a_kind_has_a_list_of_its_own() {
    let rig = Rig::new().await;
    for path in ["/batch/v1/ns/jobs", "/extensions/v1beta1/ns/jobs", "/batch/v1/ns/jobs"] {
        let list = rig.expect_ok("GET", path, Value::Null).await;
        let version = path.rsplitn(3, '/').last().unwrap().trim_start_matches('/');
        assert_eq!(list["apiVersion"], version);
    }
}
