//! State of the containers of a pod in a kubelet.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::volumes::Volumes;
use crate::{
    api::{Object, meta},
    clock::stamp,
    cluster::container::RunningContainer,
};

/// Interval at which a kubelet detects the end of containers, as the relist period of v1.2's PLEG.
pub(super) const RELIST_PERIOD: SignedDuration = SignedDuration::from_secs(1);
/// Initial back-off of a container that keeps ending.
const INITIAL_BACK_OFF: Duration = Duration::from_secs(10);
/// Maximum back-off.
const MAX_BACK_OFF: Duration = Duration::from_secs(300);

/// One run of a container.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) started: Timestamp,
    /// The container; `None` if it could not be started, or has not been adopted yet.
    pub(super) container: Option<Arc<RunningContainer>>,
    /// Exit code and reason of a run that could not be started.
    pub(super) failure: Option<(i32, String)>,
    /// The `terminated` state of a run that ended before this kubelet started, from the status of its pod.
    record: Option<Value>,
    /// The kubelet's error of a failed start.
    pub(super) start_error: Option<String>,
    /// Whether the kubelet is stopping it, so that it need not detect the end.
    pub(super) stopping: Arc<AtomicBool>,
    /// Path of the termination message.
    pub(super) message_path: String,
    /// Spec of the container at its start.
    pub(super) spec: Arc<Value>,
}

impl Run {
    /// Creates a run that starts now.
    pub(super) fn new(id: String, started: Timestamp, spec: Arc<Value>) -> Self {
        Self {
            id,
            started,
            container: None,
            failure: None,
            record: None,
            start_error: None,
            stopping: Arc::default(),
            message_path: spec["terminationMessagePath"]
                .as_str()
                .unwrap_or("/dev/termination-log")
                .to_owned(),
            spec,
        }
    }

    /// Returns the terminated run in `state`, a field of the container's status, if there is one.
    fn recorded(state: &Value, container: &Value) -> Option<Self> {
        let record = state.get("terminated")?;
        let text = |field: &str| record[field].as_str().unwrap_or_default();
        let started = text("startedAt").parse().or_else(|_| text("finishedAt").parse());
        let mut run = Self::new(
            text("containerID").to_owned(),
            started.ok()?,
            Arc::new(container.clone()),
        );
        run.record = Some(record.clone());
        Some(run)
    }

    /// Returns the time and exit code of its end, or `None` while it runs.
    pub(super) fn exit(&self) -> Option<(Timestamp, i32)> {
        if let Some(record) = &self.record {
            let end = record["finishedAt"].as_str().and_then(|end| end.parse().ok());
            let code = record["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok());
            return Some((end.unwrap_or(self.started), code.unwrap_or(1)));
        }
        if let Some((code, _)) = self.failure {
            return Some((self.started, code));
        }
        let ended = self.container.as_ref()?.ended()?;
        Some((ended.at, ended.code))
    }

    /// Returns the time at which the kubelet detects its end: the first relist after it.
    pub(super) fn detected_at(&self) -> Option<Timestamp> {
        let (end, _) = self.exit()?;
        if self.stopping.load(Ordering::Acquire) {
            return Some(end);
        }
        Some(detected_at(self.started, end))
    }

    /// Returns the `terminated` state of a run that has ended.
    fn terminated(&self) -> Value {
        if let Some(record) = &self.record {
            return json!({"terminated": record});
        }
        let (end, code) = self.exit().unwrap_or((self.started, 0));
        let mut reason = if code == 0 { "Completed" } else { "Error" };
        let mut message = self
            .container
            .as_ref()
            .and_then(|container| container.read_file(&self.message_path))
            .unwrap_or_default();
        if let Some((_, failure)) = &self.failure {
            reason = "ContainerCannotRun";
            message.clone_from(failure);
        }
        let mut terminated = json!({
            "exitCode": code,
            "reason": reason,
            "startedAt": stamp(self.started),
            "finishedAt": stamp(end),
            "containerID": self.id,
        });
        if !message.is_empty() {
            terminated["message"] = message.into();
        }
        json!({"terminated": terminated})
    }
}

/// Returns the time at which a kubelet detects the end of a run.
pub(super) fn detected_at(started: Timestamp, end: Timestamp) -> Timestamp {
    let looks = end.duration_since(started).as_secs_f64().ceil().max(1.0);
    later(started, RELIST_PERIOD.mul_f64(looks))
}

/// The reason and message of a container that is not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// A delay that doubles with each attempt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackOff(Option<(Duration, Timestamp)>);

impl BackOff {
    /// Returns how long the next attempt has to wait, given that the last one ended at `last`. Returns `None` if it
    /// may start now, and counts it.
    pub(super) fn wait(&mut self, last: Timestamp, now: Timestamp) -> Option<Duration> {
        let since = Duration::try_from(now.duration_since(last)).unwrap_or_default();
        let next = match self.0 {
            Some((wait, _)) if since < wait => return Some(wait.saturating_sub(since)),
            Some((_, before)) if last.duration_since(before).unsigned_abs() > 2 * MAX_BACK_OFF => INITIAL_BACK_OFF,
            Some((wait, _)) => (2 * wait).min(MAX_BACK_OFF),
            None => INITIAL_BACK_OFF,
        };
        self.0 = Some((next, now));
        None
    }

