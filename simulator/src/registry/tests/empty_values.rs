//! Empty lists and maps: v1.2 distinguishes them from absent ones until it stores an object.

use rstest::rstest;
use serde_json::{Value, json};

use super::Rig;
use crate::profile::Profile;

const CONTROLLERS: [&str; 4] = [
    "ns/replicationcontrollers",
    "/extensions/v1beta1/ns/replicasets",
    "/extensions/v1beta1/ns/deployments",
    "/extensions/v1beta1/ns/daemonsets",
];

fn controller() -> Value {
    let container = json!({"name": "c", "image": "x"});
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}});
    json!({"metadata": {"name": "a"}, "spec": {"template": template}})
}

fn generation_and_version(object: &Value) -> (i64, String) {
    let metadata = &object["metadata"];
    let version = metadata["resourceVersion"].as_str().unwrap();
    (metadata["generation"].as_i64().unwrap(), version.to_owned())
}

#[rstest]
#[case("/spec/template/spec", "volumes", json!([]))]
#[case("/spec/template/spec", "nodeSelector", json!({}))]
#[case("/spec/template/spec/containers/0", "ports", json!([]))]
#[case("/spec/template/spec/securityContext", "supplementalGroups", json!([]))]
#[case("/spec/template/metadata", "annotations", json!({}))]
#[case("/spec/template/metadata", "creationTimestamp", json!("0001-01-01T00:00:00Z"))]
#[tokio::test]
async fn an_empty_value_is_a_change_of_the_specification(
    #[case] place: &str,
    #[case] field: &str,
    #[case] empty: Value,
    #[values(Profile::Documented, Profile::Kubernetes12)] profile: Profile,
) {
    let rig = Rig::of(profile).await;
    for path in CONTROLLERS {
        let one = format!("{path}/a");
        let made = rig.expect_ok("POST", path, controller()).await;
        let stored = made.pointer(place).unwrap().get(field).cloned();
        let mut body = made.clone();
        body["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        body.pointer_mut(place).unwrap()[field] = empty.clone();
        for generation in [2, 3] {
            let changed = rig.expect_ok("PUT", &one, body.clone()).await;
            assert_eq!(changed["metadata"]["generation"], generation, "{path}");
            assert_eq!(changed.pointer(place).unwrap().get(field), stored.as_ref(), "{path}");
        }
        let shown = rig.expect_ok("GET", &one, Value::Null).await;
        assert_eq!(rig.expect_ok("PUT", &one, shown.clone()).await, shown, "{path}");
    }
}

#[tokio::test]
async fn empty_annotations_are_a_change_of_a_deployment() {
    let rig = Rig::new().await;
    let (path, one) = (
        "/extensions/v1beta1/ns/deployments",
        "/extensions/v1beta1/ns/deployments/a",
    );
    let mut last = generation_and_version(&rig.expect_ok("POST", path, controller()).await);
    for generation in [2, 3] {
        let patched = rig
            .expect_ok("PATCH", one, json!({"metadata": {"annotations": {}}}))
            .await;
        assert_eq!(patched["metadata"].get("annotations"), None);
        let now = generation_and_version(&patched);
        assert_eq!(now.0, generation);
        assert_ne!(now.1, last.1);
        last = now;
    }
    let unchanged = rig.expect_ok("PATCH", one, json!({})).await;
    assert_eq!(generation_and_version(&unchanged), last);
}

#[rstest]
#[case(
    "/extensions/v1beta1/ns/deployments",
    json!({"template": {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}),
    "Deployment.extensions \"a\" is invalid: spec.selector: Invalid value: {}: empty selector is not valid for \
        deployment."
)]
#[case(
    "/extensions/v1beta1/ns/replicasets",
    json!({"template": {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}),
    "ReplicaSet.extensions \"a\" is invalid: spec.selector: Invalid value: {}: empty selector is not valid for \
        deployment."
)]
#[case(
    "ns/replicationcontrollers",
    json!({"selector": {"a": "b"},
        "template": {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}),
    "ReplicationController \"a\" is invalid: spec.template.metadata.labels: Invalid value: {}: `selector` does not \
        match template `labels`"
)]
#[case(
    "persistentvolumes",
    json!({"capacity": {}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/"}}),
    "PersistentVolume \"a\" is invalid: [spec.capacity: Required value, spec.capacity: Unsupported value: {}: \
        supported values: storage]"
)]
#[case(
    "/extensions/v1beta1/ns/ingresses",
    json!({"rules": []}),
    "Ingress.extensions \"a\" is invalid: spec: Invalid value: []: either `backend` or `rules` must be specified"
)]
#[tokio::test]
async fn an_error_shows_an_empty_value_as_it_was_sent(#[case] path: &str, #[case] spec: Value, #[case] why: &str) {
    let rig = Rig::new().await;
    let object = json!({"metadata": {"name": "a"}, "spec": spec});
    assert_eq!(rig.expect_error("POST", path, object).await, (422, why.to_owned()));
}

