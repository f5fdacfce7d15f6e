//! Whether a pod fits a node.
//!
//! Source: `plugin/pkg/scheduler/algorithm/predicates` of Kubernetes v1.2, its texts included.

use serde_json::Value;

use crate::api::{Object, labels, labels::Set, meta, quantity::Quantity};

/// CPU in thousandths of a core, memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resources {
    pub(crate) cpu: i64,
    pub(crate) memory: i64,
}

/// Whether a pod has ended.
pub(crate) fn is_over(pod: &Object) -> bool {
    matches!(meta::text(pod, "status.phase"), "Failed" | "Succeeded")
}

fn quantity(value: Option<&Value>) -> Option<Quantity> {
    value?.as_str()?.parse().ok()
}

fn containers(pod: &Object) -> impl Iterator<Item = &Value> {
    let containers = meta::lookup(pod, "spec.containers").and_then(Value::as_array);
    containers.into_iter().flatten()
}

/// What a pod requests; a container that says nothing counts with `default`.
pub(crate) fn requests(pod: &Object, default: Resources) -> Resources {
    let mut sum = Resources::default();
    for container in containers(pod) {
        let requests = &container["resources"]["requests"];
        let cpu = quantity(requests.get("cpu")).map_or(default.cpu, Quantity::milli_value);
        let memory = quantity(requests.get("memory")).map_or(default.memory, Quantity::value);
        sum.cpu = sum.cpu.saturating_add(cpu);
        sum.memory = sum.memory.saturating_add(memory);
    }
    sum
}

/// What a node has for pods: resources, and the number of pods.
pub(crate) fn allocatable(node: &Object) -> (Resources, i64) {
    let amounts = ["status.allocatable", "status.capacity"]
        .iter()
        .find_map(|path| meta::lookup(node, path));
    let amount = |name: &str| quantity(amounts.and_then(|amounts| amounts.get(name)));
    let resources = Resources {
        cpu: amount("cpu").map_or(0, Quantity::milli_value),
        memory: amount("memory").map_or(0, Quantity::value),
    };
    (resources, amount("pods").map_or(0, Quantity::value))
}

fn host_ports(pod: &Object) -> impl Iterator<Item = i64> {
    containers(pod)
        .filter_map(|container| container["ports"].as_array())
        .flatten()
        .filter_map(|port| port["hostPort"].as_i64())
        .filter(|port| *port > 0)
}

/// Whether a pod's node selector and required node affinity match a node.
pub(crate) fn matches_node_selector(pod: &Object, node: &Object) -> bool {
    let nothing = Object::new();
    let labels = meta::lookup(node, "metadata.labels")
        .and_then(Value::as_object)
        .unwrap_or(&nothing);
    let selector = meta::lookup(pod, "spec.nodeSelector").and_then(Value::as_object);
    selector
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.value(key) == value.as_str())
        && matches_affinity(pod, labels)
}

/// Whether the required node affinity, which v1.2 has in an annotation, matches a node's labels.
fn matches_affinity(pod: &Object, labels: &Object) -> bool {
    const REQUIRED: &str = "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let annotations = meta::lookup(pod, "metadata.annotations");
    let affinity = annotations
        .and_then(|annotations| annotations["scheduler.alpha.kubernetes.io/affinity"].as_str())
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(terms) = affinity.as_ref().and_then(|a| a.pointer(REQUIRED)?.as_array()) else {
        return true;
    };
    terms.iter().any(|term| {
        let expressions = term["matchExpressions"].as_array();
        expressions
            .is_some_and(|expressions| !expressions.is_empty() && expressions.iter().all(|e| expression(e, labels)))
    })
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

/// What schedulers and kubelets both ask of a node, on which `others` run; the error says what does not fit.
pub(crate) fn general(pod: &Object, node: &Object, others: &[&Object]) -> Result<(), String> {
    let (has, most) = allocatable(node);
    let count = i64::try_from(others.len()).unwrap_or(i64::MAX);
    if count >= most {
        return Err(format!(
            "Node didn't have enough resource: PodCount, requested: 1, used: {count}, capacity: {most}"
        ));
    }
    let asked = requests(pod, Resources::default());
    if asked != Resources::default() {
        let mut used = Resources::default();
        for other in others {
            let requested = requests(other, Resources::default());
            used.cpu = used.cpu.saturating_add(requested.cpu);
            used.memory = used.memory.saturating_add(requested.memory);
        }
        for (name, asked, used, has) in [
            ("CPU", asked.cpu, used.cpu, has.cpu),
            ("Memory", asked.memory, used.memory, has.memory),
        ] {
            if asked.saturating_add(used) > has {
                return Err(format!(
                    "Node didn't have enough resource: {name}, requested: {asked}, used: {used}, capacity: {has}"
                ));
            }
        }
    }
    let wanted = meta::text(pod, "spec.nodeName");
    if !wanted.is_empty() && wanted != meta::text(node, "metadata.name") {
        return Err("HostName".to_owned());
    }
    if host_ports(pod).any(|port| others.iter().any(|other| host_ports(other).any(|taken| taken == port))) {
        return Err("PodFitsHostPorts".to_owned());
    }
    if !matches_node_selector(pod, node) {
        return Err("MatchNodeSelector".to_owned());
    }
    Ok(())
}
