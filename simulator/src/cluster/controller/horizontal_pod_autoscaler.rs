//! Horizontal autoscalers: replicas within their bounds.
//!
//! Limits: there are no metrics, so that replicas within the bounds stay as they are and events say why.
//! Source: `pkg/controller/podautoscaler` of Kubernetes v1.2.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::pods;
use crate::{
    api::{Object, Status, meta},
    client::{Api, EventRecorder, EventType, Informer, ObjectKey, reference},
    clock::Clock,
    cluster::runtime::{Queue, Reconcile, Runtime},
};

/// How often an autoscaler is looked at.
const PERIOD: Duration = Duration::from_secs(30);
/// How long after it has scaled an autoscaler may scale up.
const PAUSE_UP: SignedDuration = SignedDuration::from_secs(180);
/// How long after it has scaled an autoscaler may scale down.
const PAUSE_DOWN: SignedDuration = SignedDuration::from_secs(300);

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
        self.queue.add_after(key.clone(), PERIOD);
        let kind = meta::text(&autoscaler, "spec.scaleRef.kind");
        let name = meta::text(&autoscaler, "spec.scaleRef.name");
        let api = self.targets.iter().find(|api| api.kind() == kind);
        let target = match api.map(|api| api.in_namespace(&key.namespace)) {
            Some(api) => api.get(name).await.map(|target| (api, target)),
            None => Err(Status::bad_request(format!("{kind} cannot be scaled"))),
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
    /// Events are no reason to stop: where one cannot be recorded, replicas are scaled all the same.
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
        let (least, most) = (
            bound("minReplicas").unwrap_or(1),
            bound("maxReplicas").unwrap_or(i64::MAX),
        );
        let (wanted, why) = if current > most {
            (most, "Current number of replicas above Spec.MaxReplicas")
        } else if current < least {
            (least, "Current number of replicas below Spec.MinReplicas")
        } else if current == 0 {
            (1, "Current number of replicas must be greater than 0")
        } else {
            let error = format!(
                "failed to get CPU consumption and request: {}",
                self.missing_metrics(target)
            );
            self.warn(autoscaler, "FailedGetMetrics", &error).await;
            let error = format!("failed to get CPU utilization: {error}");
            self.warn(autoscaler, "FailedComputeReplicas", &error).await;
            let desired = pods::number(autoscaler, "status.desiredReplicas");
            return self.report(autoscaler, current, desired, false).await;
        };
        if !self.may_scale(autoscaler, wanted > current) {
            return self.report(autoscaler, current, current, false).await;
        }
        let mut scaled = target.clone();
        meta::child(&mut scaled, "spec").insert("replicas".to_owned(), wanted.into());
        api.update(scaled).await?;
        let message = format!("New size: {wanted}; reason: {why}");
        let involved = reference(autoscaler);
        // An event is no reason to stop.
        let _ = self
            .recorder
            .record(&involved, EventType::Normal, "SuccessfulRescale", &message)
            .await;
        self.report(autoscaler, current, wanted, true).await
    }

    /// Whether the last time that the autoscaler scaled is long enough ago.
    fn may_scale(&self, autoscaler: &Object, up: bool) -> bool {
        let pause = if up { PAUSE_UP } else { PAUSE_DOWN };
        let last = meta::text(autoscaler, "status.lastScaleTime").parse::<Timestamp>();
        last.map_or(true, |last| self.clock.now().duration_since(last) > pause)
    }

    /// Why the usage of the target's pods is not known.
    fn missing_metrics(&self, target: &Object) -> String {
        let namespace = meta::text(target, "metadata.namespace");
        let mut found = match pods::selector(target) {
            Some(selector) => pods::selected(&self.pods, namespace, &selector),
            None => Vec::new(),
        };
        let all = found.len();
        found.retain(|pod| meta::text(pod, "status.phase") != "Pending");
        let requests = |pod: &Arc<Object>| {
            let containers = meta::lookup(pod, "spec.containers").and_then(Value::as_array);
            let mut containers = containers.into_iter().flatten();
            containers.all(|container| container.pointer("/resources/requests/cpu").is_some())
        };
        if found.is_empty() && all > 0 {
            "no running pods".to_owned()
        } else if found.is_empty() || !found.iter().all(requests) {
            "some pods do not have request for cpu".to_owned()
        } else {
            format!("metrics obtained for 0/{} of pods", found.len())
        }
    }

    async fn report(&self, autoscaler: &Object, current: i64, desired: i64, scaled: bool) -> Result<(), Status> {
        let mut status = json!({"currentReplicas": current, "desiredReplicas": desired});
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
