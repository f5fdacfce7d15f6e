//! Expected resource versions, and the order of errors if a request has several.

use rstest::rstest;
use serde_json::{Value, json};

use super::Rig;

const INVALID_VERSION: &str = "strconv.ParseUint: parsing \"x\": invalid syntax";
const CONFLICT: &str =
    "cannot be updated: the object has been modified; please apply your changes to the latest version and try again";

fn map(version: &str) -> Value {
    json!({"metadata": {"name": "a", "resourceVersion": version}})
}

#[rstest]
#[case("x", Some((500, INVALID_VERSION.to_owned())))]
#[case("1", Some((409, format!("configmaps \"a\" {CONFLICT}"))))]
#[case("0", None)]
#[case("", None)]
#[tokio::test]
async fn a_put_expects_its_resource_version(#[case] version: &str, #[case] refusal: Option<(u16, String)>) {
    let rig = Rig::new().await;
    rig.expect_ok("POST", "ns/configmaps", map("")).await;
    match refusal {
        Some(refusal) => assert_eq!(rig.expect_error("PUT", "ns/configmaps/a", map(version)).await, refusal),
        None => drop(rig.expect_ok("PUT", "ns/configmaps/a", map(version)).await),
    }
}

#[tokio::test]
async fn an_invalid_version_is_reported_before_a_missing_object() {
    let rig = Rig::new().await;
    assert_eq!(
        rig.expect_error("PUT", "ns/configmaps/a", map("x")).await,
        (500, INVALID_VERSION.to_owned())
    );
    let service = json!({"metadata": {"name": "a", "resourceVersion": "x"}, "spec": {"ports": [{"port": 80}]}});
    assert_eq!(
        rig.expect_error("PUT", "ns/services/a", service).await,
        (404, "services \"a\" not found".to_owned())
    );
}

#[rstest]
#[case("7", Some("resourceVersion may not be set on objects to be created"))]
#[case("x", None)]
#[case("0", None)]
#[tokio::test]
async fn a_posted_object_must_not_have_a_version(#[case] version: &str, #[case] refusal: Option<&str>) {
    let rig = Rig::new().await;
    match refusal {
        Some(why) => assert_eq!(
            rig.expect_error("POST", "ns/configmaps", map(version)).await,
            (500, why.to_owned())
        ),
        None => assert_ne!(
            rig.expect_ok("POST", "ns/configmaps", map(version)).await["metadata"]["resourceVersion"],
            version
        ),
    }
}

#[tokio::test]
async fn a_put_that_creates_may_have_a_version() {
    let rig = Rig::new().await;
    assert_eq!(rig.send("PUT", "ns/endpoints/a", map("7")).await.0, 201);
}

#[tokio::test]
async fn a_service_is_validated_before_its_version_is_compared() {
    let rig = Rig::new().await;
    let service = |version: &str, port: u16| {
        json!({"metadata": {"name": "a", "resourceVersion": version},
        "spec": {"clusterIP": "10.0.0.9", "ports": [{"port": port}]}})
    };
    rig.expect_ok("POST", "ns/services", service("", 80)).await;
    assert_eq!(rig.send("PUT", "ns/services/a", service("1", 0)).await.0, 422);
    assert_eq!(
        rig.expect_error("PUT", "ns/services/a", service("1", 81)).await,
        (409, format!("services \"a\" {CONFLICT}"))
    );
    rig.expect_ok("PUT", "ns/services/a", service("0", 81)).await;
    let why =
        "Service \"a\" is invalid: metadata.resourceVersion: Invalid value: \"\": must be specified for an update";
    assert_eq!(
        rig.expect_error("PUT", "ns/services/a", service("", 81)).await,
        (422, why.to_owned())
    );
}

#[tokio::test]
async fn a_scale_is_validated_before_its_object_is_looked_up() {
    let rig = Rig::new().await;
    let scale = |replicas: i32, namespace: &str| {
        let metadata = json!({"name": "a", "namespace": namespace});
        json!({"metadata": metadata, "spec": {"replicas": replicas}})
    };
    let path = "ns/replicationcontrollers/a/scale";
    assert_eq!(rig.send("PUT", path, scale(-1, "ns")).await.0, 422);
    assert_eq!(rig.send("PUT", path, scale(1, "ns")).await.0, 404);
    let why = "the namespace of the object (other) does not match the namespace on the request (ns)";
    assert_eq!(
        rig.expect_error("PUT", path, scale(1, "other")).await,
        (400, why.to_owned())
    );
}

#[tokio::test]
async fn a_replication_controller_has_a_scale_in_both_groups() {
    let rig = Rig::new().await;
    let template = json!({"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    rig.expect_ok(
        "POST",
        "ns/replicationcontrollers",
        json!({"metadata": {"name": "a"}, "spec": {"replicas": 2, "template": template}}),
    )
    .await;
    let path = "/extensions/v1beta1/ns/replicationcontrollers/a/scale";
    let shown = rig.expect_ok("GET", path, Value::Null).await;
    assert_eq!(
        shown["metadata"]["selfLink"],
        "/apis/extensions/v1beta1/namespaces/ns/replicationcontrollers/a/scale"
    );
    assert_eq!(
        shown["status"],
        json!({"replicas": 0, "selector": {"app": "w"}, "targetSelector": "app=w"})
    );
    rig.expect_ok("PATCH", path, json!({"spec": {"replicas": 4}})).await;
    assert_eq!(
        rig.expect_ok("GET", "ns/replicationcontrollers/a", Value::Null).await["spec"]["replicas"],
        4
    );
    assert_eq!(
        rig.expect_error("PUT", path, shown).await,
        (409, format!("replicationcontrollers \"a\" {CONFLICT}"))
    );
}

#[tokio::test]
async fn a_binding_error_lists_every_problem() {
    let rig = Rig::new().await;
    let why = "[target.kind: Unsupported value: \"Pod\": supported values: Node, <empty>, target.name: Required value]";
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Pod"}});
    assert_eq!(
        rig.expect_error("POST", "ns/bindings", binding).await,
        (500, why.to_owned())
    );
}
