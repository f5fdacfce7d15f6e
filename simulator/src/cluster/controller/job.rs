//! The job controller: it runs pods until enough of them have succeeded.
//!
//! Source: `pkg/controller/job` of Kubernetes v1.2.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::pods::{self, PodControl, RESYNC};
use crate::{
    api::{Object, Status, meta},
    client::{Api, EventType, Informer, ObjectKey},
    clock::{Clock, stamp},
    cluster::runtime::{Queue, Reconcile, Runtime},
};

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let (queue, jobs) = (runtime.queue(), runtime.informer("extensions/v1beta1", "jobs").await?);
    let pods = runtime.informer("v1", "pods").await?;
    let keys = queue.clone();
    jobs.on_change(move |change| keys.extend(change.new.iter().map(|job| ObjectKey::of(job))));
    let (keys, cache) = (queue.clone(), jobs.clone());
    pods.on_change(move |change| {
        if !pods::affects_active_count(change) {
            return;
        }
        for pod in change.old.iter().chain(&change.new) {
            let jobs = cache.list_in(meta::text(pod, "metadata.namespace"));
            let selecting = jobs
                .iter()
                .filter(|job| pods::selector(job).is_some_and(|selector| pods::matches(&selector, pod)));
            keys.extend(selecting.map(|job| ObjectKey::of(job)));
        }
    });
    let component = Jobs {
        clock: runtime.clock().clone(),
        queue: queue.clone(),
        api: runtime.api("extensions/v1beta1", "jobs")?,
        control: PodControl::new(runtime, "job-controller")?,
        jobs,
        pods,
    };
    runtime.work(queue, component);
    Ok(())
}

struct Jobs {
    clock: Clock,
    queue: Queue,
    api: Api,
    control: PodControl,
    jobs: Arc<Informer>,
    pods: Arc<Informer>,
}

fn is_finished(job: &Object) -> bool {
    ["Complete", "Failed"]
        .iter()
        .any(|kind| pods::condition(job, kind).is_some_and(|condition| condition["status"] == "True"))
}

impl Reconcile for Jobs {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(job) = self.jobs.get(key).filter(|job| !is_finished(job)) else {
            return Ok(());
        };
        let Some(selector) = pods::selector(&job) else {
            return Ok(());
        };
        let now = self.clock.now();
        let all = pods::selected(&self.pods, &key.namespace, &selector);
        let ended = |phase: &str| {
            all.iter()
                .filter(|pod| meta::text(pod, "status.phase") == phase)
                .count()
        };
        let (succeeded, mut failed) = (ended("Succeeded"), ended("Failed"));
        let mut active: Vec<_> = all.iter().filter(|pod| pods::is_active(pod)).cloned().collect();
        let started = meta::text(&job, "status.startTime").parse().unwrap_or(now);
        let mut status = Map::new();
        let mut conditions = match meta::lookup(&job, "status.conditions") {
            Some(Value::Array(conditions)) => conditions.clone(),
            _ => Vec::new(),
        };
        let known = conditions.len();
        let running = if self.is_past_deadline(key, &job, started, now) {
            const MESSAGE: &str = "Job was active longer than specified deadline";
            for pod in &active {
                self.control.delete(&job, pod).await?;
            }
            failed += active.len();
            conditions.push(condition("Failed", Some(("DeadlineExceeded", MESSAGE)), now));
            self.control
                .event(&job, EventType::Normal, "DeadlineExceeded", MESSAGE)
                .await;
            0
        } else {
            let (running, done) = self.manage(&job, &mut active, succeeded).await;
            if done.is_err() {
                self.queue.add_after(key.clone(), RESYNC);
            }
            let completions = meta::lookup(&job, "spec.completions").and_then(Value::as_u64);
            let complete = match completions {
                None => succeeded > 0 && running == 0,
                Some(wanted) => succeeded as u64 >= wanted,
            };
            if let Some(wanted) = completions.filter(|_| complete) {
                self.warn_of_surplus(&job, running, succeeded as u64 > wanted).await;
            }
            if complete {
                conditions.push(condition("Complete", None, now));
                status.insert("completionTime".to_owned(), stamp(now).into());
            }
            running
        };
        status.insert("startTime".to_owned(), stamp(started).into());
        let mut differs = conditions.len() != known;
        if !conditions.is_empty() {
            status.insert("conditions".to_owned(), Value::Array(conditions));
        }
        for (name, count) in [("active", running), ("succeeded", succeeded), ("failed", failed)] {
            differs |= usize::try_from(pods::number(&job, &format!("status.{name}"))) != Ok(count);
            if count > 0 {
                status.insert(name.to_owned(), count.into());
            }
        }
        // The start time is written only with the first change of the counts.
        if differs {
            let mut changed = job.as_ref().clone();
            changed.insert("status".into(), Value::Object(status));
            self.api.in_namespace(&key.namespace).update_status(changed).await?;
        }
        Ok(())
    }
}

impl Jobs {
    /// Whether the job has exceeded its active deadline. If not, enqueues it for the deadline.
    fn is_past_deadline(&self, key: &ObjectKey, job: &Object, started: Timestamp, now: Timestamp) -> bool {
        let Some(seconds) = meta::lookup(job, "spec.activeDeadlineSeconds").and_then(Value::as_i64) else {
            return false;
        };
        let left = SignedDuration::from_secs(seconds) - now.duration_since(started);
        match Duration::try_from(left) {
            Ok(left) if !left.is_zero() => {
                self.queue.add_after(key.clone(), left);
                false
            }
            _ => true,
        }
    }

    /// Records that more pods run or have succeeded than the complete job requires.
    async fn warn_of_surplus(&self, job: &Object, running: usize, too_many_succeeded: bool) {
        for (applies, what, which) in [
            (running > 0, "TooManyActivePods", "active"),
            (too_many_succeeded, "TooManySucceededPods", "succeeded"),
        ] {
            if applies {
                let message = format!("Too many {which} pods running after completion count reached");
                self.control.event(job, EventType::Warning, what, &message).await;
            }
        }
    }

    /// Creates missing pods, or deletes surplus ones. Returns the resulting number of active pods.
    async fn manage(&self, job: &Object, active: &mut [Arc<Object>], succeeded: usize) -> (usize, Result<(), Status>) {
        let parallelism = usize::try_from(pods::number(job, "spec.parallelism")).unwrap_or(0);
        let completions = meta::lookup(job, "spec.completions").and_then(Value::as_u64);
        let wanted = match completions {
            None if succeeded > 0 => active.len(),
            None => parallelism,
            Some(completions) => {
                let left = usize::try_from(completions)
                    .unwrap_or(usize::MAX)
                    .saturating_sub(succeeded);
                left.min(parallelism)
            }
        };
        let (mut count, mut outcome) = (active.len(), Ok(()));
        if count > parallelism {
            pods::rank(active);
            for pod in active.iter().take(count - parallelism) {
                let deleted = self.control.delete(job, pod).await;
                count -= usize::from(deleted.is_ok());
                outcome = outcome.and(deleted);
            }
            return (count, outcome);
        }
        for _ in 0..wanted.saturating_sub(count) {
            let created = self.control.create(job, None).await;
            count += usize::from(created.is_ok());
            outcome = outcome.and(created);
        }
        (count, outcome)
    }
}

fn condition(kind: &str, why: Option<(&str, &str)>, now: Timestamp) -> Value {
    let mut condition =
        json!({"type": kind, "status": "True", "lastProbeTime": stamp(now), "lastTransitionTime": stamp(now)});
    if let Some((reason, message)) = why {
        condition["reason"] = reason.into();
        condition["message"] = message.into();
    }
    condition
}
