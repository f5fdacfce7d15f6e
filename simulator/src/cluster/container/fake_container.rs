//! A fake container that logs one line per second and echoes its stdin.
//!
//! - It runs on the cluster's clock: a frozen clock that is not stepped writes no lines.
//! - Input from one client goes to the log and to every attached client.
//! - Limits: [`MAX_LOG_LINES`] log lines, [`MAX_CONTAINERS`] containers; the commands are `echo`, `cat`, `date`,
//!   `true` and `false`.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::{
    broadcast::{self, error::RecvError},
    mpsc, oneshot,
};

use super::{
    STREAM_CAPACITY,
    process::{Attachment, Container, Exit, Line, LogPage, LogPages, Output, Process},
};
use crate::clock::Clock;

/// Maximum number of lines of a log.
const MAX_LOG_LINES: usize = 4096;

/// Maximum number of containers; beyond it, containers without a client are dropped.
const MAX_CONTAINERS: usize = 4096;

/// Interval at which a followed log is extended.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The fake containers that have been used so far.
pub(super) struct FakeContainers {
    clock: Clock,
    known: Mutex<HashMap<String, Arc<FakeContainer>>>,
}

impl FakeContainers {
    /// Creates an empty set of containers on this clock.
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            known: Mutex::default(),
        }
    }

    /// Returns the container `name` of the pod `uid`, which has run since `started`.
    fn container(&self, uid: &str, name: &str, started: Timestamp) -> Arc<FakeContainer> {
        let mut known = self.known.lock();
        if known.len() >= MAX_CONTAINERS {
            known.retain(|_, container| Arc::strong_count(container) > 1);
        }
        Arc::clone(
            known
                .entry(format!("{uid}/{name}"))
                .or_insert_with(|| Arc::new(FakeContainer::new(self.clock.clone(), started))),
        )
    }
}

