//! Priorities: scores of the nodes that a pod fits.
//!
//! Source: `plugin/pkg/scheduler/algorithm/priorities` of Kubernetes v1.2.

use std::sync::Arc;

use serde_json::Value;

use super::{
    NodeUsage,
    demand::{DEFAULT_REQUESTS, Resources, allocatable, requests},
    predicates::{affinity, matches_term},
};
use crate::{
    api::{Object, labels::Selector, meta},
    client::Informer,
};

/// Caches of the services and controllers whose pods are spread over nodes.
pub(super) struct Owners {
    pub(super) services: Arc<Informer>,
    pub(super) controllers: Arc<Informer>,
    pub(super) replica_sets: Arc<Informer>,
}

impl Owners {
    /// Returns the selectors of all services and controllers that select a pod.
    pub(super) fn selectors(&self, pod: &Object) -> Vec<Selector> {
        let namespace = meta::text(pod, "metadata.namespace");
        let maps = [&self.services, &self.controllers].into_iter().flat_map(|informer| {
            let objects = informer.list_in(namespace);
            objects.into_iter().filter_map(|object| {
                let map = meta::lookup(&object, "spec.selector")?.as_object()?;
                (!map.is_empty()).then(|| Selector::from_map(map))
            })
        });
        let sets = self.replica_sets.list_in(namespace).into_iter().filter_map(|set| {
            let selector = meta::lookup(&set, "spec.selector")?;
            Selector::from_label_selector(selector).ok()
        });
        let empty = Object::new();
        let labels = meta::lookup(pod, "metadata.labels")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        maps.chain(sets).filter(|selector| selector.matches(labels)).collect()
    }
}

/// Score 0 to 10: higher for fewer matching pods; `max_count` is the number on the fullest node.
pub(super) fn spread(count: usize, max_count: usize) -> i64 {
    if max_count == 0 {
        return 10;
    }
    i64::try_from(10 * (max_count - count) / max_count).unwrap_or(0)
}

/// Score 0 to 10 of each node: the weighted share of the pod's node affinity preferences that it meets.
pub(super) fn preferred(pod: &Object, nodes: &[&Object]) -> Vec<i64> {
    const PREFERRED: &str = "/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";
    let affinity = affinity(pod);
    let preferences = affinity.as_ref().and_then(|a| a.pointer(PREFERRED)?.as_array());
    let weight = |node: &Object| {
        let preferences = preferences.into_iter().flatten();
        let met = preferences.filter(|preference| matches_term(&preference["preference"], node));
        met.filter_map(|preference| preference["weight"].as_i64()).sum::<i64>()
    };
    let weights: Vec<i64> = nodes.iter().map(|node| weight(node)).collect();
    let max_count = weights.iter().copied().max().unwrap_or(0).max(1);
    weights.iter().map(|weight| 10 * weight / max_count).collect()
}

/// Score 0 to 20: free resources of the node, and the balance of their use.
pub(super) fn resources(pod: &Object, node: &Object, usage: &NodeUsage) -> i64 {
    let (has, _) = allocatable(node);
    let mut used = requests(pod, DEFAULT_REQUESTS);
    used.add(usage.estimated);
    let left = |used: i64, has: i64| {
        if has == 0 || used > has {
            0
        } else {
            (has - used).saturating_mul(10) / has
        }
    };
    let least = (left(used.cpu, has.cpu) + left(used.memory, has.memory)) / 2;
    least + balance(used, has)
}

/// Score 0 to 10: similarity of the used fractions of CPU and memory.
fn balance(used: Resources, has: Resources) -> i64 {
    #[expect(clippy::cast_precision_loss, reason = "v1.2 computes this in floats")]
    let part = |used: i64, has: i64| if has == 0 { 1.0 } else { used as f64 / has as f64 };
    let (cpu, memory) = (part(used.cpu, has.cpu), part(used.memory, has.memory));
    if cpu >= 1.0 || memory >= 1.0 {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is between 0 and 10")]
    let score = (10.0 - (cpu - memory).abs() * 10.0) as i64;
    score
}
