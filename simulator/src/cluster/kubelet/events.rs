//! Events of a kubelet, with the texts of v1.2.

use md5::{Digest, Md5};
use serde_json::Value;

use super::Kubelet;
use crate::{
    api::Object,
    client::{EventType, reference},
};

impl Kubelet {
    /// Records an event. Errors are ignored: pods do not depend on events.
    pub(super) async fn event(&self, involved: &Value, kind: EventType, reason: &str, message: &str) {
        let _ = self.recorder.record(involved, kind, reason, message).await;
    }

    /// Records an event of a container.
    pub(super) async fn container_event(&self, pod: &Object, name: &str, kind: EventType, reason: &str, message: &str) {
        self.event(&involved(pod, name), kind, reason, message).await;
    }

    /// Records that a container is killed, and why.
    pub(super) async fn killing(&self, pod: &Object, name: &str, id: &str, why: &str) {
        let message = format!("Killing container with docker id {}: {why}", short(id));
        self.container_event(pod, name, EventType::Normal, "Killing", &message)
            .await;
    }

    /// Records the failures of starting the containers of a pod.
    pub(super) async fn failed_sync(&self, pod: &Object, failures: &[String]) {
        let what = match failures {
            [] => return,
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let message = format!("Error syncing pod, skipping: {what}");
        self.event(&reference(pod), EventType::Warning, "FailedSync", &message)
            .await;
    }
}

/// Returns the reference to a container of a pod.
pub(super) fn involved(pod: &Object, container: &str) -> Value {
    let mut reference = reference(pod);
    reference["fieldPath"] = format!("spec.containers{{{container}}}").into();
    reference
}

/// Returns the id of a run of a container. All runs of a container share the short id, so that their events are
/// aggregated.
pub(super) fn container_id(uid: &str, container: &str, restarts: u64) -> String {
    let half = |restarts: Option<u64>| {
        let digest = Md5::digest(format!("{uid}/{container}/{restarts:?}"));
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    format!("docker://{}{}", half(None), half(Some(restarts)))
}

/// Returns the short id that events show.
pub(super) fn short(id: &str) -> &str {
    let id = id.strip_prefix("docker://").unwrap_or(id);
    id.get(..12).unwrap_or(id)
}
