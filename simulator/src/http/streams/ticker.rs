//! The simplest true container: it writes a line a second, and what it is told.
//!
//! - Its time is the injected clock's: it writes nothing while a frozen clock stands.
//! - Everybody who is attached sees what all of them have told it, and so does its log.
//! - Limits: [`KEPT`] lines of log, [`CONTAINERS`] containers; it knows the commands `echo`, `cat`, `date`, `true` and `false`.

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
    QUEUE,
    container::{Attachment, Container, Containers, Exit, Line, Output, Process},
};
use crate::clock::Clock;

/// How many lines of a log are kept.
const KEPT: usize = 4096;

/// How many containers are kept; past that, those are forgotten that nobody is attached to.
const CONTAINERS: usize = 4096;

/// How often it is looked whether a second has passed.
const LOOK: Duration = Duration::from_millis(250);

/// The containers that are being looked at.
pub(crate) struct Tickers {
    clock: Clock,
    known: Mutex<HashMap<String, Arc<Ticker>>>,
}

impl Tickers {
    /// No containers, on this clock.
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            known: Mutex::default(),
        }
    }

    /// The container `name` of the pod with this `uid`, which runs since `started`.
    fn container(&self, uid: &str, name: &str, started: Timestamp) -> Arc<Ticker> {
        let mut known = self.known.lock();
        if known.len() >= CONTAINERS {
            known.retain(|_, ticker| Arc::strong_count(ticker) > 1);
        }
        Arc::clone(
            known
                .entry(format!("{uid}/{name}"))
                .or_insert_with(|| Arc::new(Ticker::new(self.clock.clone(), started))),
        )
    }
}

impl Containers for Tickers {
    /// Those of pods that are bound and Running run since the pod was started.
    fn running(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn Container>> {
        let text = |part: &str, field: &str| pod.get(part)?.get(field)?.as_str();
        if text("status", "phase") != Some("Running") || text("spec", "nodeName").is_none_or(str::is_empty) {
            return None;
        }
        let started = text("status", "startTime")
            .or_else(|| text("metadata", "creationTimestamp"))?
            .parse()
            .ok()?;
        Some(Arc::new(self.container(text("metadata", "uid")?, name, started)))
    }
}

/// A container.
struct Ticker {
    clock: Clock,
    started: Timestamp,
    written: Mutex<Written>,
    live: broadcast::Sender<Line>,
}

#[derive(Default)]
struct Written {
    ticks: i64,
    lines: VecDeque<Line>,
}

impl Ticker {
    fn new(clock: Clock, started: Timestamp) -> Self {
        Self {
            clock,
            started,
            written: Mutex::default(),
            live: broadcast::channel(1024).0,
        }
    }

