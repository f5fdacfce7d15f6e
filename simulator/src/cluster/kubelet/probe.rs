//! Liveness and readiness probes.
//!
//! - A container is not ready until its readiness probe succeeds. It is live until its liveness probe fails
//!   `failureThreshold` times.
//! - The first probe runs after the initial delay, the next ones one period apart.
//!
//! Source: `pkg/kubelet/prober` of Kubernetes v1.2.

use std::{collections::HashMap, net::Ipv4Addr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::Value;

use super::{Kubelet, Kubelets, events::involved, hooks, state::Run};
use crate::{
    api::Object,
    client::{EventRecorder, EventType, ObjectKey},
    clock::Clock,
    cluster::{
        container::{Engine, RunningContainer},
        runtime::Queue,
    },
};

/// Probe results, by the id of the container's run.
#[derive(Default)]
pub(super) struct Probes(Mutex<HashMap<String, Health>>);

#[derive(Clone, Copy)]
struct Health {
    ready: bool,
    live: bool,
}

impl Probes {
    /// Whether a run is ready. A run without a readiness probe is.
    pub(super) fn is_ready(&self, run: &Run) -> bool {
        self.0.lock().get(&run.id).is_none_or(|health| health.ready)
    }

    /// Whether a run is live. A run without a liveness probe is.
    pub(super) fn is_live(&self, run: &Run) -> bool {
        self.0.lock().get(&run.id).is_none_or(|health| health.live)
    }

    /// Removes the results of a run that has ended.
    pub(super) fn forget(&self, id: &str) {
        self.0.lock().remove(id);
    }
}

/// A probe of a run.
struct Probe {
    kind: Kind,
    spec: Value,
    container: Arc<RunningContainer>,
    of: Arc<Value>,
    id: String,
    engine: Arc<Engine>,
    node: Ipv4Addr,
    involved: Value,
    recorder: EventRecorder,
    probes: Arc<Probes>,
    queue: Queue,
    key: ObjectKey,
    clock: Clock,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Liveness,
    Readiness,
}

impl Kubelets {
    /// Starts the probes of a run.
    pub(super) fn probe(&self, key: &ObjectKey, pod: &Object, kubelet: &Kubelet, run: &Run) {
        let Some(container) = &run.container else { return };
        for (kind, field) in [(Kind::Liveness, "livenessProbe"), (Kind::Readiness, "readinessProbe")] {
            let Some(spec) = run.spec.get(field).filter(|spec| spec.is_object()) else {
                continue;
            };
            let healthy = Health {
                ready: true,
                live: true,
            };
            let mut known = self.probes.0.lock();
            let health = known.entry(run.id.clone()).or_insert(healthy);
            if kind == Kind::Readiness {
                health.ready = false;
            }
            let probe = Probe {
                kind,
                spec: spec.clone(),
                container: container.clone(),
                of: run.spec.clone(),
                id: run.id.clone(),
                engine: self.engine.clone(),
                node: kubelet.node.address,
                involved: involved(pod, run.spec["name"].as_str().unwrap_or_default()),
                recorder: kubelet.recorder.clone(),
                probes: self.probes.clone(),
                queue: self.queue.clone(),
                key: key.clone(),
                clock: self.clock.clone(),
            };
            let ended = container.clone();
            self.engine.executor().spawn(async move {
                tokio::select! {
                    biased;
                    () = ended.ends() => {}
                    () = probe.run() => {}
                }
            });
        }
    }
}

impl Probe {
    fn seconds(&self, field: &str, default: u64) -> Duration {
        let seconds = self.spec[field].as_u64().filter(|seconds| *seconds > 0);
        Duration::from_secs(seconds.unwrap_or(default))
    }

    fn threshold(&self, field: &str, default: u64) -> u64 {
        self.spec[field].as_u64().filter(|count| *count > 0).unwrap_or(default)
    }

    async fn run(self) {
        let delay = self.seconds("initialDelaySeconds", 0);
        if !delay.is_zero() {
            self.clock.sleep(delay).await;
        }
        let (mut last, mut count) = (None, 0);
        loop {
            let succeeded = self.attempt().await;
            if last == Some(succeeded) {
                count += 1;
            } else {
                (last, count) = (Some(succeeded), 1);
            }
            let enough = if succeeded {
                self.threshold("successThreshold", 1)
            } else {
                self.threshold("failureThreshold", 3)
            };
            if count >= enough {
                self.report(succeeded);
            }
            self.clock.sleep(self.seconds("periodSeconds", 10)).await;
        }
    }

    /// Runs the probe once, and records a failure.
    async fn attempt(&self) -> bool {
        let action = hooks::run(&self.spec, &self.of, &self.container, &self.engine, self.node);
        let result = tokio::select! {
            biased;
            result = action => result,
            () = self.clock.sleep(self.seconds("timeoutSeconds", 1)) => Err("context deadline exceeded".to_owned()),
        };
        let kind = match self.kind {
            Kind::Liveness => "Liveness",
            Kind::Readiness => "Readiness",
        };
        let message = match result {
            Ok(result) if result.succeeded => return true,
            Ok(result) => format!("{kind} probe failed: {}", result.output),
            Err(why) => format!("{kind} probe errored: {why}"),
        };
        // Probes do not depend on events.
        let _ = self
            .recorder
            .record(&self.involved, EventType::Warning, "Unhealthy", &message)
            .await;
        false
    }

    fn report(&self, succeeded: bool) {
        let mut known = self.probes.0.lock();
        let Some(health) = known.get_mut(&self.id) else { return };
        let now = match self.kind {
            Kind::Liveness => &mut health.live,
            Kind::Readiness => &mut health.ready,
        };
        if *now != succeeded {
            *now = succeeded;
            drop(known);
            self.queue.add(self.key.clone());
        }
    }
}
