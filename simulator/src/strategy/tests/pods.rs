//! Pods, and their specification except volumes.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use super::{changed, container, created, lines, metadata, pod_spec};

/// Errors of a pod whose specification is valid except for `change`.
fn with_spec(change: Value) -> Vec<String> {
    created(
        "Pod",
        &json!({"metadata": metadata(), "spec": changed(pod_spec(), change)}),
    )
}

/// Errors of a pod whose container is valid except for `change`.
fn with_container(change: Value) -> Vec<String> {
    with_spec(json!({"containers": [changed(container(), change)]}))
}

#[rstest]
#[case(json!({}), &[])]
#[case(json!({"restartPolicy": "Sometimes"}),
    &["spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: Always, OnFailure, Never"])]
#[case(json!({"restartPolicy": null, "dnsPolicy": null}),
    &["spec.restartPolicy: Required value", "spec.dnsPolicy: Required value"])]
#[case(json!({"nodeSelector": {"ok": "-"}}), &["spec.nodeSelector: Invalid value: \"-\": must have at most 63 \
    characters, matching regex (([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?: e.g. \"MyValue\" or \"\""])]
#[case(json!({"activeDeadlineSeconds": -5}),
    &["spec.activeDeadlineSeconds: Invalid value: -5: must be greater than 0"])]
#[case(json!({"securityContext": {"runAsUser": -1, "fsGroup": 2147483648u64, "supplementalGroups": [0, -2]}}), &[
    "spec.securityContext.fsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
    "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    "spec.securityContext.supplementalGroups[1]: Invalid value: -2: must be between 0 and 2147483647, inclusive",
])]
#[case(json!({"hostNetwork": true, "containers": [changed(container(),
    json!({"ports": [{"containerPort": 80, "hostPort": 81, "protocol": "TCP"}]}))]}), &[
    "spec.containers[0].ports[0].containerPort: Invalid value: 80: must match `hostPort` when `hostNetwork` is true",
])]
fn a_specification(#[case] change: Value, #[case] want: &[&str]) {
    assert_eq!(with_spec(change), want);
}

#[rstest]
#[case("serviceAccountName", "serviceAccountName")]
#[case("serviceAccount", "serviceAccountName")]
#[case("nodeName", "nodeName")]
fn references_by_name_are_subdomains(#[case] field: &str, #[case] reported: &str) {
    let errors = with_spec(json!({field: "A_b"}));
    assert!(
        errors.len() == 1
            && errors[0].starts_with(&format!(
                "spec.{reported}: Invalid value: \"A_b\": must be a DNS subdomain"
            )),
        "{errors:?}"
    );
}

#[rstest]
#[case(json!({"name": null, "image": null, "imagePullPolicy": null}), &[
    "spec.containers[0].name: Required value",
    "spec.containers[0].image: Required value",
    "spec.containers[0].imagePullPolicy: Required value",
])]
#[case(json!({"ports": [{"containerPort": 70000, "hostPort": -1, "protocol": "TCP"},
    {"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 1, "protocol": "UDP"}]}), &[
    "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    "spec.containers[0].ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive",
    "spec.containers[0].ports[1].protocol: Required value",
    "spec.containers[0].ports[2].name: Duplicate value: \"a\"",
])]
#[case(json!({"ports": [{"containerPort": 1, "hostPort": 9, "protocol": "TCP"}, {"containerPort": 2, "hostPort": 9,
    "protocol": "UDP"}, {"containerPort": 3, "hostPort": 9, "protocol": "TCP"}]}), &[
    "spec.containers[0].ports[2].hostPort: Duplicate value: \"9/TCP\"",
])]
#[case(json!({"volumeMounts": [{"mountPath": "/a:b"}, {"name": "v"}, {"name": "v", "mountPath": "/a:b"}]}), &[
    "spec.containers[0].volumeMounts[0].name: Required value",
    "spec.containers[0].volumeMounts[0].mountPath: Invalid value: \"/a:b\": must not contain ':'",
    "spec.containers[0].volumeMounts[1].name: Not found: \"v\"",
    "spec.containers[0].volumeMounts[1].mountPath: Required value",
    "spec.containers[0].volumeMounts[2].name: Not found: \"v\"",
    "spec.containers[0].volumeMounts[2].mountPath: Invalid value: \"/a:b\": must not contain ':'",
])]
#[case(json!({"securityContext": {"privileged": true, "runAsUser": -1}}), &[
    "spec.containers[0].securityContext.privileged: Forbidden: disallowed by policy",
    "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be greater than or equal to 0",
])]
fn a_container(#[case] change: Value, #[case] want: &[&str]) {
    assert_eq!(with_container(change), want);
}

