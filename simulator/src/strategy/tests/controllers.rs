//! Workloads: replication controllers, replica sets, deployments, jobs, autoscalers.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use super::{changed, created, lines, metadata, template};

const MISMATCH: &str =
    "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`";

/// Returns a valid object of `kind`.
fn valid(kind: &str) -> Value {
    let spec = match kind {
        "ReplicationController" => json!({"replicas": 2, "selector": {"app": "a"}, "template": template()}),
        "Job" => {
            json!({"selector": {"matchLabels": {"app": "a"}}, "manualSelector": true,
                "template": changed(template(), json!({"spec": {"restartPolicy": "Never"}}))})
        }
        "HorizontalPodAutoscaler" => {
            json!({"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 3})
        }
        _ => json!({"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template()}),
    };
    json!({"metadata": metadata(), "spec": spec})
}

#[rstest]
fn a_valid_controller_is_created_and_updated(
    #[values(
        "ReplicationController",
        "ReplicaSet",
        "Deployment",
        "DaemonSet",
        "Job",
        "HorizontalPodAutoscaler"
    )]
    kind: &str,
) {
    let object = valid(kind);
    assert!(created(kind, &object).is_empty());
    assert!(update(kind, "", object.as_object().unwrap(), object.as_object().unwrap()).is_empty());
}

#[rstest]
#[case("ReplicationController", json!({"selector": {"app": "b"}}), &[MISMATCH])]
#[case("ReplicationController", json!({"selector": {"app": null}, "replicas": -1}),
    &["spec.selector: Required value", "spec.replicas: Invalid value: -1: must be greater than or equal to 0"])]
#[case("ReplicationController", json!({"template": {"metadata": {"labels": {"app": "a", "b": "-"}}}}), &[
    "spec.template.labels: Invalid value: \"-\": must have at most 63 characters, matching regex \
        (([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?: e.g. \"MyValue\" or \"\"",
])]
#[case("ReplicaSet", json!({"selector": {"matchLabels": null}}),
    &["spec.selector: Invalid value: {}: empty selector is not valid for deployment."])]
#[case("ReplicaSet", json!({"selector": {"matchLabels": {"app": "b"}}, "replicas": -3}),
    &["spec.replicas: Invalid value: -3: must be greater than or equal to 0", MISMATCH])]
#[case("Deployment",
    json!({"selector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}}), &[MISMATCH])]
#[case("Deployment",
    json!({"selector": {"matchLabels": null, "matchExpressions": [{"key": "app", "operator": "Near"}]}}), &[
    "spec.selector.matchExpressions[0].operator: Invalid value: \"Near\": not a valid selector operator",
    "spec.selector: Invalid value: {\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Near\"}]}: invalid label \
        selector.",
])]
#[case("Deployment",
    json!({"template": {"spec": {"volumes": [{"name": "v", "gcePersistentDisk": {"pdName": "p"}}]}}}), &[
    "spec.template.spec.volumes[0].gcePersistentDisk.readOnly: Invalid value: false: must be true for replicated \
        pods > 1; GCE PD can only be mounted on multiple machines if it is read-only",
])]
#[case("Deployment", json!({"replicas": 1,
    "template": {"spec": {"volumes": [{"name": "v", "gcePersistentDisk": {"pdName": "p"}}]}}}), &[])]
#[case("DaemonSet",
    json!({"replicas": 1, "template": {"spec": {"volumes": [{"name": "v", "gcePersistentDisk": {"pdName": "p"}}]}}}), &[
    "spec.template.spec.volumes[0].gcePersistentDisk.readOnly: Invalid value: false: must be true for replicated \
        pods > 1; GCE PD can only be mounted on multiple machines if it is read-only",
])]
#[case("DaemonSet", json!({"selector": {"matchLabels": null}}), &[])]
#[case("DaemonSet", json!({"selector": {"matchLabels": {"a b": "c"}}}), &[
    "spec.selector.matchLabels: Invalid value: \"a b\": must be a qualified name (at most 63 characters, matching \
        regex ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]), with an optional DNS subdomain prefix (at most 253 \
        characters, matching regex [a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*) and slash (/): \
        e.g. \"MyName\" or \"example.com/MyName\"",
])]
#[case("ReplicaSet", json!({"template": {"spec": {"restartPolicy": "Never"}}}),
    &["spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: Always"])]
fn selector_template_and_replicas(#[case] kind: &str, #[case] change: Value, #[case] want: &[&str]) {
    assert_eq!(created(kind, &changed(valid(kind), json!({"spec": change}))), want);
}

