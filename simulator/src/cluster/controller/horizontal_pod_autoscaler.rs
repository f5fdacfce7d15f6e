//! The horizontal pod autoscaler: it scales replicas by the CPU usage of their pods, within bounds.
//!
//! - A pod's usage is simulated: it is the value of its annotation `stuntdouble/cpu-usage`, such as `250m`.
//! - If a pod has no usage, replicas within the bounds do not change, and events report the reason.
//! - Limits: no other metrics.
//! - Source: `pkg/controller/podautoscaler` of Kubernetes v1.2.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::pods;
use crate::{
    api::{Object, Status, meta, quantity::Quantity},
    client::{Api, EventRecorder, EventType, Informer, ObjectKey, reference},
    clock::Clock,
    cluster::runtime::{Queue, Reconcile, Runtime},
};

/// Interval at which autoscalers are reconciled.
const SYNC_PERIOD: Duration = Duration::from_secs(30);
/// Time after a scaling during which an autoscaler may not scale up.
const UPSCALE_FORBIDDEN_WINDOW: SignedDuration = SignedDuration::from_secs(180);
/// Time after a scaling during which an autoscaler may not scale down.
const DOWNSCALE_FORBIDDEN_WINDOW: SignedDuration = SignedDuration::from_secs(300);

/// The annotation with a pod's CPU usage.
const CPU_USAGE: &str = "stuntdouble/cpu-usage";
/// Default target utilization in percent.
const DEFAULT_TARGET: i64 = 80;
/// Tolerated deviation of the utilization from its target, in percent of the target.
const TOLERANCE: i64 = 10;
const UTILIZATION: &str = "status.currentCPUUtilizationPercentage";

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    const GROUP: &str = "extensions/v1beta1";
    let queue = runtime.queue();
    let autoscalers = runtime.informer(GROUP, "horizontalpodautoscalers").await?;
    let keys = queue.clone();
    autoscalers.on_change(move |change| {
        keys.extend(change.new.iter().map(|autoscaler| ObjectKey::of(autoscaler)));
    });
    let component = Autoscalers {
        clock: runtime.clock().clone(),
        queue: queue.clone(),
        api: runtime.api(GROUP, "horizontalpodautoscalers")?,
        targets: vec![
            runtime.api("v1", "replicationcontrollers")?,
            runtime.api(GROUP, "replicasets")?,
            runtime.api(GROUP, "deployments")?,
        ],
        recorder: runtime.recorder("horizontal-pod-autoscaler", None)?,
        autoscalers,
        pods: runtime.informer("v1", "pods").await?,
    };
    runtime.work(queue, component);
    Ok(())
}

struct Autoscalers {
    clock: Clock,
    queue: Queue,
    api: Api,
    targets: Vec<Api>,
    recorder: EventRecorder,
    autoscalers: Arc<Informer>,
    pods: Arc<Informer>,
}

impl Reconcile for Autoscalers {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(autoscaler) = self.autoscalers.get(key) else {
            return Ok(());
        };
        self.queue.add_after(key.clone(), SYNC_PERIOD);
        let kind = meta::text(&autoscaler, "spec.scaleRef.kind");
        let name = meta::text(&autoscaler, "spec.scaleRef.name");
        let api = self.targets.iter().find(|api| api.kind() == kind);
        // v1.2 reads the `scale` subresource, so the error names it.
        let no_scale = |why: Status| match why.code {
            404 => Status::not_found("extensions", &format!("{}s/scale", kind.to_lowercase()), name),
            _ => why,
        };
        let target = match api.map(|api| api.in_namespace(&key.namespace)) {
            Some(api) => api.get(name).await.map(|target| (api, target)).map_err(no_scale),
            None => Err(Status::no_such_path()),
        };
        match target {
            Ok((api, target)) => self.scale(&autoscaler, &api, &target).await,
            Err(why) => {
                self.warn(&autoscaler, "FailedGetScale", &why.message).await;
                Ok(())
            }
        }
    }
}

impl Autoscalers {
    /// Records a warning. Errors are ignored: scaling does not depend on events.
    async fn warn(&self, autoscaler: &Object, reason: &str, message: &str) {
        let involved = reference(autoscaler);
        let _ = self
            .recorder
            .record(&involved, EventType::Warning, reason, message)
            .await;
    }

    async fn scale(&self, autoscaler: &Object, api: &Api, target: &Object) -> Result<(), Status> {
        let bound = |field: &str| meta::lookup(autoscaler, &format!("spec.{field}")).and_then(Value::as_i64);
        let current = pods::number(target, "status.replicas");
        let min_replicas = bound("minReplicas").unwrap_or(1);
        let max_replicas = bound("maxReplicas").unwrap_or(i64::MAX);
        let mut used = None;
        let (wanted, why) = if current > max_replicas {
            (max_replicas, "Current number of replicas above Spec.MaxReplicas")
        } else if current < min_replicas {
            (min_replicas, "Current number of replicas below Spec.MinReplicas")
        } else if current == 0 {
            (1, "Current number of replicas must be greater than 0")
        } else {
            match self.utilization(target) {
                Ok(percent) => {
                    used = Some(percent);
                    let goal = pods::number(autoscaler, "spec.cpuUtilization.targetPercentage");
                    let wanted = replicas_for(percent, if goal > 0 { goal } else { DEFAULT_TARGET }, current);
                    let why = if wanted > current {
                        "CPU utilization above target"
                    } else {
                        "All metrics below target"
                    };
                    (wanted.max(min_replicas).max(1).min(max_replicas), why)
                }
                Err(why) => return self.report_missing(autoscaler, current, &why).await,
            }
        };
        if wanted == current || !self.may_scale(autoscaler, wanted > current) {
            return self.report(autoscaler, current, current, used, false).await;
        }
        let mut scaled = target.clone();
        meta::child(&mut scaled, "spec").insert("replicas".to_owned(), wanted.into());
        if let Err(error) = api.update(scaled).await {
            let message = format!("New size: {wanted}; reason: {why}; error: {}", error.message);
            self.warn(autoscaler, "FailedRescale", &message).await;
            return Ok(());
        }
        let message = format!("New size: {wanted}; reason: {why}");
        let involved = reference(autoscaler);
        // Scaling does not depend on events.
        let _ = self
            .recorder
            .record(&involved, EventType::Normal, "SuccessfulRescale", &message)
            .await;
        self.report(autoscaler, current, wanted, used, true).await
    }

