//! Syncing a pod: its containers follow the spec, and its status follows its containers.
//!
//! Source: `pkg/kubelet/dockertools` (`computePodContainerChanges`, `SyncPod`) of Kubernetes v1.2.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    Kubelet, Kubelets, RESYNC, pod_status,
    start::{Failure, waiting},
    state::{ContainerState, PodState, later},
    volumes,
};
use crate::{
    api::{Object, Status, meta},
    client::{EventType, ObjectKey, reference},
    clock::stamp,
};

/// The message of a pod that exceeded its active deadline.
const PAST_DEADLINE: &str = "Pod was active on the node longer than specified deadline";

/// Result of syncing a pod.
#[derive(Default)]
struct Outcome {
    /// Delay until the next sync.
    wait: Option<Duration>,
    /// Failures, for the pod's event.
    failures: Vec<String>,
}

impl Outcome {
    fn wait(&mut self, delay: Duration) {
        self.wait = Some(self.wait.unwrap_or(RESYNC).min(delay));
    }

    fn fail(&mut self, container: &str, failure: &Failure) {
        self.failures.push(format!(
            "failed to \"StartContainer\" for {container:?} with {}: {:?}\n",
            failure.reason, failure.message
        ));
    }

    /// Sets a container that cannot be started to waiting.
    fn set_waiting(&mut self, container: &mut ContainerState, failure: &Failure, now: Timestamp) {
        self.wait(RESYNC);
        self.fail(&container.name, failure);
        container.waiting = Some(waiting(failure));
        container.retry = Some(later(now, SignedDuration::try_from(RESYNC).unwrap_or_default()));
    }
}