    /// Returns the current delay.
    pub(super) fn current(&self) -> Duration {
        self.0.map_or(INITIAL_BACK_OFF, |(wait, _)| wait)
    }
}

/// State of a container of a pod.
#[derive(Clone)]
pub(super) struct ContainerState {
    pub(super) name: String,
    pub(super) image: String,
    /// The current run; `None` before the first and after the end of the last.
    pub(super) running: Option<Run>,
    /// The last run that has ended.
    pub(super) last: Option<Run>,
    /// The run before `last`.
    before: Option<Run>,
    pub(super) restarts: u64,
    pub(super) back_off: BackOff,
    /// Back-off of pulling the image, and time of the last attempt.
    pub(super) pull: (BackOff, Option<Timestamp>),
    /// The reason why it is not started for now.
    pub(super) waiting: Option<Waiting>,
    /// Time of the next start attempt after a failure.
    pub(super) retry: Option<Timestamp>,
}

/// State of a pod in its kubelet.
#[derive(Clone)]
pub(super) struct PodState {
    pub(super) uid: String,
    pub(super) node: String,
    pub(super) address: Option<String>,
    pub(super) started: Timestamp,
    pub(super) containers: Vec<ContainerState>,
    /// The volumes, once they are mounted.
    pub(super) volumes: Option<Volumes>,
    /// Time of the next event about volumes that cannot be mounted.
    pub(super) next_mount_event: Option<Timestamp>,
}

impl PodState {
    /// Creates the state of a pod that is new to its kubelet, from the container statuses: running containers are
    /// adopted, terminated ones are kept.
    pub(super) fn new(pod: &Object, now: Timestamp) -> Self {
        let text = |path: &str| meta::text(pod, path).to_owned();
        let containers = meta::lookup(pod, "spec.containers").and_then(Value::as_array);
        let statuses = meta::lookup(pod, "status.containerStatuses").and_then(Value::as_array);
        let status = |name: &str| statuses?.iter().find(|s| s["name"] == name);
        Self {
            uid: text("metadata.uid"),
            node: text("spec.nodeName"),
            address: Some(text("status.podIP")).filter(|address| !address.is_empty()),
            started: text("status.startTime").parse().unwrap_or(now),
            volumes: None,
            next_mount_event: None,
            containers: containers
                .into_iter()
                .flatten()
                .map(|container| {
                    let name = container["name"].as_str().unwrap_or_default();
                    ContainerState::new(name, container, status(name), now)
                })
                .collect(),
        }
    }
}

impl ContainerState {
    fn new(name: &str, container: &Value, status: Option<&Value>, now: Timestamp) -> Self {
        let field = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let mut state = Self {
            name: name.to_owned(),
            image: field(container, "image"),
            running: None,
            last: None,
            before: None,
            restarts: 0,
            back_off: BackOff::default(),
            pull: (BackOff::default(), None),
            waiting: None,
            retry: None,
        };
        if let Some(status) = status {
            state.restarts = status["restartCount"].as_u64().unwrap_or_default();
            if let Some(running) = status["state"].get("running") {
                let started = field(running, "startedAt").parse().unwrap_or(now);
                let container = Arc::new(container.clone());
                state.running = Some(Run::new(field(status, "containerID"), started, container));
            }
            let (end, before) = (&status["state"], Run::recorded(&status["lastState"], container));
            match Run::recorded(end, container) {
                Some(last) => (state.last, state.before) = (Some(last), before),
                None if state.running.is_some() => state.before = before,
                None => state.last = before,
            }
        }
        state
    }