    /// Reports that the usage is unknown. The number of replicas does not change.
    async fn report_missing(&self, autoscaler: &Object, current: i64, why: &str) -> Result<(), Status> {
        let error = format!("failed to get CPU consumption and request: {why}");
        self.warn(autoscaler, "FailedGetMetrics", &error).await;
        let error = format!("failed to get CPU utilization: {error}");
        self.warn(autoscaler, "FailedComputeReplicas", &error).await;
        let desired = pods::number(autoscaler, "status.desiredReplicas");
        let used = meta::lookup(autoscaler, UTILIZATION).and_then(Value::as_i64);
        self.report(autoscaler, current, desired, used, false).await
    }

    /// Whether enough time has passed since the last scaling.
    fn may_scale(&self, autoscaler: &Object, up: bool) -> bool {
        let pause = if up {
            UPSCALE_FORBIDDEN_WINDOW
        } else {
            DOWNSCALE_FORBIDDEN_WINDOW
        };
        let last = meta::text(autoscaler, "status.lastScaleTime").parse::<Timestamp>();
        last.map_or(true, |last| self.clock.now().duration_since(last) > pause)
    }

    /// Returns the average CPU usage of the target's pods in percent of their requests. Fails with the reason why it
    /// is unknown.
    fn utilization(&self, target: &Object) -> Result<i64, String> {
        let namespace = meta::text(target, "metadata.namespace");
        let all = match pods::selector(target) {
            Some(selector) => pods::selected(&self.pods, namespace, &selector),
            None => Vec::new(),
        };
        let mut running = all.clone();
        running.retain(|pod| meta::text(pod, "status.phase") != "Pending");
        if running.is_empty() && !all.is_empty() {
            return Err("no running pods".to_owned());
        }
        let requests: Option<Vec<i64>> = running.iter().flat_map(|pod| cpu_requests(pod)).collect();
        let requested = requests.map_or(0, |requests| requests.iter().sum::<i64>());
        if requested == 0 {
            return Err("some pods do not have request for cpu".to_owned());
        }
        let usage: Vec<i64> = running.iter().filter_map(|pod| cpu_usage(pod)).collect();
        let count = |pods: usize| i64::try_from(pods).unwrap_or(i64::MAX).max(1);
        if usage.len() < running.len() {
            return Err(format!(
                "metrics obtained for {}/{} of pods",
                usage.len(),
                running.len()
            ));
        }
        let used = usage.iter().sum::<i64>() / count(running.len());
        Ok(used.saturating_mul(100) / (requested / count(all.len())).max(1))
    }

    async fn report(
        &self,
        autoscaler: &Object,
        current: i64,
        desired: i64,
        used: Option<i64>,
        scaled: bool,
    ) -> Result<(), Status> {
        let mut status = json!({"currentReplicas": current, "desiredReplicas": desired});
        if let Some(percent) = used {
            status["currentCPUUtilizationPercentage"] = percent.into();
        }
        let last = meta::lookup(autoscaler, "status.lastScaleTime").cloned();
        let last = if scaled { Some(self.clock.stamp().into()) } else { last };
        if let Some(last) = last {
            status["lastScaleTime"] = last;
        }
        if autoscaler.get("status") == Some(&status) {
            return Ok(());
        }
        let mut changed = autoscaler.clone();
        changed.insert("status".into(), status);
        let api = self.api.in_namespace(meta::text(autoscaler, "metadata.namespace"));
        api.update_status(changed).await.map(drop)
    }
}

/// Returns the CPU request of each container of a pod in millicores; `None` for a container without one.
fn cpu_requests(pod: &Object) -> Vec<Option<i64>> {
    let containers = meta::lookup(pod, "spec.containers").and_then(Value::as_array);
    let request = |container: &Value| container.pointer("/resources/requests/cpu").and_then(milli);
    containers.into_iter().flatten().map(request).collect()
}

/// Returns the CPU usage of a pod in millicores.
pub(crate) fn cpu_usage(pod: &Object) -> Option<i64> {
    milli(meta::lookup(pod, "metadata.annotations")?.get(CPU_USAGE)?)
}

fn milli(value: &Value) -> Option<i64> {
    value.as_str()?.parse::<Quantity>().ok().map(Quantity::milli_value)
}

/// Returns the number of replicas that brings the utilization to its target.
fn replicas_for(percent: i64, target: i64, current: i64) -> i64 {
    if (percent - target).abs() * 100 <= TOLERANCE * target {
        return current;
    }
    percent.saturating_mul(current).saturating_add(target - 1) / target
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(100, 50, 2, 4)]
    #[case(51, 50, 3, 3)]
    #[case(56, 50, 3, 4)]
    #[case(10, 80, 8, 1)]
    #[case(0, 80, 8, 0)]
    fn replicas_follow_the_ratio_beyond_the_tolerance(
        #[case] percent: i64,
        #[case] target: i64,
        #[case] current: i64,
        #[case] wanted: i64,
    ) {
        assert_eq!(replicas_for(percent, target, current), wanted);
    }
}
