//! Defaults of fields.
//!
//! - A constant default is in the file of the kind. A conditional default is a function here, which a type names as
//!   its `@default`.
//! - Guarantees: the defaults of a value are set before those of its members; defaulting is idempotent.
//! - Source of the semantics: Kubernetes v1.2's defaulting functions.

use serde_json::{Map, Value, json};

use super::types::{DefaultRule, FieldType, StructType, Types};
use crate::api::{
    Object,
    meta::{self, child, lookup, member, member_mut, text},
};

/// Sets the defaults of an object of type `of`.
pub(super) fn structure(types: &Types, of: &StructType, object: &mut Object) {
    if let Some(rule) = of.default {
        rule(object);
    }
    for field in &of.fields {
        if let Some(default) = &field.default
            && member(object, &field.name).is_none_or(|given| {
                given.is_null() || (!matches!(field.field_type, FieldType::Pointer(_)) && is_zero(given))
            })
        {
            object.insert(field.name.to_string(), default.clone());
        }
        if !types.structure_in(&field.field_type).is_some_and(|of| of.has_defaults) {
            continue;
        }
        if let FieldType::Struct(id) = field.field_type {
            structure(types, types.get(id), child(object, &field.name));
        } else if let Some(given) = member_mut(object, &field.name) {
            value(types, &field.field_type, given);
        }
    }
}

fn value(types: &Types, of: &FieldType, given: &mut Value) {
    match (of, given) {
        (_, Value::Null) => {}
        (FieldType::Pointer(inner), given) => value(types, inner, given),
        (FieldType::Struct(id), Value::Object(fields)) => structure(types, types.get(*id), fields),
        (FieldType::List(items), Value::Array(given)) => given.iter_mut().for_each(|item| value(types, items, item)),
        _ => {}
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        _ => false,
    }
}

/// Conditional default with this name.
pub(super) fn rule(name: &str) -> Option<DefaultRule> {
    Some(match name {
        "allocatable" => allocatable,
        "external_id" => external_id,
        "host_ports" => host_ports,
        "image_pull_policy" => image_pull_policy,
        "job" => job,
        "job_counts" => job_counts,
        "labels_of_template" => default_labels,
        "labels_of_template_map" => default_labels_with_map_selector,
        "limit_range_item" => limit_range_item,
        "requests_from_limits" => requests_from_limits,
        "rolling_update" => rolling_update,
        "target_port" => target_port,
        "volume_source" => volume_source,
        _ => return None,
    })
}

fn is_given(object: &Object, field: &str) -> bool {
    match object.get(field) {
        None | Some(Value::Null) => false,
        Some(Value::Object(map)) => !map.is_empty(),
        Some(_) => true,
    }
}

/// `imagePullPolicy`: `Always` for an image without a tag or with the tag `latest`, else `IfNotPresent`.
fn image_pull_policy(container: &mut Object) {
    if text(container, "imagePullPolicy").is_empty() {
        let always = matches!(image_tag(text(container, "image")), "" | "latest");
        container.insert(
            "imagePullPolicy".into(),
            if always { "Always" } else { "IfNotPresent" }.into(),
        );
    }
}

/// Digest or tag of an image. Empty if it has neither. A colon before a slash precedes a port.
fn image_tag(image: &str) -> &str {
    if let Some(digest) = image.split('@').nth(1) {
        return digest;
    }
    image
        .rsplit_once(':')
        .map(|(_, tag)| tag)
        .filter(|tag| !tag.contains('/'))
        .unwrap_or_default()
}

/// `targetPort` of a service's port: the port itself.
fn target_port(port: &mut Object) {
    let given = port.get("targetPort").is_some_and(|target| !is_zero(target));
    if !given {
        let same = port.get("port").cloned().unwrap_or(Value::from(0));
        port.insert("targetPort".into(), same);
    }
}

/// The source of a volume: an empty directory.
fn volume_source(volume: &mut Object) {
    if volume.iter().all(|(name, source)| name == "name" || source.is_null()) {
        volume.insert("emptyDir".into(), json!({}));
    }
}

/// `externalID` of a node: its name.
fn external_id(node: &mut Object) {
    let name = text(node, "metadata.name").to_owned();
    let spec = child(node, "spec");
    if text(spec, "externalID").is_empty() && !name.is_empty() {
        spec.insert("externalID".into(), name.into());
    }
}

/// Requests of a container: its limits.
fn requests_from_limits(pod: &mut Object) {
    let Some(Value::Array(containers)) = child(pod, "spec").get_mut("containers") else {
        return;
    };
    for container in containers.iter_mut().filter_map(Value::as_object_mut) {
        let Some(limits) = lookup(container, "resources.limits")
            .and_then(Value::as_object)
            .cloned()
        else {
            continue;
        };
        let requests = child(child(container, "resources"), "requests");
        for (name, amount) in limits {
            requests.entry(name).or_insert(amount);
        }
    }
}