    /// Writes the lines of the seconds that have passed.
    fn tick(&self) {
        let passed = self.clock.now().duration_since(self.started).as_secs();
        let mut written = self.written.lock();
        // Lines that would be dropped at once are not written.
        written.ticks = written
            .ticks
            .max(passed.saturating_sub(i64::try_from(KEPT).unwrap_or(i64::MAX)));
        while written.ticks < passed {
            written.ticks += 1;
            let at =
                Timestamp::from_second(self.started.as_second().saturating_add(written.ticks)).unwrap_or(self.started);
            let text = format!("tick {}\n", written.ticks).into();
            self.write(
                &mut written,
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
        self.write(&mut self.written.lock(), line);
    }

    fn write(&self, written: &mut Written, line: Line) {
        if written.lines.len() >= KEPT {
            written.lines.pop_front();
        }
        written.lines.push_back(line.clone());
        // Where nobody is attached, nobody hears it.
        let _ = self.live.send(line);
    }
}

/// The ends of a process that are the container's.
struct Inside {
    stdin: mpsc::Receiver<Bytes>,
    stdout: mpsc::Sender<Bytes>,
    exit: oneshot::Sender<Exit>,
}

/// A process, and the container's ends of it; it has nothing to say on standard error.
fn process() -> (Process, Inside) {
    let ((stdin, input), (out, stdout), (_, stderr), (resize, _)) = (
        mpsc::channel(QUEUE),
        mpsc::channel(QUEUE),
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
        Inside {
            stdin: input,
            stdout: out,
            exit: ended,
        },
    )
}

impl Container for Arc<Ticker> {
    fn attach(&self, _: Attachment) -> Result<Process, String> {
        let (
            process,
            Inside {
                mut stdin,
                stdout,
                exit,
            },
        ) = process();
        self.tick();
        let (ticker, mut live) = (Arc::clone(self), self.live.subscribe());
        tokio::spawn(async move {
            // It never ends by itself; when this task is over, so is the client.
            let _exit = exit;
            let mut look = tokio::time::interval(LOOK);
            let mut told = true;
            loop {
                tokio::select! {
                    piece = stdin.recv(), if told => match piece {
                        Some(piece) => ticker.echo(piece),
                        None => told = false,
                    },
                    line = live.recv() => match line {
                        Ok(line) => if stdout.send(line.text).await.is_err() { return },
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => return,
                    },
                    _ = look.tick() => ticker.tick(),
                    () = stdout.closed() => return,
                }
            }
        });
        Ok(process)
    }

    fn exec(&self, command: &[String], attachment: Attachment) -> Result<Process, String> {
        let name = command.first().map(String::as_str).unwrap_or_default();
        let (says, code) = match name.rsplit('/').next().unwrap_or_default() {
            "echo" => (format!("{}\n", command.get(1..).unwrap_or_default().join(" ")), 0),
            "date" => (format!("{}\n", self.clock.stamp()), 0),
            "cat" | "true" => (String::new(), 0),
            "false" => (String::new(), 1),
            _ => return Err(format!("exec: {name:?}: executable file not found in $PATH")),
        };
        let reads = attachment.stdin && name.ends_with("cat");
        let (
            process,
            Inside {
                mut stdin,
                stdout,
                exit,
            },
        ) = process();
        tokio::spawn(async move {
            // A client that is gone hears nothing more.
            if !says.is_empty() {
                let _ = stdout.send(says.into()).await;
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
        let ticker = Arc::downgrade(self);
        let live = {
            let written = self.written.lock();
            (written.lines.iter().cloned().collect(), self.live.subscribe())
        };
        // As long as somebody listens, the seconds are told.
        tokio::spawn(async move {
            let mut look = tokio::time::interval(LOOK);
            while let Some(ticker) = ticker.upgrade().filter(|ticker| ticker.live.receiver_count() > 0) {
                ticker.tick();
                look.tick().await;
            }
        });
        live
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const START: &str = "2016-03-17T00:00:00Z";

    fn ticker() -> (Clock, Arc<Ticker>) {
        let clock: Clock = format!("frozen:{START}").parse().unwrap();
        let ticker = Tickers::new(clock.clone()).container("u", "main", START.parse().unwrap());
        (clock, ticker)
    }

    #[tokio::test]
    async fn it_writes_a_line_a_second_by_its_clock_and_echoes_what_it_is_told() {
        let (clock, ticker) = ticker();
        clock.step(Duration::from_secs(2));
        let mut process = ticker.attach(Attachment::default()).unwrap();
        clock.step(Duration::from_secs(1));
        assert_eq!(process.stdout.recv().await.unwrap(), "tick 3\n");
        process.stdin.send(Bytes::from_static(b"hello\n")).await.unwrap();
        assert_eq!(process.stdout.recv().await.unwrap(), "hello\n");
        let (lines, _) = ticker.log();
        let text: Vec<&[u8]> = lines.iter().map(|line| line.text.as_ref()).collect();
        assert_eq!(text, [&b"tick 1\n"[..], b"tick 2\n", b"tick 3\n", b"hello\n"]);
        assert_eq!(lines[1].at.to_string(), "2016-03-17T00:00:02Z");
    }

    #[tokio::test]
    async fn a_log_that_is_followed_goes_on() {
        let (clock, ticker) = ticker();
        let (past, mut live) = ticker.log();
        assert_eq!(past, []);
        clock.step(Duration::from_secs(1));
        assert_eq!(live.recv().await.unwrap().text, "tick 1\n");
    }

    #[tokio::test]
    async fn a_long_log_keeps_its_end() {
        let (clock, ticker) = ticker();
        clock.step(Duration::from_secs(1_000_000));
        let (lines, _) = ticker.log();
        assert_eq!(
            (lines.len(), lines.last().unwrap().text.as_ref()),
            (KEPT, &b"tick 1000000\n"[..])
        );
    }

    #[test]
    fn it_runs_in_pods_that_are_bound_and_running() {
        let pod = |phase: &str, node: &str| {
            let pod = json!({"metadata": {"uid": "u", "creationTimestamp": START}, "spec": {"nodeName": node}, "status": {"phase": phase}});
            pod.as_object().unwrap().clone()
        };
        let tickers = Tickers::new(Clock::real());
        assert!(tickers.running(&pod("Running", "n"), "main").is_some());
        assert!(tickers.running(&pod("Running", ""), "main").is_none());
        assert!(tickers.running(&pod("Pending", "n"), "main").is_none());
    }

    #[tokio::test]
    async fn it_knows_a_few_commands() {
        let (_, ticker) = ticker();
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut process = ticker.exec(&words("/bin/echo a b"), Attachment::default()).unwrap();
        assert_eq!(
            (process.stdout.recv().await.unwrap(), process.exit.await.unwrap()),
            (Bytes::from_static(b"a b\n"), Exit::Code(0))
        );
        assert_eq!(
            ticker
                .exec(&words("false"), Attachment::default())
                .unwrap()
                .exit
                .await
                .unwrap(),
            Exit::Code(1)
        );
        assert_eq!(
            ticker.exec(&words("vi"), Attachment::default()).unwrap_err(),
            "exec: \"vi\": executable file not found in $PATH"
        );
        let mut process = ticker
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
