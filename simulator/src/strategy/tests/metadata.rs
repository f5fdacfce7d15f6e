//! Metadata of every kind.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use super::{changed, created, lines, metadata};

const SUBDOMAIN: &str = "must be a DNS subdomain (at most 253 characters, matching regex \
    [a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*): e.g. \"example.com\"";
const LABEL: &str =
    "must be a DNS label (at most 63 characters, matching regex [a-z0-9]([-a-z0-9]*[a-z0-9])?): e.g. \"my-name\"";

#[rstest]
#[case(json!({}), vec![])]
#[case(json!({"name": ""}), vec!["metadata.name: Required value: name or generateName is required".into()])]
#[case(json!({"generateName": "x-"}), vec![])]
#[case(json!({"generateName": "Xy-"}), vec![format!("metadata.generateName: Invalid value: \"Xy-\": {SUBDOMAIN}")])]
#[case(json!({"name": "a/b"}), vec![format!("metadata.name: Invalid value: \"a/b\": {SUBDOMAIN}")])]
#[case(json!({"namespace": null}), vec!["metadata.namespace: Required value".into()])]
#[case(json!({"namespace": "A.b"}), vec![format!("metadata.namespace: Invalid value: \"A.b\": {LABEL}")])]
#[case(json!({"generation": -1}),
    vec!["metadata.generation: Invalid value: -1: must be greater than or equal to 0".into()])]
#[case(json!({"annotations": {"Example.COM/Key": "anything at all"}}), vec![])]
#[case(json!({"annotations": {"k": "v".repeat(1 << 18)}}),
    vec!["metadata.annotations: Too long: must have at most 262144 characters".into()])]
fn an_object_in_a_namespace(#[case] change: Value, #[case] want: Vec<String>) {
    let object = json!({"metadata": changed(metadata(), change), "data": {}});
    assert_eq!(created("ConfigMap", &object), want);
}

#[test]
fn a_cluster_scoped_object_has_no_namespace() {
    let object = json!({"metadata": metadata(), "spec": {"externalID": "x"}});
    assert_eq!(
        created("Node", &object),
        ["metadata.namespace: Forbidden: not allowed on this type"]
    );
}

#[rstest]
#[case("..", "name may not be \\\"..\\\"")]
#[case("a/b", "name may not contain \\\"/\\\"")]
#[case("50%", "name may not contain \\\"%\\\"")]
fn an_event_name_is_a_path_segment(#[case] name: &str, #[case] want: &str) {
    let object = json!({"metadata": changed(metadata(), json!({"name": name})),
        "involvedObject": {"kind": "Pod", "namespace": "ns"}});
    let want = want.replace("\\\"", "\"");
    assert_eq!(
        created("Event", &object),
        [format!("metadata.name: Invalid value: \"{name}\": {want}")]
    );
}

#[rstest]
#[case(json!({"uid": "other"}), &["metadata.uid: Invalid value: \"other\": field is immutable"])]
#[case(json!({"uid": null, "creationTimestamp": "2000-01-01T00:00:00Z"}), &[])]
#[case(json!({"name": "b"}), &["metadata.name: Invalid value: \"b\": field is immutable"])]
#[case(json!({"namespace": "other"}), &["metadata.namespace: Invalid value: \"other\": field is immutable"])]
#[case(json!({"resourceVersion": null}),
    &["metadata.resourceVersion: Invalid value: \"\": must be specified for an update"])]
#[case(json!({"deletionGracePeriodSeconds": 5}),
    &["metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable; may only be changed via deletion"])]
#[case(json!({"deletionGracePeriodSeconds": null}), &[])]
fn immutable_metadata(#[case] change: Value, #[case] want: &[&str]) {
    let old = json!({"metadata": changed(metadata(), json!({"deletionGracePeriodSeconds": 30}))});
    let new = json!({"metadata": changed(old["metadata"].clone(), change)});
    // For the status of a kind without rules of its own, only the common rules apply.
    assert_eq!(
        lines(&update_status(
            "Unknown",
            "",
            new.as_object().unwrap(),
            old.as_object().unwrap()
        )),
        want
    );
}

#[test]
fn the_number_of_errors_is_bounded() {
    let labels: serde_json::Map<String, Value> = (0..50_000).map(|n| (format!("!{n}"), Value::from("!"))).collect();
    let object = json!({"metadata": changed(metadata(), json!({"labels": labels}))});
    assert_eq!(created("ConfigMap", &object).len(), 10_000);
}