#[rstest]
#[case(json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "5%", "maxSurge": 0}}}), &[])]
#[case(json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "0%", "maxSurge": 0}}}), &[
    "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
])]
#[case(json!({"strategy": {"type": "RollingUpdate",
    "rollingUpdate": {"maxUnavailable": "101%", "maxSurge": "150%"}}}), &[
    "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%",
])]
#[case(json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "few", "maxSurge": -1}}}), &[
    "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"few\": must be an integer or percentage (e.g '5%')",
    "spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0",
])]
#[case(json!({"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}), &[
    "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
])]
#[case(json!({"strategy": {"type": "Slowly"}}), &[])]
#[case(json!({"minReadySeconds": -1, "revisionHistoryLimit": -2, "rollbackTo": {"revision": -3}}), &[
    "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
    "spec.revisionHistoryLimit: Invalid value: -2: must be greater than or equal to 0",
    "spec.rollback.version: Invalid value: -3: must be greater than or equal to 0",
])]
fn a_deployment(#[case] change: Value, #[case] want: &[&str]) {
    assert_eq!(
        created("Deployment", &changed(valid("Deployment"), json!({"spec": change}))),
        want
    );
}

#[rstest]
#[case("batch", json!({"parallelism": -1, "completions": -2, "activeDeadlineSeconds": -3}), &[
    "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
    "spec.completions: Invalid value: -2: must be greater than or equal to 0",
    "spec.activeDeadlineSeconds: Invalid value: -3: must be greater than or equal to 0",
])]
#[case("batch", json!({"manualSelector": false}), &[
    "spec.template.metadata.labels: Required value: controller-uid=u",
    "spec.template.metadata.labels: Required value: job-name=a",
    "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"a\"}}: `selector` not auto-generated",
])]
#[case("extensions", json!({"manualSelector": null}), &[])]
#[case("extensions", json!({"manualSelector": null, "autoSelector": true,
    "selector": {"matchLabels": {"app": null, "controller-uid": "u"}},
    "template": {"metadata": {"labels": {"controller-uid": "u", "job-name": "b"}}}}), &[
    "spec.template.metadata.labels: Invalid value: {\"app\":\"a\",\"controller-uid\":\"u\",\"job-name\":\"b\"}: \
        expected job-name=a",
])]
#[case("batch", json!({"template": {"spec": {"restartPolicy": "Always"}}}),
    &["spec.template.spec.restartPolicy: Unsupported value: \"Always\": supported values: OnFailure, Never"])]
fn a_job(#[case] group: &str, #[case] change: Value, #[case] want: &[&str]) {
    let job = changed(valid("Job"), json!({"spec": change}));
    assert_eq!(lines(&create("Job", group, job.as_object().unwrap())), want);
    let version = changed(job, json!({"apiVersion": format!("{group}/v1")}));
    assert_eq!(lines(&create("Job", "elsewhere", version.as_object().unwrap())), want);
}

#[rstest]
#[case(json!({"minReplicas": 0, "maxReplicas": 0, "targetCPUUtilizationPercentage": 0}), &[
    "spec.minReplicas: Invalid value: 0: must be greater than 0",
    "spec.maxReplicas: Invalid value: 0: must be greater than 0",
    "spec.cpuUtilization.targetPercentage: Invalid value: 0: must be greater than 0",
])]
#[case(json!({"scaleTargetRef": {"kind": "", "name": "a/b"}}),
    &["spec.scaleRef.kind: Required value", "spec.scaleRef.name: Invalid value: \"a/b\": name may not contain \"/\""])]
#[case(json!({"scaleTargetRef": null, "scaleRef": {"kind": "K", "name": "n", "subresource": "status"},
    "cpuUtilization": {"targetPercentage": -1}}), &[
    "spec.cpuUtilization.targetPercentage: Invalid value: -1: must be greater than 0",
    "spec.scaleRef.subresource: Unsupported value: \"status\": supported values: scale",
])]
#[case(json!({"scaleTargetRef": null, "scaleRef": {"kind": "K"}}),
    &["spec.scaleRef.name: Required value", "spec.scaleRef.subresource: Required value"])]
fn an_autoscaler(#[case] change: Value, #[case] want: &[&str]) {
    assert_eq!(
        created(
            "HorizontalPodAutoscaler",
            &changed(valid("HorizontalPodAutoscaler"), json!({"spec": change}))
        ),
        want
    );
}