impl Kubelets {
    /// Syncs a pod's containers with its spec, and updates its status.
    pub(super) async fn sync(
        &self,
        key: &ObjectKey,
        pod: &Object,
        kubelet: &Kubelet,
        mut state: PodState,
    ) -> Result<(), Status> {
        let now = self.clock.now();
        let deadline = match self.deadline(pod, &state) {
            Some(deadline) if deadline <= now => return self.expire(key, pod, kubelet, state).await,
            deadline => deadline,
        };
        let address = state.address.clone().unwrap_or_default();
        match &state.volumes {
            Some(volumes) => volumes::refresh(pod, &address, &self.sources, volumes),
            None => match volumes::mount(pod, &address, &self.sources, &self.lasting) {
                Ok(volumes) => state.volumes = Some(volumes),
                Err(why) => return self.cannot_mount(key, pod, kubelet, state, &why).await,
            },
        }
        let mut outcome = Outcome::default();
        let containers = meta::lookup(pod, "spec.containers").and_then(Value::as_array);
        for (at, spec) in containers.into_iter().flatten().enumerate() {
            self.sync_container(key, pod, kubelet, spec, &mut state, at, &mut outcome)
                .await;
        }
        self.states.lock().insert(key.clone(), state.clone());
        kubelet.failed_sync(pod, &outcome.failures).await;
        let (status, next) = pod_status::status(pod, &state, &kubelet.node.address.to_string(), &self.probes, now);
        let until_deadline = deadline.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        if let Some(delay) = next.into_iter().chain(outcome.wait).chain(until_deadline).min() {
            self.queue.add_after(key.clone(), delay.max(Duration::from_millis(1)));
        }
        // If every container ended before its start was reported, none is reported as running.
        let gone = |container: &ContainerState| {
            let exit = container.running.as_ref().and_then(|run| run.exit());
            exit.is_some_and(|(end, _)| end <= now)
        };
        if meta::text(pod, "spec.restartPolicy") == "Never" && state.containers.iter().all(gone) {
            return Ok(());
        }
        self.write(key, pod, Value::Object(status)).await
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a container of a pod on a node, and what to do next"
    )]
    async fn sync_container(
        &self,
        key: &ObjectKey,
        pod: &Object,
        kubelet: &Kubelet,
        spec: &Value,
        state: &mut PodState,
        at: usize,
        outcome: &mut Outcome,
    ) {
        let now = self.clock.now();
        self.adopt(key, pod, kubelet, spec, state, at).await;
        let pod_state = state.clone();
        let Some(current) = state.containers.get_mut(at) else {
            return;
        };
        if current.end(now)
            && let Some(last) = &current.last
        {
            self.probes.forget(&last.id);
        }
        if let Some(run) = &current.running {
            let name = pod_status::long_name(pod);
            let why = if spec["image"] != run.spec["image"] {
                current.back_off = Default::default();
                current.image = spec["image"].as_str().unwrap_or_default().to_owned();
                let name = meta::text(pod, "metadata.name");
                let container = &current.name;
                format!("pod {name:?} container {container:?} hash changed, it will be killed and re-created.")
            } else if !self.probes.is_live(run) {
                let container = &current.name;
                format!("pod {name:?} container {container:?} is unhealthy, it will be killed and re-created.")
            } else {
                return;
            };
            let grace = meta::lookup(pod, "spec.terminationGracePeriodSeconds").and_then(Value::as_i64);
            self.kill(pod, kubelet, &current.name, run, &why, grace.unwrap_or(30))
                .await;
            if !current.end(now) {
                return;
            }
            if let Some(last) = &current.last {
                self.probes.forget(&last.id);
            }
        }
        if spec["image"] != current.image.as_str() {
            current.image = spec["image"].as_str().unwrap_or_default().to_owned();
            (current.back_off, current.pull, current.retry) = Default::default();
        }
        if let Some(retry) = current.retry.filter(|retry| *retry > now) {
            outcome.wait(retry.duration_since(now).try_into().unwrap_or(RESYNC));
            return;
        }
        let again = match meta::text(pod, "spec.restartPolicy") {
            "Always" => true,
            "OnFailure" => current.failed(),
            _ => false,
        };
        if current.last.is_some() && !again {
            current.waiting = None;
            return;
        }
        if let Some(left) = current.wait(now) {
            outcome.wait(left);
            let failure = Failure {
                reason: "CrashLoopBackOff",
                message: current.waiting_message(&pod_status::long_name(pod)),
            };
            let message = "Back-off restarting failed docker container";
            let name = &current.name;
            kubelet
                .container_event(pod, name, EventType::Warning, "BackOff", message)
                .await;
            outcome.fail(name, &failure);
            current.waiting = Some(waiting(&failure));
            return;
        }
        if let Err(failure) = self.pull(pod, kubelet, spec, current, now).await {
            outcome.set_waiting(current, &failure, now);
            return;
        }
        match self
            .start(key, pod, kubelet, spec, &pod_state, current.restarts, now)
            .await
        {
            Ok(run) => {
                let error = run.start_error.clone();
                current.start(run);
                if let Some(message) = error {
                    let failure = Failure {
                        reason: "RunContainerError",
                        message,
                    };
                    outcome.set_waiting(current, &failure, now);
                    current.end(later(now, super::state::RELIST_PERIOD));
                    let ends = meta::text(pod, "spec.restartPolicy") == "Never";
                    if ends {
                        (current.waiting, current.retry) = (None, None);
                    }
                }
            }
            Err(failure) => {
                outcome.set_waiting(current, &failure, now);
            }
        }
    }

    /// Adopts a container that runs according to the pod's status, but not in this process.
    async fn adopt(
        &self,
        key: &ObjectKey,
        pod: &Object,
        kubelet: &Kubelet,
        spec: &Value,
        state: &mut PodState,
        at: usize,
    ) {
        let run = state.containers.get(at).and_then(|container| container.running.clone());
        let Some(mut run) = run.filter(|run| run.container.is_none() && run.failure.is_none()) else {
            return;
        };
        let started = match self.container_spec(pod, kubelet, spec, state) {
            Ok(container) => self.launch(key, &run, container).await,
            Err(why) => Err(why),
        };
        match started {
            Ok(container) => {
                run.container = Some(container);
                self.probe(key, pod, kubelet, &run);
            }
            Err(why) => run.failure = Some((1, why)),
        }
        if let Some(container) = state.containers.get_mut(at) {
            container.running = Some(run);
        }
    }

    /// Leaves a pod waiting for its volumes.
    async fn cannot_mount(
        &self,
        key: &ObjectKey,
        pod: &Object,
        kubelet: &Kubelet,
        mut state: PodState,
        why: &str,
    ) -> Result<(), Status> {
        let now = self.clock.now();
        if state.next_mount_event.is_none_or(|next| next <= now) {
            let long = pod_status::long_name(pod);
            let message = format!("Unable to mount volumes for pod {long:?}: {why}");
            kubelet
                .event(&reference(pod), EventType::Warning, "FailedMount", &message)
                .await;
            kubelet.failed_sync(pod, &[why.to_owned()]).await;
            state.next_mount_event = Some(later(now, SignedDuration::try_from(RESYNC).unwrap_or_default()));
        }
        self.queue.add_after(key.clone(), RESYNC);
        let host = kubelet.node.address.to_string();
        let (status, _) = pod_status::status(pod, &state, &host, &self.probes, now);
        self.states.lock().insert(key.clone(), state);
        self.write(key, pod, Value::Object(status)).await
    }

    /// Returns the time of a pod's active deadline.
    fn deadline(&self, pod: &Object, state: &PodState) -> Option<Timestamp> {
        let seconds = meta::lookup(pod, "spec.activeDeadlineSeconds").and_then(Value::as_i64)?;
        Some(later(state.started, SignedDuration::from_secs(seconds)))
    }

    /// Stops a pod that exceeded its active deadline.
    async fn expire(&self, key: &ObjectKey, pod: &Object, kubelet: &Kubelet, state: PodState) -> Result<(), Status> {
        kubelet
            .event(&reference(pod), EventType::Normal, "DeadlineExceeded", PAST_DEADLINE)
            .await;
        self.kill_all(pod, kubelet, &state, 30).await;
        let status = json!({
            "phase": "Failed",
            "reason": "DeadlineExceeded",
            "message": PAST_DEADLINE,
            "startTime": stamp(state.started),
        });
        self.states.lock().insert(key.clone(), state);
        self.write(key, pod, status).await
    }
}
