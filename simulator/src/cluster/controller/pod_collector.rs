//! The pod garbage collector: it deletes the oldest terminated pods beyond a threshold.
//!
//! Source: `pkg/controller/gc` of Kubernetes v1.2, with the default threshold of its controller manager.

use std::{sync::Arc, time::Duration};

use crate::{
    api::{Object, Status, meta},
    client::{Api, Informer},
    cluster::{
        runtime::{Runtime, ignore_not_found},
        scheduler::demand::has_ended,
    },
};

/// Number of terminated pods that are kept.
const TERMINATED_POD_THRESHOLD: usize = 12_500;
/// Interval of the collection.
const GC_PERIOD: Duration = Duration::from_secs(20);

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (api, pods) = (runtime.api("v1", "pods")?, runtime.informer("v1", "pods").await?);
    let clock = runtime.clock().clone();
    runtime.spawn(async move {
        loop {
            clock.sleep(GC_PERIOD).await;
            // After an error, the next period tries again.
            let _ = collect(&api, &pods, TERMINATED_POD_THRESHOLD).await;
        }
    });
    Ok(())
}

/// Deletes the oldest terminated pods, so that at most `kept` are left.
async fn collect(api: &Api, pods: &Informer, kept: usize) -> Result<(), Status> {
    pods.catch_up().await;
    let mut ended: Vec<Arc<Object>> = pods.list();
    ended.retain(|pod| has_ended(pod));
    let surplus = ended.len().saturating_sub(kept);
    let text = |pod: &Object, path: &str| meta::text(pod, path).to_owned();
    ended.sort_by_cached_key(|pod| (text(pod, "metadata.creationTimestamp"), text(pod, "metadata.name")));
    for pod in ended.iter().take(surplus) {
        let api = api.in_namespace(meta::text(pod, "metadata.namespace"));
        ignore_not_found(api.delete(meta::text(pod, "metadata.name"), Some(0)).await)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{client::rig, registry::ListOptions};

    #[tokio::test]
    async fn the_oldest_terminated_pods_are_deleted() {
        let client = rig().await;
        let api = client.api("v1", "pods").unwrap();
        let default = api.in_namespace("default");
        for (name, phase) in [("a", "Succeeded"), ("b", "Running"), ("c", "Failed"), ("d", "Failed")] {
            let pod = json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "m", "image": "i"}]}});
            let mut pod = default.create(pod).await.unwrap().as_ref().clone();
            pod.insert("status".to_owned(), json!({"phase": phase}));
            default.update_status(pod).await.unwrap();
            client.clock().step(Duration::from_secs(1));
        }
        let informer = Informer::new(api.clone(), ListOptions::default()).await.unwrap();
        collect(&api, &informer, 1).await.unwrap();
        let left = api.list(&ListOptions::default()).await.unwrap().items;
        let names: Vec<&str> = left.iter().map(|pod| meta::text(pod, "metadata.name")).collect();
        assert_eq!(names, ["b", "d"]);
    }
}
