//! The containers of a pod as a kubelet runs them.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    api::{Object, meta},
    clock::stamp,
    cluster::container::Program,
};

/// How often a kubelet looks whether containers have ended.
pub(super) const RELIST: SignedDuration = SignedDuration::from_secs(1);
/// First back-off of a container that keeps ending.
const FIRST_BACK_OFF: Duration = Duration::from_secs(10);
/// Longest back-off.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);

/// One run of a container.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) started: Timestamp,
    /// When it ends by itself, and with which code.
    pub(super) exit: Option<(Timestamp, i32)>,
}

impl Run {
    /// When the kubelet sees that it has ended: at its first look after that.
    pub(super) fn noticed(&self) -> Option<Timestamp> {
        let (end, _) = self.exit?;
        let looks = end.duration_since(self.started).as_secs_f64().ceil().max(1.0);
        Some(later(self.started, RELIST.mul_f64(looks)))
    }

    /// The state of a run that has ended.
    fn terminated(&self) -> Value {
        let (end, code) = self.exit.unwrap_or((self.started, 0));
        json!({"terminated": {
            "exitCode": code,
            "reason": if code == 0 { "Completed" } else { "Error" },
            "startedAt": stamp(self.started),
            "finishedAt": stamp(end),
            "containerID": self.id,
        }})
    }
}

/// A container of a pod.
#[derive(Clone, Debug)]
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
    back_off: Option<(Duration, Timestamp)>,
    /// Whether it is not restarted for now.
    pub(super) waits: bool,
}

/// A pod as its kubelet runs it.
#[derive(Clone, Debug)]
pub(super) struct PodState {
    pub(super) uid: String,
    pub(super) node: String,
    pub(super) address: Option<String>,
    pub(super) started: Timestamp,
    pub(super) containers: Vec<ContainerState>,
}

impl PodState {
    /// The state of a pod that is new to its kubelet. One whose status says that its containers run goes on running.
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
            back_off: None,
            waits: false,
        };
        if let Some(status) = status {
            state.restarts = status["restartCount"].as_u64().unwrap_or_default();
            if let Some(running) = status["state"].get("running") {
                let started = field(running, "startedAt").parse().unwrap_or(now);
                state.start(container, field(status, "containerID"), started);
            }
        }
        state
    }

    /// Starts a run.
    pub(super) fn start(&mut self, container: &Value, id: String, now: Timestamp) {
        if self.last.is_some() {
            self.restarts += 1;
        }
        let exit = Program::of(container).exit.map(|(time, code)| {
            (
                later(now, SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)),
                code,
            )
        });
        self.waits = false;
        self.before = self.last.take();
        self.running = Some(Run { id, started: now, exit });
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
            .and_then(|run| run.exit)
            .is_some_and(|(_, code)| code != 0)
    }

    /// How long the container has to wait before it is restarted; `None` if it may be restarted now, which counts.
    pub(super) fn back_off(&mut self, now: Timestamp) -> Option<Duration> {
        let (ended, _) = self.last.as_ref()?.exit?;
        let since = Duration::try_from(now.duration_since(ended)).unwrap_or_default();
        let next = match self.back_off {
            Some((wait, _)) if since < wait => return Some(wait.saturating_sub(since)),
            Some((_, last)) if ended.duration_since(last).unsigned_abs() > 2 * LONGEST_BACK_OFF => FIRST_BACK_OFF,
            Some((wait, _)) => (2 * wait).min(LONGEST_BACK_OFF),
            None => FIRST_BACK_OFF,
        };
        self.back_off = Some((next, now));
        None
    }

    /// The back-off that holds now.
    pub(super) fn waiting_time(&self) -> Duration {
        self.back_off.map_or(FIRST_BACK_OFF, |(wait, _)| wait)
    }

    /// The state, and the last state, as the container's status shows them; `pod` is the name that messages give it.
    pub(super) fn states(&self, pod: &str) -> (Value, Value) {
        let terminated = |run: &Option<Run>| run.as_ref().map_or_else(|| json!({}), Run::terminated);
        match (&self.running, &self.last) {
            (Some(run), _) => (
                json!({"running": {"startedAt": stamp(run.started)}}),
                terminated(&self.before),
            ),
            (None, Some(_)) if self.waits => {
                let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": self.waiting_message(pod)}});
                (waiting, terminated(&self.last))
            }
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
            go_duration(self.waiting_time()),
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
        let container = json!({"name": "main", "image": "i", "command": ["false"]});
        let mut now: Timestamp = "2016-03-01T00:00:00Z".parse().unwrap();
        let mut state = ContainerState::new("main", &container, None, now);
        let mut waits = Vec::new();
        for _ in 0..5 {
            state.start(&container, "id".to_owned(), now);
            now = later(now, RELIST);
            assert!(state.end(now) && state.failed());
            while let Some(wait) = state.back_off(now) {
                waits.push(state.waiting_time().as_secs());
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