#[tokio::test]
async fn a_daemon_set_may_select_everything() {
    let rig = Rig::new().await;
    let path = "/extensions/v1beta1/ns/daemonsets";
    let mut set = controller();
    set["spec"]["selector"] = json!({});
    let made = rig.expect_ok("POST", path, set.clone()).await;
    assert_eq!(made["spec"]["selector"], json!({}));
    rig.expect_ok("PUT", &format!("{path}/a"), set).await;
}

#[rstest]
#[case("ns/serviceaccounts", json!({"imagePullSecrets": [{"name": "s"}]}), "/imagePullSecrets", json!([{}]))]
#[case(
    "ns/podtemplates",
    json!({"template": {"spec": {"imagePullSecrets": [{"name": "s"}], "containers": [{"name": "c", "image": "x"}]}}}),
    "/template/spec/imagePullSecrets",
    json!([{}])
)]
#[case(
    "ns/endpoints",
    json!({"subsets": [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80, "protocol": "TCP"}]}]}),
    "/subsets",
    json!([])
)]
#[tokio::test]
async fn a_patch_that_removes_the_api_version_decodes_as_the_internal_version(
    #[case] path: &str,
    #[case] object: Value,
    #[case] place: &str,
    #[case] left: Value,
) {
    for (profile, is_kept) in [(Profile::Documented, true), (Profile::Kubernetes12, false)] {
        let rig = Rig::of(profile).await;
        let mut object = object.clone();
        object["metadata"] = json!({"name": "a"});
        let made = rig.expect_ok("POST", path, object).await;
        let patched = rig
            .expect_ok("PATCH", &format!("{path}/a"), json!({"apiVersion": null}))
            .await;
        assert_eq!(patched["apiVersion"], "v1");
        let wanted = if is_kept { made.pointer(place) } else { Some(&left) };
        assert_eq!(patched.pointer(place), wanted);
    }
}

#[tokio::test]
async fn a_patch_that_removes_the_api_version_is_not_defaulted() {
    let service = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}});
    let patch = json!({"apiVersion": null, "spec": {"ports": [{"port": 81, "targetPort": 81}]}});
    let rig = Rig::new().await;
    rig.expect_ok("POST", "ns/services", service.clone()).await;
    let why = "Service \"a\" is invalid: spec.ports[0].protocol: Required value";
    assert_eq!(
        rig.expect_error("PATCH", "ns/services/a", patch.clone()).await,
        (422, why.to_owned())
    );
    let rig = Rig::of(Profile::Documented).await;
    rig.expect_ok("POST", "ns/services", service).await;
    let patched = rig.expect_ok("PATCH", "ns/services/a", patch).await;
    assert_eq!(patched["spec"]["ports"][0]["protocol"], "TCP");
}

#[rstest]
#[case(
    "/extensions/v1beta1/ns/ingresses",
    json!({"rules": [[null]]}),
    "Ingress.extensions \"a\" is invalid: spec.rules[0].http.paths: Required value"
)]
#[case(
    "ns/pods",
    json!({"containers": [{"name": "c", "image": "x"}], "volumes": [["x"]]}),
    "Pod \"a\" is invalid: spec.volumes[0].hostPath.path: Required value"
)]
#[tokio::test]
async fn a_short_list_in_place_of_an_object_creates_the_embedded_member(
    #[case] path: &str,
    #[case] spec: Value,
    #[case] why: &str,
) {
    let rig = Rig::new().await;
    let object = json!({"metadata": {"name": "a"}, "spec": spec});
    assert_eq!(rig.expect_error("POST", path, object).await, (422, why.to_owned()));
}
