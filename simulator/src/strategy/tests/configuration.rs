//! Secrets, config maps, service accounts, events, limit ranges, quotas, namespaces, nodes.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use super::{changed, created, lines, metadata};

fn secret(kind: &str, data: Value) -> Vec<String> {
    created("Secret", &json!({"metadata": metadata(), "type": kind, "data": data}))
}

#[rstest]
#[case("Opaque", json!({}), &[])]
#[case("kubernetes.io/dockercfg", json!({}), &["data[.dockercfg]: Required value"])]
#[case("kubernetes.io/dockercfg", json!({".dockercfg": "e30="}), &[])]
#[case("kubernetes.io/dockercfg", json!({".dockercfg": "eA=="}), &[
    "data[.dockercfg]: Invalid value: \"\\u003csecret contents redacted\\u003e\": invalid character 'x' looking for \
        beginning of value",
])]
#[case("kubernetes.io/dockerconfigjson", json!({".dockerconfigjson": "W10="}), &[
    "data[.dockerconfigjson]: Invalid value: \"\\u003csecret contents redacted\\u003e\": json: cannot unmarshal \
        array into Go value of type map[string]interface {}",
])]
#[case("kubernetes.io/basic-auth", json!({}),
    &["data[%s][username]: Required value", "data[%s][password]: Required value"])]
#[case("kubernetes.io/basic-auth", json!({"password": ""}), &[])]
#[case("kubernetes.io/ssh-auth", json!({"ssh-privatekey": ""}), &["data[%s][ssh-privatekey]: Required value"])]
#[case("kubernetes.io/tls", json!({"tls.crt": ""}), &["data[tls.key]: Required value"])]
#[case("Opaque", json!({"a": "eHh4".repeat(1 << 19)}), &["data: Too long: must have at most 1048576 characters"])]
fn a_secret(#[case] kind: &str, #[case] data: Value, #[case] want: &[&str]) {
    assert_eq!(secret(kind, data), want);
}

#[test]
fn a_config_map_has_a_maximum_size() {
    let map = |size: usize| json!({"metadata": metadata(), "data": {"k": "v".repeat(size)}});
    assert!(created("ConfigMap", &map(1 << 20)).is_empty());
    assert_eq!(
        created("ConfigMap", &map((1 << 20) + 1)),
        ["data: Too long: must have at most 1048576 characters"]
    );
}

#[rstest]
#[case("Pod", "ns", &[])]
#[case("Pod", "", &["involvedObject.namespace: Invalid value: \"\": does not match involvedObject"])]
#[case("Node", "", &["involvedObject.namespace: Invalid value: \"\": not allowed for node"])]
fn an_event(#[case] kind: &str, #[case] namespace: &str, #[case] want: &[&str]) {
    assert_eq!(
        created(
            "Event",
            &json!({"metadata": metadata(), "involvedObject": {"kind": kind, "namespace": namespace}})
        ),
        want
    );
}

#[test]
fn node_events_are_in_the_default_namespace() {
    let event =
        json!({"metadata": changed(metadata(), json!({"namespace": "default"})), "involvedObject": {"kind": "Node"}});
    assert!(created("Event", &event).is_empty());
}

#[rstest]
#[case(json!({"type": "Pod", "max": {"cpu": "2"}, "min": {"cpu": "2"}}), &[])]
#[case(json!({"type": ""}), &["type: Invalid value: \"\": must be a qualified name (at most 63 characters, matching \
    regex ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]), with an optional DNS subdomain prefix (at most 253 characters, \
    matching regex [a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*) and slash (/): e.g. \"MyName\" \
    or \"example.com/MyName\""])]
#[case(json!({"type": "Claim", "max": {"storage": "1"}}),
    &["type: Invalid value: \"Claim\": must be a standard limit type or fully qualified"])]
#[case(json!({"type": "Container", "max": {"storage": "1"}}),
    &["max[storage]: Invalid value: \"storage\": must be a standard resource for containers"])]
#[case(json!({"type": "example.com/x", "max": {"storage": "1", "odd": "1"}}),
    &["max[odd]: Invalid value: \"odd\": must be a standard resource type or fully qualified"])]
#[case(json!({"type": "Pod", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}), &[
    "default: Forbidden: may not be specified when `type` is 'Pod'",
    "defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
])]
#[case(json!({"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}, "default": {"cpu": "1500m"},
    "defaultRequest": {"cpu": "1750m"}}), &[
    "min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1",
    "defaultRequest[cpu]: Invalid value: \"1750m\": min value 2 is greater than default request value 1750m",
    "defaultRequest[cpu]: Invalid value: \"1750m\": default request value 1750m is greater than max value 1",
    "defaultRequest[cpu]: Invalid value: \"1750m\": default request value 1750m is greater than default limit value \
        1500m",
    "default[cpu]: Invalid value: \"2\": min value 2 is greater than default value 1500m",
    "default[cpu]: Invalid value: \"1\": default value 1500m is greater than max value 1",
])]
#[case(json!({"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "2"},
    "maxLimitRequestRatio": {"cpu": "3", "memory": "500m"}}), &[
    "maxLimitRequestRatio[cpu]: Invalid value: \"3\": ratio 3 is greater than max/min = 2.000000",
    "maxLimitRequestRatio[memory]: Invalid value: \"500m\": ratio 500m is less than 1",
])]
fn a_limit(#[case] limit: Value, #[case] want: &[&str]) {
    let want: Vec<String> = want.iter().map(|line| format!("spec.limits[0].{line}")).collect();
    assert_eq!(
        created(
            "LimitRange",
            &json!({"metadata": metadata(), "spec": {"limits": [limit]}})
        ),
        want
    );
}

