//! Deletion of the pods of a lost node.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::pods;
use crate::{
    api::{Object, Status, meta},
    client::{Api, EventRecorder, EventType, Informer, reference},
    cluster::runtime::ignore_not_found,
};

/// Maximum grace period of a pod of a lost node.
const MAX_GRACE_PERIOD: SignedDuration = SignedDuration::from_secs(300);

/// The pods of nodes.
pub(super) struct NodePods {
    pub(super) api: Api,
    pub(super) recorder: EventRecorder,
    pub(super) pods: Arc<Informer>,
    pub(super) daemon_sets: Arc<Informer>,
}

/// Whether a node's kubelet supports graceful deletion: its version is 1.1 or newer.
pub(super) fn has_graceful_kubelet(node: &Object) -> bool {
    let version = meta::text(node, "status.nodeInfo.kubeletVersion");
    let mut numbers = version.trim_start_matches('v').split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (1, 1),
        _ => false,
    }
}

fn is_terminating(pod: &Object) -> bool {
    !meta::text(pod, "metadata.deletionTimestamp").is_empty()
}

impl NodePods {
    fn on(&self, node: &str) -> Vec<Arc<Object>> {
        self.pods.list_indexed(node)
    }

    /// Whether no pods are bound to a node.
    pub(super) fn is_empty(&self, node: &str) -> bool {
        self.on(node).is_empty()
    }

    /// Deletes a node's pods, except those of daemon sets. Returns whether there were any.
    pub(super) async fn delete(&self, node: &str) -> Result<bool, Status> {
        let mut pods = self.on(node);
        pods.retain(|pod| !is_terminating(pod) && !self.is_daemon(pod));
        if pods.is_empty() {
            return Ok(false);
        }
        let message = format!("Node {node} event: Deleting all Pods from Node {node}.");
        self.record(&about(node), "DeletingAllPods", &message).await;
        for pod in &pods {
            let name = meta::text(pod, "metadata.name");
            let message = format!("Marking for deletion Pod {name} from Node {node}");
            self.record(&reference(pod), "NodeControllerEviction", &message).await;
            self.remove(pod, None).await?;
        }
        self.pods.catch_up().await;
        Ok(true)
    }

    /// Removes the pods of a node whose grace period is over, `elapsed` after their deletion. Returns how long to
    /// wait for the others.
    pub(super) async fn terminate(
        &self,
        node: &str,
        elapsed: SignedDuration,
    ) -> Result<Option<SignedDuration>, Status> {
        let mut longest = None;
        for pod in self.on(node).iter().filter(|pod| is_terminating(pod)) {
            let grace = SignedDuration::from_secs(pods::number(pod, "metadata.deletionGracePeriodSeconds"));
            let left = grace.min(MAX_GRACE_PERIOD) - elapsed;
            if !left.is_positive() {
                let name = meta::text(pod, "metadata.name");
                let message = format!(
                    "Node {node} event: Pod {name} has exceeded the grace period for deletion after being evicted \
                        from Node {node:?} and is being force killed"
                );
                self.record(&about(node), "TerminatingEvictedPod", &message).await;
                self.remove(pod, Some(0)).await?;
            } else {
                longest = longest.max(Some(left));
            }
        }
        Ok(longest)
    }

    /// Removes the terminating pods of a node whose kubelet does not end them.
    pub(super) async fn remove_terminating(&self, node: &str) -> Result<(), Status> {
        for pod in self.on(node).iter().filter(|pod| is_terminating(pod)) {
            self.remove(pod, Some(0)).await?;
        }
        Ok(())
    }

    /// Removes all pods of a node.
    pub(super) async fn remove_all(&self, node: &str) -> Result<(), Status> {
        for pod in self.on(node) {
            self.remove(&pod, Some(0)).await?;
        }
        Ok(())
    }

    /// Marks a node's pods as not ready.
    pub(super) async fn mark_unready(&self, node: &str) -> Result<(), Status> {
        for pod in self.on(node) {
            let mut changed = pod.as_ref().clone();
            let conditions = meta::child(&mut changed, "status").get_mut("conditions");
            let conditions = conditions.and_then(Value::as_array_mut);
            let Some(ready) = conditions.and_then(|conditions| conditions.iter_mut().find(|c| c["type"] == "Ready"))
            else {
                continue;
            };
            ready["status"] = "False".into();
            let api = self.api.in_namespace(meta::text(&pod, "metadata.namespace"));
            api.update_status(changed).await?;
        }
        Ok(())
    }

    fn is_daemon(&self, pod: &Object) -> bool {
        let sets = self.daemon_sets.list_in(meta::text(pod, "metadata.namespace"));
        sets.iter()
            .any(|set| pods::selector(set).is_some_and(|selector| pods::matches(&selector, pod)))
    }

    /// Records an event. Errors are ignored.
    async fn record(&self, involved: &Value, reason: &str, message: &str) {
        let _ = self.recorder.record(involved, EventType::Normal, reason, message).await;
    }

    async fn remove(&self, pod: &Object, grace: Option<i64>) -> Result<(), Status> {
        let api = self.api.in_namespace(meta::text(pod, "metadata.namespace"));
        ignore_not_found(api.delete(meta::text(pod, "metadata.name"), grace).await)
    }
}

/// Returns the reference to a node that its events have.
fn about(node: &str) -> Value {
    json!({"kind": "Node", "name": node, "uid": node})
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("v1.2.0", true)]
    #[case("v1.1.0-beta+abc", true)]
    #[case("v1.0.6", false)]
    #[case("", false)]
    fn kubelets_support_graceful_deletion_since_v1_1(#[case] version: &str, #[case] graceful: bool) {
        let node = json!({"status": {"nodeInfo": {"kubeletVersion": version}}});
        assert_eq!(has_graceful_kubelet(node.as_object().unwrap()), graceful);
    }
}