#[rstest]
#[case("extensions", json!({}), true)]
#[case("autoscaling", json!({}), false)]
#[case("autoscaling", json!({"apiVersion": "extensions/v1beta1"}), true)]
fn only_the_older_version_of_an_autoscaler_names_the_subresource(
    #[case] group: &str,
    #[case] change: Value,
    #[case] older: bool,
) {
    let object = changed(json!({"metadata": metadata(), "spec": {"maxReplicas": 1}}), change);
    let want = [
        "spec.scaleRef.kind: Required value",
        "spec.scaleRef.name: Required value",
        "spec.scaleRef.subresource: Required value",
    ];
    assert_eq!(
        lines(&create("HorizontalPodAutoscaler", group, object.as_object().unwrap())),
        want[..if older { 3 } else { 2 }]
    );
}

#[rstest]
#[case(
    "x",
    "metadata.annotations: Invalid value: {\"alpha/target.custom-metrics.podautoscaler.kubernetes.io\":\"x\"}: \
        failed to parse custom metrics target annotation"
)]
#[case(
    "{}",
    "metadata.annotations.items: Required value: custom metrics target must not be empty"
)]
#[case(
    r#"{"items": [{"value": "1"}]}"#,
    "metadata.annotations.items.name: Required value: missing custom metric target name"
)]
#[case(
    r#"{"items": [{"name": "qps", "value": "0"}]}"#,
    "metadata.annotations.items.value: Invalid value: \"0\": custom metric target value must be greater than 0"
)]
fn targets_of_custom_metrics(#[case] targets: &str, #[case] want: &str) {
    let annotations =
        json!({"metadata": {"annotations": {"alpha/target.custom-metrics.podautoscaler.kubernetes.io": targets}}});
    assert_eq!(
        created(
            "HorizontalPodAutoscaler",
            &changed(valid("HorizontalPodAutoscaler"), annotations)
        ),
        [want]
    );
}

#[rstest]
#[case("ReplicationController", json!({"replicas": -1, "fullyLabeledReplicas": -2, "observedGeneration": -3}),
    &["replicas", "fullyLabeledReplicas", "observedGeneration"])]
#[case("ReplicaSet", json!({"replicas": -1}), &["replicas"])]
#[case("Deployment", json!({"observedGeneration": -1, "replicas": -1, "updatedReplicas": -1, "availableReplicas": -1,
    "unavailableReplicas": -1}),
    &["observedGeneration", "replicas", "updatedReplicas", "availableReplicas", "unavailableReplicas"])]
#[case("DaemonSet", json!({"currentNumberScheduled": -1, "numberMisscheduled": -1, "desiredNumberScheduled": -1}),
    &["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled"])]
#[case("Job", json!({"active": -1, "succeeded": -1, "failed": -1}), &["active", "succeeded", "failed"])]
#[case("HorizontalPodAutoscaler", json!({"currentReplicas": -1, "desiredReplicas": -1}),
    &["currentReplicas", "desiredReplicasa"])]
fn counts_in_a_status_are_not_negative(#[case] kind: &str, #[case] status: Value, #[case] fields: &[&str]) {
    let old = valid(kind);
    let new = changed(old.clone(), json!({"status": status}));
    let got = lines(&update_status(
        kind,
        "",
        new.as_object().unwrap(),
        old.as_object().unwrap(),
    ));
    assert_eq!(got.len(), fields.len());
    for (line, field) in got.iter().zip(fields) {
        assert!(
            line.starts_with(&format!("status.{field}: Invalid value: -"))
                && line.ends_with("must be greater than or equal to 0"),
            "{line}"
        );
    }
}

#[test]
fn a_scale_and_a_rollback() {
    assert!(
        scale::errors(
            json!({"metadata": metadata(), "spec": {"replicas": 0}})
                .as_object()
                .unwrap()
        )
        .is_empty()
    );
    assert_eq!(
        lines(&scale::errors(
            json!({"metadata": metadata(), "spec": {"replicas": -1}})
                .as_object()
                .unwrap()
        )),
        ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]
    );
    assert!(
        deployment::rollback_errors(json!({"name": "d", "rollbackTo": {"revision": 0}}).as_object().unwrap())
            .is_empty()
    );
    assert_eq!(
        lines(&deployment::rollback_errors(
            json!({"updatedAnnotations": {"ok": ""}}).as_object().unwrap()
        )),
        ["name: Required value: name is required"]
    );
}