/// `hostPort` of a container's port in a pod with `hostNetwork`: the container's port.
fn host_ports(spec: &mut Object) {
    if spec.get("hostNetwork") != Some(&Value::Bool(true)) {
        return;
    }
    let Some(Value::Array(containers)) = spec.get_mut("containers") else {
        return;
    };
    for port in containers
        .iter_mut()
        .filter_map(|c| c.get_mut("ports")?.as_array_mut())
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        if port.get("hostPort").is_none_or(is_zero)
            && let Some(same) = port.get("containerPort").cloned()
        {
            port.insert("hostPort".into(), same);
        }
    }
}

/// Labels of an object's pod template, if they are set. They may be empty.
fn template_labels(object: &Object) -> Option<Value> {
    lookup(object, "spec.template.metadata.labels")
        .filter(|labels| labels.is_object())
        .cloned()
}

/// Selector and labels of a controller: the labels of its template.
fn default_labels(object: &mut Object) {
    if let Some(labels) = template_labels(object) {
        let spec = child(object, "spec");
        if spec.get("selector").is_none_or(Value::is_null) {
            spec.insert("selector".into(), json!({ "matchLabels": labels }));
        }
        label(object, labels);
    }
}

/// Selector and labels of a controller whose selector is a plain map: the labels of its template.
fn default_labels_with_map_selector(object: &mut Object) {
    if let Some(labels) = template_labels(object) {
        let spec = child(object, "spec");
        if !is_given(spec, "selector") {
            spec.insert("selector".into(), labels.clone());
        }
        label(object, labels);
    }
}

fn label(object: &mut Object, labels: Value) {
    let metadata = meta::metadata(object);
    if !is_given(metadata, "labels") {
        metadata.insert("labels".into(), labels);
    }
}

/// Selector and labels of a job: the labels of its template. Also its counts.
fn job(job: &mut Object) {
    if let Some(labels) = template_labels(job) {
        let spec = child(job, "spec");
        if spec.get("selector").is_none_or(Value::is_null) {
            spec.insert("selector".into(), json!({ "matchLabels": labels }));
        }
        label(job, labels);
    }
    job_counts(job);
}

/// `allocatable` of a node: its capacity.
fn allocatable(status: &mut Object) {
    if !is_given(status, "allocatable")
        && let Some(capacity) = status.get("capacity").filter(|c| !c.is_null()).cloned()
    {
        status.insert("allocatable".into(), capacity);
    }
}

/// `parallelism` of a job: 1. `completions`: 1 if there is no `parallelism` either.
fn job_counts(job: &mut Object) {
    let spec = child(job, "spec");
    let given = |spec: &Map<String, Value>, field: &str| spec.get(field).is_some_and(|v| !v.is_null());
    if !given(spec, "completions") && !given(spec, "parallelism") {
        spec.insert("completions".into(), 1.into());
    }
    if !given(spec, "parallelism") {
        spec.insert("parallelism".into(), 1.into());
    }
}

/// Parameters of a rolling update: an empty object, whose fields have defaults.
fn rolling_update(strategy: &mut Object) {
    if matches!(text(strategy, "type"), "" | "RollingUpdate") {
        child(strategy, "rollingUpdate");
    }
}

