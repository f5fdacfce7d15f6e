//! Index of the bound pods by namespace and labels.

use std::collections::HashMap;

use serde_json::Value;

use super::demand::has_ended;
use crate::api::{Object, labels::Selector, meta};

/// Number of bound pods per node, by namespace and labels. Pods that have ended or are being deleted do not count.
#[derive(Default)]
pub(super) struct PodsByLabels {
    by_namespace: HashMap<String, HashMap<String, Labelled>>,
}

/// The pods of a namespace with the same labels.
struct Labelled {
    labels: Object,
    by_node: HashMap<String, usize>,
}

impl PodsByLabels {
    /// Adds a pod.
    pub(super) fn add(&mut self, pod: &Object) {
        if !counts(pod) {
            return;
        }
        let (namespace, labels) = index_key(pod);
        let labelled = self.by_namespace.entry(namespace).or_default().entry(labels);
        let labelled = labelled.or_insert_with(|| Labelled {
            labels: labels_of(pod),
            by_node: HashMap::new(),
        });
        *labelled.by_node.entry(node(pod)).or_default() += 1;
    }

    /// Removes a pod that was added with the same namespace, labels and node.
    pub(super) fn remove(&mut self, pod: &Object) {
        if !counts(pod) {
            return;
        }
        let (namespace, labels) = index_key(pod);
        let Some(of_namespace) = self.by_namespace.get_mut(&namespace) else {
            return;
        };
        if let Some(labelled) = of_namespace.get_mut(&labels) {
            let node = node(pod);
            if let Some(count) = labelled.by_node.get_mut(&node) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    labelled.by_node.remove(&node);
                }
            }
            if labelled.by_node.is_empty() {
                of_namespace.remove(&labels);
            }
        }
        if of_namespace.is_empty() {
            self.by_namespace.remove(&namespace);
        }
    }

    /// Returns the number of pods of a namespace that any of the selectors matches, by node.
    pub(super) fn selected(&self, namespace: &str, selectors: &[Selector]) -> HashMap<&str, usize> {
        let mut counts = HashMap::new();
        let of_namespace = self.by_namespace.get(namespace).into_iter().flat_map(HashMap::values);
        for labelled in of_namespace.filter(|one| selectors.iter().any(|selector| selector.matches(&one.labels))) {
            for (node, count) in &labelled.by_node {
                *counts.entry(node.as_str()).or_default() += count;
            }
        }
        counts
    }
}

/// Whether a pod has neither ended nor is being deleted.
fn counts(pod: &Object) -> bool {
    !has_ended(pod) && meta::text(pod, "metadata.deletionTimestamp").is_empty()
}

/// Returns the namespace and labels of a pod.
fn index_key(pod: &Object) -> (String, String) {
    let labels = meta::lookup(pod, "metadata.labels").map(Value::to_string);
    (
        meta::text(pod, "metadata.namespace").to_owned(),
        labels.unwrap_or_default(),
    )
}

fn labels_of(pod: &Object) -> Object {
    match meta::lookup(pod, "metadata.labels") {
        Some(Value::Object(labels)) => labels.clone(),
        _ => Object::new(),
    }
}

fn node(pod: &Object) -> String {
    meta::text(pod, "spec.nodeName").to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(app: &str, node: &str) -> Object {
        let pod = json!({"metadata": {"namespace": "n", "labels": {"app": app}}, "spec": {"nodeName": node}});
        pod.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn added_pods_can_be_removed() {
        let selector = [Selector::from_map(json!({"app": "web"}).as_object().unwrap())];
        let (here, there, other) = (pod("web", "a"), pod("web", "b"), pod("db", "a"));
        let mut pods = PodsByLabels::default();
        [&here, &here, &there, &other].into_iter().for_each(|pod| pods.add(pod));
        assert_eq!(pods.selected("n", &selector), HashMap::from([("a", 2), ("b", 1)]));
        assert!(pods.selected("other", &selector).is_empty());
        pods.remove(&here);
        pods.remove(&there);
        assert_eq!(pods.selected("n", &selector), HashMap::from([("a", 1)]));
        pods.remove(&here);
        pods.remove(&other);
        assert!(pods.by_namespace.is_empty());
    }

    #[test]
    fn ended_and_terminating_pods_do_not_count() {
        let mut pods = PodsByLabels::default();
        let mut ended = pod("web", "a");
        ended.insert("status".to_owned(), json!({"phase": "Failed"}));
        let mut ending = pod("web", "a");
        meta::set(&mut ending, "deletionTimestamp", "2016-03-01T00:00:00Z");
        [&ended, &ending].into_iter().for_each(|pod| pods.add(pod));
        assert!(pods.by_namespace.is_empty());
    }
}
