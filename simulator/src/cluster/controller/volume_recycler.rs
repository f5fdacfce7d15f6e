//! Reclaiming of released volumes: they are retained, deleted, or recycled by a pod.
//!
//! - Host paths and NFS can be recycled; host paths below `/tmp` can be deleted.
//! - Limits: a recycler pod scrubs nothing, because simulated volumes are empty.
//! - Source of behaviour and texts: the recycler of `pkg/controller/persistentvolume` of Kubernetes v1.2.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    api::{Object, Status, meta},
    client::{Api, Informer, ObjectKey},
    cluster::runtime::ignore_not_found,
};

/// Name prefix of recycler pods.
const PREFIX: &str = "recycler-for-";

/// The result of reclaiming a volume.
pub(super) enum Reclaimed {
    /// The volume is available again.
    Free,
    /// The volume could not be reclaimed, for this reason.
    Failed(String),
    /// The volume does not change: it is retained, deleted, or being recycled.
    Kept,
}

/// Reclaims volumes.
pub(super) struct Recycler {
    pub(super) volume_api: Api,
    pub(super) pod_api: Api,
    pub(super) pods: Arc<Informer>,
}

/// Returns the name of the volume that a pod recycles, if it is a recycler pod.
pub(super) fn recycled_by(pod: &Object) -> Option<&str> {
    let is_system = meta::text(pod, "metadata.namespace") == "default";
    meta::text(pod, "metadata.name")
        .strip_prefix(PREFIX)
        .filter(|_| is_system)
}

impl Recycler {
    /// Takes the next step to reclaim a released volume.
    pub(super) async fn reclaim(&self, volume: &Object) -> Result<Reclaimed, Status> {
        match meta::text(volume, "spec.persistentVolumeReclaimPolicy") {
            "Delete" => self.delete(volume).await,
            "Recycle" => self.recycle(volume).await,
            _ => Ok(Reclaimed::Kept),
        }
    }

    async fn delete(&self, volume: &Object) -> Result<Reclaimed, Status> {
        if meta::lookup(volume, "spec.hostPath").is_none() {
            return Ok(Reclaimed::Failed("no deletable volume plugin matched".to_owned()));
        }
        let path = meta::text(volume, "spec.hostPath.path");
        if path.split_once("/tmp/").is_none_or(|(_, name)| name.is_empty()) {
            return Ok(Reclaimed::Failed(format!(
                "Deletion error: host_path deleter only supports /tmp/.+ but received provided {path}"
            )));
        }
        ignore_not_found(self.volume_api.delete(meta::text(volume, "metadata.name"), None).await)?;
        Ok(Reclaimed::Kept)
    }

    /// Creates a pod that scrubs the volume.
    async fn recycle(&self, volume: &Object) -> Result<Reclaimed, Status> {
        let source = ["hostPath", "nfs"].iter().find_map(|kind| {
            let source = meta::lookup(volume, "spec")?.get(kind)?;
            Some(json!({"name": "vol", *kind: source}))
        });
        let Some(source) = source else {
            return Ok(Reclaimed::Failed("no recyclable volume plugin matched".to_owned()));
        };
        let name = format!("{PREFIX}{}", meta::text(volume, "metadata.name"));
        let Some(pod) = self.pods.get(&ObjectKey::new("default", name.as_str())) else {
            self.pod_api.create(recycler_pod(&name, source)).await?;
            return Ok(Reclaimed::Kept);
        };
        let outcome = match meta::text(&pod, "status.phase") {
            "Succeeded" => Reclaimed::Free,
            "Failed" => Reclaimed::Failed(match meta::text(&pod, "status.message") {
                "" => "Recycling error: Pod failed, pod.Status.Message unknown.".to_owned(),
                message => format!("Recycling error: {message}"),
            }),
            _ => return Ok(Reclaimed::Kept),
        };
        ignore_not_found(self.pod_api.delete(&name, Some(0)).await)?;
        Ok(outcome)
    }
}

/// Returns the pod that scrubs a volume.
fn recycler_pod(name: &str, volume: Value) -> Value {
    let container = json!({
        "name": "pv-recycler",
        "image": "gcr.io/google_containers/busybox",
        "command": ["/bin/sh"],
        "args": ["-c", "echo scrubbed"],
        "volumeMounts": [{"name": "vol", "mountPath": "/scrub"}],
    });
    let spec = json!({
        "activeDeadlineSeconds": 60,
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [volume],
    });
    json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec})
}
