//! The containers of a pod as a kubelet runs them.

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

/// How often a kubelet looks whether containers have ended.
pub(super) const RELIST: SignedDuration = SignedDuration::from_secs(1);
/// First back-off of a container that keeps ending.
const FIRST_BACK_OFF: Duration = Duration::from_secs(10);
/// Longest back-off.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);

/// One run of a container.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) started: Timestamp,
    /// What runs; `None` if it could not be started, or has not been taken over yet.
    pub(super) container: Option<Arc<RunningContainer>>,
    /// The end of a run that could not be started: exit code and reason.
    pub(super) failure: Option<(i32, String)>,
    /// The end of a run that was over before this kubelet ran, as the status of its pod has it.
    record: Option<Value>,
    /// What the kubelet says of a start that failed.
    pub(super) start_error: Option<String>,
    /// Whether the kubelet ends it, so that it need not look for the end.
    pub(super) stopping: Arc<AtomicBool>,
    /// Where the container leaves its last words.
    pub(super) message_path: String,
    /// The container as it was when it was started.
    pub(super) spec: Arc<Value>,
}

impl Run {
    /// A run of a container that begins now.
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

    /// The run of which a container's status has the end in `state`, if it has one.
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

    /// When it ended, and with which code; `None` while it goes on.
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

    /// When the kubelet sees that it has ended: at its first look after that.
    pub(super) fn noticed(&self) -> Option<Timestamp> {
        let (end, _) = self.exit()?;
        if self.stopping.load(Ordering::Acquire) {
            return Some(end);
        }
        Some(noticed(self.started, end))
    }

    /// The state of a run that has ended.
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

/// When a kubelet sees that a run has ended.
pub(super) fn noticed(started: Timestamp, end: Timestamp) -> Timestamp {
    let looks = end.duration_since(started).as_secs_f64().ceil().max(1.0);
    later(started, RELIST.mul_f64(looks))
}

/// Why a container is not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// A delay that doubles from attempt to attempt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackOff(Option<(Duration, Timestamp)>);

impl BackOff {
    /// How long the next attempt has to wait, after the last one ended at `last`; `None` if it may be made now, which counts.
    pub(super) fn wait(&mut self, last: Timestamp, now: Timestamp) -> Option<Duration> {
        let since = Duration::try_from(now.duration_since(last)).unwrap_or_default();
        let next = match self.0 {
            Some((wait, _)) if since < wait => return Some(wait.saturating_sub(since)),
            Some((_, before)) if last.duration_since(before).unsigned_abs() > 2 * LONGEST_BACK_OFF => FIRST_BACK_OFF,
            Some((wait, _)) => (2 * wait).min(LONGEST_BACK_OFF),
            None => FIRST_BACK_OFF,
        };
        self.0 = Some((next, now));
        None
    }

    /// The delay that holds now.
    pub(super) fn current(&self) -> Duration {
        self.0.map_or(FIRST_BACK_OFF, |(wait, _)| wait)
    }
}

/// A container of a pod.
#[derive(Clone)]
pub(super) struct ContainerState {
    pub(super) name: String,
    pub(super) image: String,
    /// The run that goes on; `None` before the first, and after the last has ended.
    pub(super) running: Option<Run>,
    /// The last run that has ended.
    pub(super) last: Option<Run>,
    /// The run before that.
    before: Option<Run>,
    pub(super) restarts: u64,
    pub(super) back_off: BackOff,
    /// The back-off of pulling its image, and the last attempt.
    pub(super) pull: (BackOff, Option<Timestamp>),
    /// Why it is not started for now.
    pub(super) waiting: Option<Waiting>,
    /// When its start is tried again, after a failure.
    pub(super) retry: Option<Timestamp>,
}

/// A pod as its kubelet runs it.
#[derive(Clone)]
pub(super) struct PodState {
    pub(super) uid: String,
    pub(super) node: String,
    pub(super) address: Option<String>,
    pub(super) started: Timestamp,
    pub(super) containers: Vec<ContainerState>,
    /// The volumes, once they are mounted.
    pub(super) volumes: Option<Volumes>,
    /// When it is next said that they are not.
    pub(super) next_complaint: Option<Timestamp>,
}

impl PodState {
    /// The state of a pod that is new to its kubelet. Containers that run according to its status go on, and those that have ended have.
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
            next_complaint: None,
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

    /// Takes a run as the one that goes on.
    pub(super) fn start(&mut self, run: Run) {
        if self.last.is_some() {
            self.restarts += 1;
        }
        (self.waiting, self.retry) = (None, None);
        self.before = self.last.take();
        self.running = Some(run);
    }

    /// Whether the run has ended and the kubelet sees it now; then it is the last one.
    pub(super) fn end(&mut self, now: Timestamp) -> bool {
        match self
            .running
            .take_if(|run| run.noticed().is_some_and(|noticed| noticed <= now))
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

    /// How long the container has to wait before it is restarted; `None` if it may be restarted now, which counts.
    pub(super) fn wait(&mut self, now: Timestamp) -> Option<Duration> {
        let (ended, _) = self.last.as_ref()?.exit()?;
        self.back_off.wait(ended, now)
    }

    /// The state, and the last state, as the container's status shows them.
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

    /// What says that the container is not restarted yet.
    pub(super) fn waiting_message(&self, pod: &str) -> String {
        format!(
            "Back-off {} restarting failed container={} pod={pod}",
            go_duration(self.back_off.current()),
            self.name
        )
    }

    /// The id of the run that goes on, or of the last one.
    pub(super) fn id(&self) -> Option<&str> {
        self.running.as_ref().or(self.last.as_ref()).map(|run| run.id.as_str())
    }
}

/// A duration of whole seconds as Go prints it: `10s`, `2m40s`, `5m0s`.
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
    fn a_container_that_keeps_ending_waits_twice_as_long_each_time() {
        let container = json!({"name": "main", "image": "i"});
        let mut now: Timestamp = "2016-03-01T00:00:00Z".parse().unwrap();
        let mut state = ContainerState::new("main", &container, None, now);
        let mut waits = Vec::new();
        for _ in 0..5 {
            let mut run = Run::new("id".to_owned(), now, Arc::new(container.clone()));
            run.failure = Some((1, "no".to_owned()));
            state.start(run);
            now = later(now, RELIST);
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
    fn durations_are_printed_as_go_does() {
        let printed = [10, 160, 300].map(|seconds| go_duration(Duration::from_secs(seconds)));
        assert_eq!(printed, ["10s", "2m40s", "5m0s"]);
    }
}