impl FakeContainers {
    /// Returns the container of a pod that is bound and Running. It has run since the start time of the pod.
    fn of_pod(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<FakeContainer>> {
        let text = |part: &str, field: &str| pod.get(part)?.get(field)?.as_str();
        if text("status", "phase") != Some("Running") || text("spec", "nodeName").is_none_or(str::is_empty) {
            return None;
        }
        let started = text("status", "startTime")
            .or_else(|| text("metadata", "creationTimestamp"))?
            .parse()
            .ok()?;
        Some(self.container(text("metadata", "uid")?, name, started))
    }

    pub(super) fn running(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn Container>> {
        Some(Arc::new(self.of_pod(pod, name)?))
    }

    pub(super) fn pages(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn LogPages>> {
        Some(self.of_pod(pod, name)?)
    }
}

/// A running fake container.
struct FakeContainer {
    clock: Clock,
    started: Timestamp,
    log: Mutex<LogState>,
    live: broadcast::Sender<Line>,
}

#[derive(Default)]
struct LogState {
    ticks: i64,
    lines: VecDeque<Line>,
    /// Number of lines dropped before `lines`.
    dropped: u64,
}

impl FakeContainer {
    fn new(clock: Clock, started: Timestamp) -> Self {
        Self {
            clock,
            started,
            log: Mutex::default(),
            live: broadcast::channel(1024).0,
        }
    }

    /// Writes the lines of the seconds that have passed.
    fn tick(&self) {
        let passed = self.clock.now().duration_since(self.started).as_secs();
        let mut log = self.log.lock();
        // Lines that would be dropped at once are not written.
        let first = passed.saturating_sub(i64::try_from(MAX_LOG_LINES).unwrap_or(i64::MAX));
        if first > log.ticks {
            log.dropped += first.abs_diff(log.ticks) + log.lines.len() as u64;
            log.lines.clear();
            log.ticks = first;
        }
        while log.ticks < passed {
            log.ticks += 1;
            let at = Timestamp::from_second(self.started.as_second().saturating_add(log.ticks)).unwrap_or(self.started);
            let text = format!("tick {}\n", log.ticks).into();
            self.write(
                &mut log,
                Line {
                    at,
                    output: Output::Stdout,
                    text,
                },
            );
        }
    }

    fn echo(&self, text: Bytes) {
        self.tick();
        let line = Line {
            at: self.clock.now(),
            output: Output::Stdout,
            text,
        };
        self.write(&mut self.log.lock(), line);
    }

    fn write(&self, log: &mut LogState, line: Line) {
        if log.lines.len() >= MAX_LOG_LINES {
            log.lines.pop_front();
            log.dropped += 1;
        }
        log.lines.push_back(line.clone());
        // Without a client there is no receiver.
        let _ = self.live.send(line);
    }
}

/// The container's ends of a process's streams.
struct ContainerEnd {
    stdin: mpsc::Receiver<Bytes>,
    stdout: mpsc::Sender<Bytes>,
    exit: oneshot::Sender<Exit>,
}

/// Creates a process without standard error, and the container's ends of its streams.
fn process() -> (Process, ContainerEnd) {
    let ((stdin, input), (out, stdout), (_, stderr), (resize, _)) = (
        mpsc::channel(STREAM_CAPACITY),
        mpsc::channel(STREAM_CAPACITY),
        mpsc::channel(1),
        mpsc::channel(1),
    );
    let (ended, exit) = oneshot::channel();
    (
        Process {
            stdin,
            stdout,
            stderr,
            resize,
            exit,
        },
        ContainerEnd {
            stdin: input,
            stdout: out,
            exit: ended,
        },
    )
}

impl Container for Arc<FakeContainer> {
    fn attach(&self, _: Attachment) -> Result<Process, String> {
        let (
            process,
            ContainerEnd {
                mut stdin,
                stdout,
                exit,
            },
        ) = process();
        self.tick();
        let (container, mut live) = (Arc::clone(self), self.live.subscribe());
        tokio::spawn(async move {
            // The process never ends by itself; this task ends with the client.
            let _exit = exit;
            let mut poll = tokio::time::interval(POLL_INTERVAL);
            let mut reads_stdin = true;
            loop {
                tokio::select! {
                    piece = stdin.recv(), if reads_stdin => match piece {
                        Some(piece) => container.echo(piece),
                        None => reads_stdin = false,
                    },
                    line = live.recv() => match line {
                        Ok(line) => if stdout.send(line.text).await.is_err() { return },
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => return,
                    },
                    _ = poll.tick() => container.tick(),
                    () = stdout.closed() => return,
                }
            }
        });
        Ok(process)
    }

    fn exec(&self, command: &[String], attachment: Attachment) -> Result<Process, String> {
        let name = command.first().map(String::as_str).unwrap_or_default();
        let (output, code) = match name.rsplit('/').next().unwrap_or_default() {
            "echo" => (format!("{}\n", command.get(1..).unwrap_or_default().join(" ")), 0),
            "date" => (format!("{}\n", self.clock.stamp()), 0),
            "cat" | "true" => (String::new(), 0),
            "false" => (String::new(), 1),
            _ => return Err(format!("exec: {name:?}: executable file not found in $PATH")),
        };
        let reads = attachment.stdin && name.ends_with("cat");
        let (
            process,
            ContainerEnd {
                mut stdin,
                stdout,
                exit,
            },
        ) = process();
        tokio::spawn(async move {
            // A send fails if the client is gone.
            if !output.is_empty() {
                let _ = stdout.send(output.into()).await;
            }
            while reads && let Some(piece) = stdin.recv().await {
                let _ = stdout.send(piece).await;
            }
            let _ = exit.send(Exit::Code(code));
        });
        Ok(process)
    }

    fn log(&self) -> (Vec<Line>, broadcast::Receiver<Line>) {
        self.tick();
        let container = Arc::downgrade(self);
        let live = {
            let log = self.log.lock();
            (log.lines.iter().cloned().collect(), self.live.subscribe())
        };
        // A followed log is extended at each interval.
        tokio::spawn(async move {
            let mut poll = tokio::time::interval(POLL_INTERVAL);
            while let Some(container) = container
                .upgrade()
                .filter(|container| container.live.receiver_count() > 0)
            {
                container.tick();
                poll.tick().await;
            }
        });
        live
    }
}

impl LogPages for FakeContainer {
    fn page(&self, position: u64, limit: usize) -> LogPage {
        self.tick();
        let log = self.log.lock();
        let first = position.max(log.dropped);
        let skipped = usize::try_from(first - log.dropped).unwrap_or(usize::MAX);
        LogPage {
            first,
            lines: log.lines.iter().skip(skipped).take(limit).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const START: &str = "2016-03-17T00:00:00Z";

    fn container() -> (Clock, Arc<FakeContainer>) {
        let clock: Clock = format!("frozen:{START}").parse().unwrap();
        let container = FakeContainers::new(clock.clone()).container("u", "main", START.parse().unwrap());
        (clock, container)
    }

    #[tokio::test]
    async fn it_writes_one_line_per_second_and_echoes_its_stdin() {
        let (clock, container) = container();
        clock.step(Duration::from_secs(2));
        let mut process = container.attach(Attachment::default()).unwrap();
        clock.step(Duration::from_secs(1));
        assert_eq!(process.stdout.recv().await.unwrap(), "tick 3\n");
        process.stdin.send(Bytes::from_static(b"hello\n")).await.unwrap();
        assert_eq!(process.stdout.recv().await.unwrap(), "hello\n");
        let (lines, _) = container.log();
        let text: Vec<&[u8]> = lines.iter().map(|line| line.text.as_ref()).collect();
        assert_eq!(text, [&b"tick 1\n"[..], b"tick 2\n", b"tick 3\n", b"hello\n"]);
        assert_eq!(lines[1].at.to_string(), "2016-03-17T00:00:02Z");
    }

    #[tokio::test]
    async fn a_followed_log_delivers_new_lines() {
        let (clock, container) = container();
        let (past, mut live) = container.log();
        assert_eq!(past, []);
        clock.step(Duration::from_secs(1));
        assert_eq!(live.recv().await.unwrap().text, "tick 1\n");
    }

    #[tokio::test]
    async fn a_long_log_keeps_its_newest_lines() {
        let (clock, container) = container();
        clock.step(Duration::from_secs(1_000_000));
        let (lines, _) = container.log();
        assert_eq!(
            (lines.len(), lines.last().unwrap().text.as_ref()),
            (MAX_LOG_LINES, &b"tick 1000000\n"[..])
        );
        let page = container.page(5, 2);
        assert_eq!((page.first, page.lines.len()), (1_000_000 - MAX_LOG_LINES as u64, 2));
        assert_eq!(page.lines[0].text, format!("tick {}\n", page.first + 1));
        assert_eq!(container.page(2_000_000, 1).lines, []);
    }

    #[test]
    fn it_runs_only_in_bound_and_running_pods() {
        let pod = |phase: &str, node: &str| {
            let pod = json!({"metadata": {"uid": "u", "creationTimestamp": START}, "spec": {"nodeName": node},
                "status": {"phase": phase}});
            pod.as_object().unwrap().clone()
        };
        let containers = FakeContainers::new(Clock::real());
        assert!(containers.running(&pod("Running", "n"), "main").is_some());
        assert!(containers.running(&pod("Running", ""), "main").is_none());
        assert!(containers.running(&pod("Pending", "n"), "main").is_none());
    }

    #[tokio::test]
    async fn it_runs_a_few_commands() {
        let (_, container) = container();
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut process = container.exec(&words("/bin/echo a b"), Attachment::default()).unwrap();
        assert_eq!(
            (process.stdout.recv().await.unwrap(), process.exit.await.unwrap()),
            (Bytes::from_static(b"a b\n"), Exit::Code(0))
        );
        assert_eq!(
            container
                .exec(&words("false"), Attachment::default())
                .unwrap()
                .exit
                .await
                .unwrap(),
            Exit::Code(1)
        );
        assert_eq!(
            container.exec(&words("vi"), Attachment::default()).unwrap_err(),
            "exec: \"vi\": executable file not found in $PATH"
        );
        let mut process = container
            .exec(
                &words("cat"),
                Attachment {
                    stdin: true,
                    ..Attachment::default()
                },
            )
            .unwrap();
        process.stdin.send(Bytes::from_static(b"x")).await.unwrap();
        drop(process.stdin);
        assert_eq!(
            (process.stdout.recv().await.unwrap(), process.exit.await.unwrap()),
            (Bytes::from_static(b"x"), Exit::Code(0))
        );
    }
}
