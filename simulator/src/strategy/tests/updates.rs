//! Updates: immutable fields, and the number of times that v1.2 reports the same error.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use super::{changed, container, lines, metadata, pod_spec, template};

fn pod(change: Value) -> Value {
    json!({"metadata": metadata(), "spec": changed(pod_spec(), change)})
}

const POD: &str = "spec: Forbidden: pod updates may not change fields other than `containers[*].image` or \
    `spec.activeDeadlineSeconds`";

#[rstest]
#[case(json!({}), json!({}), &[])]
#[case(json!({}), json!({"containers": [changed(container(), json!({"image": "other"}))]}), &[])]
#[case(json!({}), json!({"containers": [changed(container(), json!({"image": ""}))]}),
    &["spec.containers[0].image: Required value", "spec.containers[0].image: Required value"])]
#[case(json!({}), json!({"nodeSelector": {}, "volumes": []}), &[])]
#[case(json!({}), json!({"terminationGracePeriodSeconds": 5}), &[POD])]
#[case(json!({}), json!({"hostPID": true}), &[POD])]
#[case(json!({"serviceAccount": "x"}), json!({"serviceAccountName": "x"}), &[])]
#[case(json!({}), json!({"activeDeadlineSeconds": 5}), &[])]
#[case(json!({"activeDeadlineSeconds": 5}), json!({"activeDeadlineSeconds": 4, "nodeName": "n"}), &[POD])]
#[case(json!({"activeDeadlineSeconds": 5}), json!({"activeDeadlineSeconds": 6, "nodeName": "n"}),
    &["spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"])]
#[case(json!({"activeDeadlineSeconds": 5}), json!({}),
    &["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"])]
#[case(json!({}), json!({"activeDeadlineSeconds": -1}), &[
    "spec.activeDeadlineSeconds: Invalid value: -1: must be greater than 0",
    "spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
])]
fn a_pod(#[case] old: Value, #[case] new: Value, #[case] want: &[&str]) {
    let (old, new) = (pod(old), pod(new));
    assert_eq!(
        lines(&update("Pod", "", new.as_object().unwrap(), old.as_object().unwrap())),
        want
    );
}

#[test]
fn a_status_update_does_not_change_the_node() {
    let (old, new) = (pod(json!({})), pod(json!({"nodeName": "n"})));
    assert_eq!(
        lines(&update_status(
            "Pod",
            "",
            new.as_object().unwrap(),
            old.as_object().unwrap()
        )),
        ["status.nodeName: Forbidden: may not be changed directly"]
    );
}

/// Number of times that an invalid label is reported: once per check of the metadata.
#[rstest]
#[case("Pod", json!({"spec": pod_spec()}), 3)]
#[case("PodTemplate", json!({"template": template()}), 1)]
#[case("ReplicationController", json!({"spec": {"selector": {"app": "a"}, "template": template()}}), 3)]
#[case("ReplicaSet", json!({"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template()}}), 3)]
#[case("Deployment", json!({"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template()}}), 2)]
#[case("DaemonSet", json!({"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template()}}), 3)]
#[case("Job", json!({"spec": {"manualSelector": true, "selector": {"matchLabels": {"app": "a"}},
    "template": changed(template(), json!({"spec": {"restartPolicy": "Never"}}))}}), 2)]
#[case("HorizontalPodAutoscaler", json!({"spec": {"scaleTargetRef": {"kind": "K", "name": "n"}, "maxReplicas": 1}}), 2)]
#[case("Ingress", json!({"spec": {"backend": {"serviceName": "s", "servicePort": 1}}}), 3)]
#[case("Service", json!({"spec": {"type": "ClusterIP", "sessionAffinity": "None", "clusterIP": "None"}}), 2)]
#[case("Endpoints", json!({}), 3)]
#[case("Event", json!({"involvedObject": {"namespace": "ns"}}), 1)]
#[case("LimitRange", json!({}), 2)]
#[case("ResourceQuota", json!({}), 3)]
#[case("Namespace", json!({"metadata": {"namespace": null}}), 3)]
#[case("Node", json!({"metadata": {"namespace": null}, "spec": {"externalID": "x"}}), 3)]
#[case("PersistentVolume", json!({"metadata": {"namespace": null},
    "spec": {"capacity": {"storage": "1"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/"}}}), 3)]
#[case("PersistentVolumeClaim",
    json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}), 4)]
#[case("Secret", json!({}), 3)]
#[case("ConfigMap", json!({}), 3)]
#[case("ServiceAccount", json!({}), 3)]
fn metadata_are_validated_as_often_as_in_v1_2(#[case] kind: &str, #[case] rest: Value, #[case] times: usize) {
    let old = changed(json!({"metadata": metadata()}), rest);
    assert!(update(kind, "batch", old.as_object().unwrap(), old.as_object().unwrap()).is_empty());
    let new = changed(old.clone(), json!({"metadata": {"labels": {"a": "b c"}}}));
    let errors = update(kind, "batch", new.as_object().unwrap(), old.as_object().unwrap());
    assert_eq!(errors.len(), times, "{errors:?}");
    assert!(errors.iter().all(|e| e.field.to_string() == "metadata.labels"));
}

#[test]
fn the_type_of_a_secret_is_immutable_and_optional() {
    let secret = |kind: &str| json!({"metadata": metadata(), "type": kind});
    let old = secret("Opaque");
    let judge = |new: Value| {
        lines(&update(
            "Secret",
            "",
            new.as_object().unwrap(),
            old.as_object().unwrap(),
        ))
    };
    assert!(judge(secret("")).is_empty());
    assert_eq!(judge(secret("x")), ["type: Invalid value: \"x\": field is immutable"]);
}

#[test]
fn the_scopes_of_a_quota_are_immutable() {
    let quota = |scopes: Value| json!({"metadata": metadata(), "spec": {"scopes": scopes}});
    let old = quota(json!(["Terminating", "NotBestEffort"]));
    let judge = |new: Value| {
        lines(&update(
            "ResourceQuota",
            "",
            new.as_object().unwrap(),
            old.as_object().unwrap(),
        ))
    };
    assert!(judge(quota(json!(["NotBestEffort", "Terminating"]))).is_empty());
    assert_eq!(
        judge(quota(json!(["Terminating"]))),
        ["spec.scopes: Invalid value: [\"Terminating\"]: field is immutable"]
    );
}

#[test]
fn an_assigned_cluster_ip_is_immutable() {
    let service = |address: &str| {
        json!({"metadata": metadata(), "spec": {"type": "ClusterIP",
        "sessionAffinity": "None", "clusterIP": address, "ports": [{"port": 1, "targetPort": 1, "protocol": "TCP"}]}})
    };
    let judge = |new: &str, old: &str| {
        lines(&update(
            "Service",
            "",
            service(new).as_object().unwrap(),
            service(old).as_object().unwrap(),
        ))
    };
    assert_eq!(
        judge("10.0.0.2", "10.0.0.1"),
        ["spec.clusterIP: Invalid value: \"10.0.0.2\": field is immutable"]
    );
    assert!(judge("10.0.0.2", "None").is_empty() && judge("10.0.0.2", "").is_empty());
}