    /// Sets the current run.
    pub(super) fn start(&mut self, run: Run) {
        if self.last.is_some() {
            self.restarts += 1;
        }
        (self.waiting, self.retry) = (None, None);
        self.before = self.last.take();
        self.running = Some(run);
    }

    /// Returns true, and makes the current run the last one, if it has ended and the kubelet has detected that.
    pub(super) fn end(&mut self, now: Timestamp) -> bool {
        match self
            .running
            .take_if(|run| run.detected_at().is_some_and(|detected_at| detected_at <= now))
        {
            Some(ended) => {
                self.last = Some(ended);
                true
            }
            None => false,
        }
    }

    /// Whether the last run failed.
    pub(super) fn failed(&self) -> bool {
        self.last
            .as_ref()
            .and_then(Run::exit)
            .is_some_and(|(_, code)| code != 0)
    }

    /// Returns how long the container has to wait for its restart. Returns `None` if it may restart now, and counts
    /// the restart.
    pub(super) fn wait(&mut self, now: Timestamp) -> Option<Duration> {
        let (ended, _) = self.last.as_ref()?.exit()?;
        self.back_off.wait(ended, now)
    }

    /// Returns the `state` and `lastState` of the container's status.
    pub(super) fn states(&self) -> (Value, Value) {
        let terminated = |run: &Option<Run>| run.as_ref().map_or_else(|| json!({}), Run::terminated);
        let waiting = |waiting: &Waiting| json!({"waiting": {"reason": waiting.reason, "message": waiting.message}});
        if let (None, Some(why)) = (&self.running, &self.waiting) {
            return (waiting(why), terminated(&self.last));
        }
        match (&self.running, &self.last) {
            (Some(run), _) => (
                json!({"running": {"startedAt": stamp(run.started)}}),
                terminated(&self.before),
            ),
            (None, Some(last)) => (last.terminated(), terminated(&self.before)),
            (None, None) => {
                let message = format!("Image: {} is ready, container is creating", self.image);
                (
                    json!({"waiting": {"reason": "ContainerCreating", "message": message}}),
                    json!({}),
                )
            }
        }
    }

    /// Returns the message of a container in back-off.
    pub(super) fn waiting_message(&self, pod: &str) -> String {
        format!(
            "Back-off {} restarting failed container={} pod={pod}",
            go_duration(self.back_off.current()),
            self.name
        )
    }

    /// Returns the id of the current run, or of the last one.
    pub(super) fn id(&self) -> Option<&str> {
        self.running.as_ref().or(self.last.as_ref()).map(|run| run.id.as_str())
    }
}

/// Formats a duration in whole seconds as Go does: `10s`, `2m40s`, `5m0s`.
fn go_duration(duration: Duration) -> String {
    match (duration.as_secs() / 60, duration.as_secs() % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

pub(super) fn later(from: Timestamp, by: SignedDuration) -> Timestamp {
    from.saturating_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_back_off_of_a_container_that_keeps_ending_doubles() {
        let container = json!({"name": "main", "image": "i"});
        let mut now: Timestamp = "2016-03-01T00:00:00Z".parse().unwrap();
        let mut state = ContainerState::new("main", &container, None, now);
        let mut waits = Vec::new();
        for _ in 0..5 {
            let mut run = Run::new("id".to_owned(), now, Arc::new(container.clone()));
            run.failure = Some((1, "no".to_owned()));
            state.start(run);
            now = later(now, RELIST_PERIOD);
            assert!(state.end(now) && state.failed());
            while let Some(wait) = state.wait(now) {
                waits.push(state.back_off.current().as_secs());
                now = later(now, SignedDuration::try_from(wait).unwrap());
            }
        }
        assert_eq!(waits, [10, 20, 40, 80]);
        assert_eq!(state.restarts, 4);
    }

    #[test]
    fn durations_are_formatted_as_in_go() {
        let printed = [10, 160, 300].map(|seconds| go_duration(Duration::from_secs(seconds)));
        assert_eq!(printed, ["10s", "2m40s", "5m0s"]);
    }
}
