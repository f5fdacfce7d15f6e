//! Predicates: whether a pod fits a node.
//!
//! Source of behaviour and texts: `plugin/pkg/scheduler/algorithm/predicates` of Kubernetes v1.2.

use serde_json::Value;

use super::{
    NodeUsage,
    demand::{Resources, allocatable, disks, host_ports, requests},
};
use crate::api::{Object, labels, meta};

/// Whether a node has the labels of a pod's node selector.
pub(crate) fn has_node_labels(pod: &Object, node: &Object) -> bool {
    let selector = meta::lookup(pod, "spec.nodeSelector").and_then(Value::as_object);
    let value = |key: &str| meta::lookup(node, "metadata.labels").and_then(|labels| labels.get(key));
    selector
        .into_iter()
        .flatten()
        .all(|(key, wanted)| value(key) == Some(wanted))
}

/// Whether a pod's node selector and required node affinity match a node.
pub(crate) fn matches_node_selector(pod: &Object, node: &Object) -> bool {
    const REQUIRED: &str = "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let affinity = affinity(pod);
    let terms = affinity.as_ref().and_then(|a| a.pointer(REQUIRED)?.as_array());
    has_node_labels(pod, node) && terms.is_none_or(|terms| terms.iter().any(|term| matches_term(term, node)))
}

/// Returns the affinity of a pod, which is an annotation in v1.2.
pub(super) fn affinity(pod: &Object) -> Option<Value> {
    let annotations = meta::lookup(pod, "metadata.annotations")?;
    let text = annotations["scheduler.alpha.kubernetes.io/affinity"].as_str()?;
    serde_json::from_str(text).ok()
}

/// Whether a node's labels match all expressions of a term. A term without expressions matches nothing.
pub(super) fn matches_term(term: &Value, node: &Object) -> bool {
    let nothing = Object::new();
    let labels = meta::lookup(node, "metadata.labels")
        .and_then(Value::as_object)
        .unwrap_or(&nothing);
    let expressions = term["matchExpressions"].as_array();
    expressions.is_some_and(|expressions| !expressions.is_empty() && expressions.iter().all(|e| expression(e, labels)))
}

fn expression(expression: &Value, on: &Object) -> bool {
    let key = expression["key"].as_str().unwrap_or_default();
    let values = expression["values"].as_array();
    let list: Vec<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
    let first = list.first().copied().unwrap_or_default();
    let text = match expression["operator"].as_str().unwrap_or_default() {
        "In" => format!("{key} in ({})", list.join(",")),
        "NotIn" => format!("{key} notin ({})", list.join(",")),
        "Exists" => key.to_owned(),
        "DoesNotExist" => format!("!{key}"),
        "Gt" => format!("{key}>{first}"),
        _ => format!("{key}<{first}"),
    };
    labels::Selector::parse(&text).is_ok_and(|selector| selector.matches(on))
}

/// Whether a disk of a pod conflicts with a disk attached to the node.
pub(super) fn has_disk_conflict(pod: &Object, usage: &NodeUsage) -> bool {
    disks(pod).any(|disk| usage.disks().iter().any(|taken| excludes(disk, taken)))
}

/// Whether two volumes are the same disk, and it cannot be attached twice: a GCE disk unless both are read-only; an
/// EBS or RBD disk always.
fn excludes(volume: &Value, other: &Value) -> bool {
    let same = |kind: &str, field: &str| match (volume.get(kind), other.get(kind)) {
        (Some(one), Some(two)) => one.get(field) == two.get(field),
        _ => false,
    };
    let is_read_only = |volume: &Value| volume["gcePersistentDisk"]["readOnly"] == true;
    if same("gcePersistentDisk", "pdName") {
        return !(is_read_only(volume) && is_read_only(other));
    }
    if same("awsElasticBlockStore", "volumeID") {
        return true;
    }
    let monitors = |volume: &Value| volume["rbd"]["monitors"].as_array().cloned().unwrap_or_default();
    same("rbd", "pool") && same("rbd", "image") && monitors(volume).iter().any(|m| monitors(other).contains(m))
}

/// Checks the predicates shared by scheduler and kubelet for a node with this `usage`. Fails with the predicate's
/// message.
pub(crate) fn general(pod: &Object, node: &Object, usage: &NodeUsage) -> Result<(), String> {
    let (has, max_pods) = allocatable(node);
    let lacking = |name: &str, requested: i64, used: i64, has: i64| {
        Err(format!(
            "Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {has}"
        ))
    };
    if usage.pods >= max_pods {
        return lacking("PodCount", 1, usage.pods, max_pods);
    }
    let (requested, used) = (requests(pod, Resources::default()), usage.requested);
    if requested != Resources::default() {
        if requested.cpu.saturating_add(used.cpu) > has.cpu {
            return lacking("CPU", requested.cpu, used.cpu, has.cpu);
        }
        if requested.memory.saturating_add(used.memory) > has.memory {
            return lacking("Memory", requested.memory, used.memory, has.memory);
        }
    }
    let wanted = meta::text(pod, "spec.nodeName");
    if !wanted.is_empty() && wanted != meta::text(node, "metadata.name") {
        return Err("HostName".to_owned());
    }
    if host_ports(pod).any(|(port, _)| usage.has_port(port)) {
        return Err("PodFitsHostPorts".to_owned());
    }
    if !matches_node_selector(pod, node) {
        return Err("MatchNodeSelector".to_owned());
    }
    Ok(())
}