#[rstest]
#[case(json!([{"name": "A", "value": "x"}, {"name": ""}, {"name": "a-b"}]), &[
    "env[1].name: Required value",
    "env[2].name: Invalid value: \"a-b\": must be a C identifier (matching regex [A-Za-z_][A-Za-z0-9_]*): e.g. \
        \"my_name\" or \"MyName\"",
])]
#[case(json!([{"name": "A", "valueFrom": {}}]),
    &["env[0].valueFrom: Invalid value: \"\": may not have more than one field specified at a time"])]
#[case(json!([{"name": "A", "value": "x",
    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}]), &[
    "env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
])]
#[case(json!([{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}}]), &[
    "env[0].valueFrom.fieldRef.fieldPath: Unsupported value: \"metadata.labels\": supported values: metadata.name, \
        metadata.namespace, status.podIP",
])]
#[case(json!([{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.host"}}}]), &[
    "env[0].valueFrom.fieldRef.fieldPath: Unsupported value: \"spec.nodeName\": supported values: metadata.name, \
        metadata.namespace, status.podIP",
])]
#[case(json!([{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "nope"}}}]), &[
    "env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"nope\": error converting fieldPath: field label not \
        supported: nope",
])]
#[case(json!([{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v9", "fieldPath": "nope"}}}]), &[
    "env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"nope\": error converting fieldPath: No field label \
        conversion function found for version: v9",
])]
#[case(json!([{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1"}}}]),
    &["env[0].valueFrom.fieldRef.fieldPath: Required value"])]
#[case(json!([{"name": "A", "valueFrom": {"configMapKeyRef": {}, "secretKeyRef": {"name": "s", "key": "K"}}}]), &[
    "env[0].valueFrom.configMapKeyRef.name: Required value",
    "env[0].valueFrom.configMapKeyRef.key: Required value",
    "env[0].valueFrom.secretKeyRef.key: Invalid value: \"K\": must have at most 253 characters and match regex \
        \\.?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "env[0].valueFrom: Invalid value: \"\": may not have more than one field specified at a time",
])]
fn an_environment(#[case] env: Value, #[case] want: &[&str]) {
    let want: Vec<String> = want.iter().map(|line| format!("spec.containers[0].{line}")).collect();
    assert_eq!(with_container(json!({"env": env})), want);
}

#[rstest]
#[case(json!({"exec": {}, "successThreshold": 1}), &["exec.command: Required value"])]
#[case(json!({"exec": {"command": ["x"]}, "httpGet": {}, "tcpSocket": {"port": 0}, "successThreshold": 1}), &[
    "httpGet: Forbidden: may not specify more than 1 handler type",
    "tcpSocket: Forbidden: may not specify more than 1 handler type",
])]
#[case(json!({"httpGet": {"port": 0, "scheme": "FTP", "httpHeaders": [{"name": "X-Ok"}, {"name": "no good"}]},
    "successThreshold": 1}), &[
    "httpGet.path: Required value",
    "httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
    "httpGet.scheme: Invalid value: \"FTP\": must be one of [HTTP HTTPS]",
    "httpGet.httpHeaders: Invalid value: \"no good\": name must match [-A-Za-z0-9]+",
])]
#[case(json!({"tcpSocket": {"port": 1}, "initialDelaySeconds": -1, "timeoutSeconds": -2, "periodSeconds": -3,
    "successThreshold": 2, "failureThreshold": -4}), &[
    "initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0",
    "timeoutSeconds: Invalid value: -2: must be greater than or equal to 0",
    "periodSeconds: Invalid value: -3: must be greater than or equal to 0",
    "failureThreshold: Invalid value: -4: must be greater than or equal to 0",
    "successThreshold: Invalid value: 2: must be 1",
])]
fn a_liveness_probe(#[case] probe: Value, #[case] want: &[&str]) {
    let want: Vec<String> = want
        .iter()
        .map(|line| format!("spec.containers[0].livenessProbe.{line}"))
        .collect();
    assert_eq!(with_container(json!({"livenessProbe": probe})), want);
}

#[test]
fn a_readiness_probe_may_require_several_successes_and_hooks_have_one_handler() {
    assert!(
        with_container(json!({"readinessProbe": {"tcpSocket": {"port": "http"}, "successThreshold": 3}})).is_empty()
    );
    let hooks = json!({"lifecycle": {"postStart": {}, "preStop": {"exec": {"command": ["x"]}}}});
    assert_eq!(
        with_container(hooks),
        ["spec.containers[0].lifecycle.postStart: Required value: must specify a handler type"]
    );
}

