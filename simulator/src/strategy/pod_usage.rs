//! Quota usage of pods, and quota scopes.
//!
//! Source: v1.2's pod evaluator.

use std::collections::BTreeSet;

use serde_json::Value;

use super::usage::Usage;
use crate::api::{Object, meta, quantity::Quantity};

/// Resources of pods that quotas can limit.
pub(super) const QUOTA_RESOURCES: [&str; 7] = [
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    PODS,
    "requests.cpu",
    "requests.memory",
];

const PODS: &str = "pods";

/// Usage of a pod.
pub(super) fn of(pod: &Object) -> Usage {
    [Usage::one(PODS), of_containers(containers(pod))].into_iter().sum()
}

/// Checks that each container specifies every limited resource.
pub(super) fn check_request(pod: &Object, limited: &Usage) -> Result<(), String> {
    let needed = |name: &str| QUOTA_RESOURCES.contains(&name) && name != PODS;
    let missing: BTreeSet<&str> = containers(pod)
        .flat_map(|container| {
            let used = of_containers(std::iter::once(container));
            let names = limited.0.keys().map(String::as_str);
            names.filter(move |name| needed(name) && !used.0.contains_key(*name))
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing: Vec<&str> = missing.into_iter().collect();
    Err(format!("must specify {}", missing.join(",")))
}

/// Whether a pod is in the scope of a quota.
pub(super) fn is_in_scope(pod: &Object, scope: &str) -> bool {
    let deadline = meta::lookup(pod, "spec.activeDeadlineSeconds").and_then(Value::as_i64);
    let is_terminating = deadline.is_some_and(|seconds| seconds >= 0);
    match scope {
        "Terminating" => is_terminating,
        "NotTerminating" => !is_terminating,
        "BestEffort" => is_best_effort(pod),
        "NotBestEffort" => !is_best_effort(pod),
        _ => false,
    }
}

fn containers(pod: &Object) -> impl Iterator<Item = &Value> + Clone {
    meta::lookup(pod, "spec.containers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn of_containers<'a>(containers: impl Iterator<Item = &'a Value> + Clone) -> Usage {
    let mut used = Usage::default();
    for (field, has_short_name) in [("requests", true), ("limits", false)] {
        let amounts = containers
            .clone()
            .filter_map(|c| c.get("resources")?.get(field)?.as_object())
            .flatten();
        for (name, amount) in amounts.filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")) {
            let Some(amount) = amount.as_str().and_then(|a| a.parse::<Quantity>().ok()) else {
                continue;
            };
            used.add(&format!("{field}.{name}"), amount);
            if has_short_name {
                used.add(name, amount);
            }
        }
    }
    used
}

/// Whether any container lacks a request of any resource.
fn is_best_effort(pod: &Object) -> bool {
    containers(pod).any(|container| {
        let resources = |field: &str| {
            container
                .get("resources")
                .and_then(|r| r.get(field))
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
        };
        let named = ["cpu", "memory"].into_iter().chain(
            resources("requests")
                .chain(resources("limits"))
                .map(|(name, _)| name.as_str()),
        );
        named.into_iter().any(|what| {
            let asked = resources("requests")
                .find(|(name, _)| *name == what)
                .and_then(|(_, amount)| amount.as_str()?.parse::<Quantity>().ok());
            asked.is_none_or(|amount| amount.value() == 0)
        })
    })
}
