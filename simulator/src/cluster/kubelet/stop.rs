//! Container stop: `preStop` hook, SIGTERM, and SIGKILL after the grace period.

use std::{sync::atomic::Ordering, time::Duration};

use serde_json::{Value, json};

use super::{
    Kubelet, Kubelets, hooks,
    state::{ContainerState, PodState, Run},
};
use crate::{
    api::{Object, Status, meta},
    client::ObjectKey,
    cluster::runtime::ignore_not_found,
};

/// The reason for killing the containers of a deleted pod.
const KILL_POD_REASON: &str = "Need to kill pod.";

/// Default grace period in seconds.
const DEFAULT_GRACE_PERIOD: i64 = 30;

impl Kubelets {
    /// Stops a deleted pod's containers, and removes the pod when all have ended.
    pub(super) async fn stop(
        &self,
        key: &ObjectKey,
        pod: &Object,
        kubelet: &Kubelet,
        known: Option<PodState>,
    ) -> Result<(), Status> {
        let state = known.unwrap_or_else(|| PodState::new(pod, self.clock.now()));
        let grace = meta::lookup(pod, "metadata.deletionGracePeriodSeconds").and_then(Value::as_i64);
        self.kill_all(pod, kubelet, &state, grace.unwrap_or(DEFAULT_GRACE_PERIOD))
            .await;
        if state.containers.iter().any(is_running) {
            self.states.lock().insert(key.clone(), state);
            return Ok(());
        }
        self.states.lock().entry(key.clone()).or_insert(state);
        self.forget(key);
        ignore_not_found(self.api.in_namespace(&key.namespace).delete(&key.name, Some(0)).await)
    }

    /// Kills the containers of a pod that was removed before they ended, and removes its state.
    pub(super) async fn kill_removed(&self, key: &ObjectKey) {
        let state = self.states.lock().get(key).cloned();
        if let Some(state) = state
            && let Some(kubelet) = self.kubelets.get(&state.node)
        {
            let metadata = json!({"namespace": key.namespace, "name": key.name, "uid": state.uid});
            let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata});
            let pod = pod.as_object().cloned().unwrap_or_default();
            for container in &state.containers {
                let run = container.running.as_ref().filter(|run| run.exit().is_none());
                if let Some(run) = run.filter(|run| !run.stopping.swap(true, Ordering::AcqRel)) {
                    kubelet.killing(&pod, &container.name, &run.id, KILL_POD_REASON).await;
                }
            }
        }
        self.forget(key);
    }

    /// Stops every running container that is not already being stopped.
    pub(super) async fn kill_all(&self, pod: &Object, kubelet: &Kubelet, state: &PodState, grace: i64) {
        for container in &state.containers {
            // A container that has exited need not be killed, even if its end has not been detected yet.
            let runs = |run: &&Run| run.exit().is_none();
            if let Some(run) = container.running.as_ref().filter(runs) {
                self.kill(pod, kubelet, &container.name, run, KILL_POD_REASON, grace)
                    .await;
            }
        }
    }

    /// Stops a run: `preStop` hook, SIGTERM, and, `grace` seconds after the start of the hook, SIGKILL.
    pub(super) async fn kill(&self, pod: &Object, kubelet: &Kubelet, name: &str, run: &Run, why: &str, grace: i64) {
        if run.stopping.swap(true, Ordering::AcqRel) {
            return;
        }
        kubelet.killing(pod, name, &run.id, why).await;
        let Some(container) = run.container.clone() else {
            return;
        };
        let hook = run.spec["lifecycle"].get("preStop").cloned();
        let (kubelet_host, clock) = (kubelet.node.address, self.clock.clone());
        let (engine, spec) = (self.engine.clone(), run.spec.clone());
        let grace = Duration::from_secs(u64::try_from(grace).unwrap_or_default());
        let ends = async move {
            let stop = async {
                if let Some(hook) = hook {
                    // The container is stopped even if its hook fails.
                    let _ = hooks::run(&hook, &spec, &container, &engine, kubelet_host).await;
                }
                container.terminate();
                container.ends().await;
            };
            tokio::select! {
                biased;
                () = stop => {}
                () = clock.sleep(grace) => {}
            }
            container.kill();
        };
        self.engine.executor().start(ends).await;
    }
}

fn is_running(container: &ContainerState) -> bool {
    let run = container.running.as_ref();
    run.is_some_and(|run| run.container.is_some() && run.exit().is_none())
}