#[rstest]
#[case(json!({"hard": {"pods": "3", "limits.cpu": "1500m", "example.com/gold": "1"}, "scopes": ["Terminating"]}), &[])]
#[case(json!({"hard": {"pods": "-1", "storage": "1"}}), &[
    "spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0",
    "spec.hard[storage]: Invalid value: \"storage\": must be a standard resource for quota",
])]
#[case(json!({"hard": {"pods": "1", "cpu": "1"}, "scopes": ["BestEffort"]}),
    &["spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource"])]
#[case(json!({"hard": {"services": "1"}, "scopes": ["Some", "NotBestEffort", "BestEffort"]}), &[
    "spec.scopes: Invalid value: [\"Some\",\"NotBestEffort\",\"BestEffort\"]: unsupported scope",
    "spec.scopes: Invalid value: [\"Some\",\"NotBestEffort\",\"BestEffort\"]: unsupported scope applied to resource",
    "spec.scopes: Invalid value: [\"Some\",\"NotBestEffort\",\"BestEffort\"]: unsupported scope applied to resource",
    "spec.scopes: Invalid value: [\"Some\",\"NotBestEffort\",\"BestEffort\"]: conflicting scopes",
])]
fn a_quota(#[case] spec: Value, #[case] want: &[&str]) {
    assert_eq!(
        created("ResourceQuota", &json!({"metadata": metadata(), "spec": spec})),
        want
    );
}

#[test]
fn finalizer_errors_depend_on_the_subresource() {
    let namespace = |finalizers: Value| {
        json!({"metadata": changed(metadata(), json!({"namespace": null})),
        "spec": {"finalizers": finalizers}})
    };
    let want = "Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully qualified";
    let new = namespace(json!(["kubernetes", "mine", "example.com/mine"]));
    assert_eq!(created("Namespace", &new), [format!("spec.finalizers: {want}")]);
    let old = namespace(json!(["kubernetes"]));
    assert_eq!(
        lines(&validation::update_finalizers(
            strategy("Namespace"),
            new.as_object().unwrap(),
            old.as_object().unwrap()
        )),
        [format!("spec.finalizers[1]: {want}")]
    );
}

#[rstest]
#[case(None, "Active", None)]
#[case(
    None,
    "",
    Some("status.Phase: Invalid value: \"\": may only be 'Active' if `deletionTimestamp` is empty")
)]
#[case(Some("2026-01-01T00:00:00Z"), "Terminating", None)]
#[case(
    Some("2026-01-01T00:00:00Z"),
    "Active",
    Some("status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty")
)]
fn the_phase_of_a_namespace(#[case] deleted: Option<&str>, #[case] phase: &str, #[case] want: Option<&str>) {
    let old = json!({"metadata": changed(metadata(), json!({"namespace": null, "deletionTimestamp": deleted}))});
    let new = changed(old.clone(), json!({"status": {"phase": phase}}));
    assert_eq!(
        lines(&update_status(
            "Namespace",
            "",
            new.as_object().unwrap(),
            old.as_object().unwrap()
        )),
        Vec::from_iter(want)
    );
}

#[rstest]
#[case(json!({"spec": {"unschedulable": true}, "status": {"capacity": {"cpu": "1"}}}), &[])]
#[case(json!({"spec": {"podCIDR": "10.1.0.0/24"}}), &[
    "spec.podCIDR: Forbidden: node updates may not change podCIDR except from \"\" to valid",
    "[]: Forbidden: node updates may only change labels or capacity",
])]
#[case(json!({"spec": {"externalID": "y"}}), &["[]: Forbidden: node updates may only change labels or capacity"])]
#[case(json!({"status": {"addresses": [{"type": "InternalIP", "address": "x"}, {"type": "ExternalIP", "address": "x"},
    {"address": "x", "type": "InternalIP"}]}}), &[
    "status.addresses[2]: Duplicate value: {\"type\":\"InternalIP\",\"address\":\"x\"}",
])]
fn a_change_of_a_node(#[case] change: Value, #[case] want: &[&str]) {
    let old = json!({"metadata": changed(metadata(), json!({"namespace": null})),
        "spec": {"externalID": "x", "podCIDR": "10.0.0.0/24"}});
    let new = changed(old.clone(), change);
    assert_eq!(
        lines(&update("Node", "", new.as_object().unwrap(), old.as_object().unwrap())),
        want
    );
    assert_eq!(
        lines(&update_status(
            "Node",
            "",
            new.as_object().unwrap(),
            old.as_object().unwrap()
        )),
        want
    );
}