#[rstest]
#[case(json!({"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "0.5", "memory": "1024Mi"}}), &[])]
#[case(json!({"limits": {"cpu": "500m"}, "requests": {"cpu": "501m"}}),
    &["limits[cpu]: Invalid value: \"500m\": must be greater than or equal to request"])]
#[case(json!({"requests": {"pods": "1"}}),
    &["requests[pods]: Invalid value: \"pods\": must be a standard resource for containers"])]
#[case(json!({"limits": {"gold": "1"}}), &[
    "limits[gold]: Invalid value: \"gold\": must be a standard resource type or fully qualified",
    "limits[gold]: Invalid value: \"gold\": must be a standard resource for containers",
])]
#[case(json!({"limits": {"example.com/gold": "-1", "bad_prefix/x": "1"}}), &[])]
#[case(json!({"requests": {"memory": "-1Gi"}}),
    &["requests[memory][memory]: Invalid value: -1073741824: must be a valid resource quantity"])]
fn resources_of_a_container(#[case] resources: Value, #[case] want: &[&str]) {
    let want: Vec<String> = want
        .iter()
        .map(|line| format!("spec.containers[0].resources.{line}"))
        .collect();
    assert_eq!(with_container(json!({"resources": resources})), want);
}

#[rstest]
#[case("{",
    &["metadata.annotations: Invalid value: \"scheduler.alpha.kubernetes.io/affinity\": unexpected end of JSON input"])]
#[case(r#"{"nodeAffinity": "x"}"#, &[
    "metadata.annotations: Invalid value: \"scheduler.alpha.kubernetes.io/affinity\": json: cannot unmarshal string \
        into Go value of type api.NodeAffinity",
])]
#[case("{}", &[])]
#[case(r#"{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}"#, &[
    "metadata.annotations.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must \
        have at least one node selector term",
])]
#[case(r#"{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{}, {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1", "2"]},
        {"key": "b", "operator": "Exists", "values": ["x"]}, {"key": "c d", "operator": "Near"}]}]}}}"#, &[
    "metadata.annotations.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions: \
        Required value: must have at least one node selector requirement",
    "metadata.annotations.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].\
        matchExpressions[0].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
    "metadata.annotations.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].\
        matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    "metadata.annotations.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].\
        matchExpressions[2].operator: Invalid value: \"Near\": not a valid selector operator",
    "metadata.annotations.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].\
        matchExpressions[2].key: Invalid value: \"c d\": must be a qualified name (at most 63 characters, \
        matching regex ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]), with an optional DNS subdomain prefix (at most 253 \
        characters, matching regex [a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*) \
        and slash (/): e.g. \"MyName\" or \"example.com/MyName\"",
])]
#[case(r#"{"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
    {"weight": 101, "preference": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]}}"#, &[
    "metadata.annotations.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in \
        the range 1-100",
    "metadata.annotations.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values: \
        Required value: must be specified when `operator` is 'In' or 'NotIn'",
])]
fn an_affinity(#[case] affinity: &str, #[case] want: &[&str]) {
    let annotations = json!({"annotations": {"scheduler.alpha.kubernetes.io/affinity": affinity}});
    let pod = json!({"metadata": changed(metadata(), annotations), "spec": pod_spec()});
    assert_eq!(created("Pod", &pod), want);
}

#[test]
fn a_host_name_in_an_annotation_is_a_label() {
    let annotations =
        json!({"annotations": {"pod.beta.kubernetes.io/hostname": "A", "pod.beta.kubernetes.io/subdomain": "ok"}});
    let errors = created(
        "Pod",
        &json!({"metadata": changed(metadata(), annotations), "spec": pod_spec()}),
    );
    assert!(
        errors.len() == 1
            && errors[0].starts_with(
                "metadata.annotations: Invalid value: \"pod.beta.kubernetes.io/hostname\": must be a DNS label"
            ),
        "{errors:?}"
    );
}

#[rstest]
#[case(json!({"target": {"name": "n"}}), &[])]
#[case(json!({"target": {"kind": "Pod"}}),
    &["target.kind: Unsupported value: \"Pod\": supported values: Node, <empty>", "target.name: Required value"])]
fn a_binding(#[case] object: Value, #[case] want: &[&str]) {
    assert_eq!(lines(&binding::errors(object.as_object().unwrap())), want);
}