/// `default` of a container's limits: the maximum. `defaultRequest`: the default, else the minimum.
fn limit_range_item(item: &mut Object) {
    if text(item, "type") != "Container" {
        return;
    }
    for (to, from) in [
        ("default", "max"),
        ("defaultRequest", "default"),
        ("defaultRequest", "min"),
    ] {
        let Some(Value::Object(amounts)) = item.get(from).cloned() else {
            continue;
        };
        let into = child(item, to);
        for (name, amount) in amounts {
            into.entry(name).or_insert(amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::scheme::{Scheme, Syntax};

    #[rstest]
    #[case("nginx", "Always")]
    #[case("nginx:latest", "Always")]
    #[case("nginx:1.9", "IfNotPresent")]
    #[case("host:5000/nginx", "Always")]
    #[case("host:5000/nginx:2", "IfNotPresent")]
    #[case("nginx:latest@sha256:abc", "IfNotPresent")]
    #[case("", "Always")]
    fn the_pull_policy_depends_on_the_tag(#[case] image: &str, #[case] policy: &str) {
        let mut container = json!({ "image": image }).as_object().unwrap().clone();
        image_pull_policy(&mut container);
        assert_eq!(container["imagePullPolicy"], policy);
    }

    #[rstest]
    #[case("v1", "Service",
        r#"{"spec": {"ports": [{"port": 80}, {"port": 81, "targetPort": "http", "protocol": "UDP"}]}}"#, "spec",
        json!({"ports": [{"protocol": "TCP", "port": 80, "targetPort": 80},
        {"protocol": "UDP", "port": 81, "targetPort": "http"}], "type": "ClusterIP", "sessionAffinity": "None"}))]
    #[case("v1", "Secret", "{}", "type", json!("Opaque"))]
    #[case("v1", "Namespace", "{}", "status", json!({"phase": "Active"}))]
    #[case("v1", "PersistentVolume", "{}", "spec.persistentVolumeReclaimPolicy", json!("Retain"))]
    #[case("v1", "PersistentVolumeClaim", "{}", "status.phase", json!("Pending"))]
    #[case("v1", "Endpoints", r#"{"subsets": [{"ports": [{"port": 1}]}]}"#, "subsets",
        json!([{"ports": [{"port": 1, "protocol": "TCP"}]}]))]
    #[case("v1", "Node", r#"{"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}}"#, "status.allocatable",
        json!({"cpu": "4"}))]
    #[case("v1", "Node", r#"{"metadata": {"name": "n"}}"#, "spec.externalID", json!("n"))]
    #[case("v1", "LimitRange",
        r#"{"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]}}"#,
        "spec.limits", json!([{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"},
        "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Mi"}}]))]
    #[case("v1", "LimitRange", r#"{"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}}"#, "spec.limits",
        json!([{"type": "Pod", "max": {"cpu": "2"}}]))]
    #[case("v1", "ReplicationController", r#"{"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}"#,
        "spec.selector", json!({"a": "b"}))]
    #[case("v1", "ReplicationController", r#"{"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}"#,
        "metadata.labels", json!({"a": "b"}))]
    #[case("v1", "ReplicationController", "{}", "spec.replicas", json!(1))]
    #[case("v1", "ReplicationController", r#"{"spec": {"replicas": 0}}"#, "spec.replicas", json!(0))]
    #[case("extensions/v1beta1", "ReplicaSet",
        r#"{"spec": {"selector": {}, "template": {"metadata": {"labels": {"a": "b"}}}}}"#, "spec.selector", json!({}))]
    #[case("extensions/v1beta1", "Deployment", r#"{"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}"#,
        "spec.selector", json!({"matchLabels": {"a": "b"}}))]
    #[case("extensions/v1beta1", "Deployment", r#"{"spec": {"strategy": {"rollingUpdate": {"maxSurge": "20%"}}}}"#,
        "spec.strategy", json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": "20%"}}))]
    #[case("extensions/v1beta1", "Deployment", r#"{"spec": {"strategy": {"type": "Recreate"}}}"#, "spec.strategy",
        json!({"type": "Recreate"}))]
    #[case("extensions/v1beta1", "HorizontalPodAutoscaler", "{}", "spec",
        json!({"scaleRef": {}, "minReplicas": 1, "maxReplicas": 0, "cpuUtilization": {"targetPercentage": 80}}))]
    #[case("autoscaling/v1", "HorizontalPodAutoscaler", "{}", "spec",
        json!({"scaleTargetRef": {"kind": "", "name": ""}, "minReplicas": 1, "maxReplicas": 0}))]
    #[case("batch/v1", "Job", r#"{"spec": {"completions": 3}}"#, "spec.parallelism", json!(1))]
    #[case("batch/v1", "Job", r#"{"spec": {"parallelism": 3}}"#, "spec.parallelism", json!(3))]
    #[case("extensions/v1beta1", "Job", r#"{"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}"#,
        "spec.selector", json!({"matchLabels": {"a": "b"}}))]
    #[case("v1", "Pod", r#"{"spec": {"volumes": [{"name": "a"}, {"name": "b", "secret": {}}]}}"#, "spec.volumes",
        json!([{"name": "a", "emptyDir": {}}, {"name": "b", "secret": {}}]))]
    #[case("v1", "Pod",
        r#"{"spec": {"hostNetwork": true, "containers": [{"image": "a:1", "ports": [{"containerPort": 80}]}]}}"#,
        "spec.containers", json!([{"name": "", "image": "a:1", "ports": [{"hostPort": 80, "containerPort": 80,
        "protocol": "TCP"}], "resources": {}, "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent"}]))]
    #[case("v1", "PodTemplate",
        r#"{"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "1"}}}]}}}"#,
        "template.spec.containers", json!([{"name": "", "resources": {"limits": {"cpu": "1"}},
        "terminationMessagePath": "/dev/termination-log", "imagePullPolicy": "Always"}]))]
    fn a_missing_field_gets_its_default(
        #[case] group_version: &str,
        #[case] kind: &str,
        #[case] body: &str,
        #[case] path: &str,
        #[case] value: Value,
    ) {
        let scheme = Scheme::builtin();
        let kind = scheme.kind(group_version, kind).unwrap();
        let mut object = scheme.decode(kind, body.as_bytes(), Syntax::Json).unwrap();
        kind.default(&mut object);
        assert_eq!(lookup(&object, path).unwrap().to_string(), value.to_string());
    }

    #[test]
    fn requests_default_to_limits_in_pods_only() {
        let scheme = Scheme::builtin();
        let pods = scheme.kind("v1", "Pod").unwrap();
        let body = json!({"spec": {"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"},
            "requests": {"cpu": "500m"}}}]}})
        .to_string();
        let mut pod = scheme.decode(pods, body.as_bytes(), Syntax::Json).unwrap();
        pods.default(&mut pod);
        assert_eq!(
            pod["spec"]["containers"][0]["resources"]["requests"],
            json!({"cpu": "500m", "memory": "1Gi"})
        );
    }
}
