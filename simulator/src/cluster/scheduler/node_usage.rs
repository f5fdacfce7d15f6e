//! What the pods of a node take of it.

use std::collections::HashMap;

use serde_json::Value;

use super::demand::{DEFAULT_REQUESTS, Resources, disks, host_ports, is_over, requests};
use crate::api::{Object, labels::Selector, meta};

/// What the pods of a node take of it. Pods that have ended take nothing.
#[derive(Default)]
pub(crate) struct NodeUsage {
    pub(super) pods: i64,
    pub(super) requested: Resources,
    /// The same, where containers that request nothing count with the default.
    pub(super) estimated: Resources,
    ports: HashMap<i64, usize>,
    disks: Vec<Value>,
    /// How many pods of a namespace have these labels. Those that are being deleted do not count.
    labelled: HashMap<(String, String), (Object, usize)>,
}

impl NodeUsage {
    /// The usage of these pods.
    pub(crate) fn of<'a>(pods: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut usage = Self::default();
        pods.into_iter().for_each(|pod| usage.add(pod));
        usage
    }

    /// Counts a pod.
    pub(super) fn add(&mut self, pod: &Object) {
        if is_over(pod) {
            return;
        }
        self.pods += 1;
        self.requested.add(requests(pod, Resources::default()));
        self.estimated.add(requests(pod, DEFAULT_REQUESTS));
        for (port, _) in host_ports(pod) {
            *self.ports.entry(port).or_default() += 1;
        }
        self.disks.extend(disks(pod).cloned());
        if let Some(key) = label_key(pod) {
            let entry = self.labelled.entry(key).or_insert_with(|| (labels(pod), 0));
            entry.1 += 1;
        }
    }

    /// No longer counts a pod that was counted as it is here.
    pub(super) fn remove(&mut self, pod: &Object) {
        if is_over(pod) {
            return;
        }
        self.pods -= 1;
        self.requested.subtract(requests(pod, Resources::default()));
        self.estimated.subtract(requests(pod, DEFAULT_REQUESTS));
        for (port, _) in host_ports(pod) {
            if let Some(count) = self.ports.get_mut(&port) {
                *count = count.saturating_sub(1);
            }
        }
        for disk in disks(pod) {
            if let Some(at) = self.disks.iter().position(|taken| taken == disk) {
                self.disks.swap_remove(at);
            }
        }
        if let Some(key) = label_key(pod)
            && let Some(entry) = self.labelled.get_mut(&key)
        {
            entry.1 = entry.1.saturating_sub(1);
            if entry.1 == 0 {
                self.labelled.remove(&key);
            }
        }
    }

    /// Whether a port is taken, whatever its protocol: v1.2 does not tell protocols apart here.
    pub(super) fn has_port(&self, port: i64) -> bool {
        self.ports.get(&port).is_some_and(|count| *count > 0)
    }

    /// The disks that are attached.
    pub(super) fn disks(&self) -> &[Value] {
        &self.disks
    }

    /// How many pods of a namespace one of the selectors matches.
    pub(super) fn selected(&self, namespace: &str, selectors: &[Selector]) -> usize {
        let own = self.labelled.iter().filter(|((of, _), _)| of == namespace);
        let selected = own.filter(|(_, (labels, _))| selectors.iter().any(|selector| selector.matches(labels)));
        selected.map(|(_, (_, count))| count).sum()
    }
}

fn labels(pod: &Object) -> Object {
    match meta::lookup(pod, "metadata.labels") {
        Some(Value::Object(labels)) => labels.clone(),
        _ => Object::new(),
    }
}

/// The namespace and labels of a pod that is not being deleted.
fn label_key(pod: &Object) -> Option<(String, String)> {
    let text = |path: &str| meta::text(pod, path);
    let labels = meta::lookup(pod, "metadata.labels").map(Value::to_string);
    let is_ending = !text("metadata.deletionTimestamp").is_empty();
    (!is_ending).then(|| (text("metadata.namespace").to_owned(), labels.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(labels: &Value, cpu: &str) -> Object {
        let container = json!({"resources": {"requests": {"cpu": cpu}}, "ports": [{"hostPort": 80}]});
        let volume = json!({"name": "d", "gcePersistentDisk": {"pdName": "p"}});
        let metadata = json!({"namespace": "n", "labels": labels});
        match json!({"metadata": metadata, "spec": {"containers": [container], "volumes": [volume]}}) {
            Value::Object(pod) => pod,
            _ => Object::new(),
        }
    }

    #[test]
    fn what_is_removed_was_counted() {
        let (web, db) = (pod(&json!({"app": "web"}), "300m"), pod(&json!({"app": "db"}), "1"));
        let selector = [Selector::from_map(json!({"app": "web"}).as_object().unwrap())];
        let mut usage = NodeUsage::of([&web, &db, &web]);
        assert_eq!(
            (usage.pods, usage.requested.cpu, usage.selected("n", &selector)),
            (3, 1600, 2)
        );
        assert_eq!(usage.selected("other", &selector), 0);
        usage.remove(&web);
        usage.remove(&db);
        assert_eq!(
            (usage.pods, usage.requested.cpu, usage.selected("n", &selector)),
            (1, 300, 1)
        );
        assert_eq!((usage.has_port(80), usage.disks().len()), (true, 1));
        usage.remove(&web);
        assert_eq!(
            (usage.has_port(80), usage.disks().len(), usage.labelled.len()),
            (false, 0, 0)
        );
    }

    #[test]
    fn pods_that_have_ended_take_nothing() {
        let mut ended = pod(&json!({}), "1");
        ended.insert("status".to_owned(), json!({"phase": "Failed"}));
        let usage = NodeUsage::of([&ended]);
        assert_eq!((usage.pods, usage.estimated), (0, Resources::default()));
    }
}
