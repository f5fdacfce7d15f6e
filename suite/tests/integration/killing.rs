//! A server with a data directory that is killed (SIGKILL) while clients write.

use std::{
    future::Future,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;
use tokio::sync::Notify;

use crate::server::{PROGRAM, Server};

/// Returns the number of kills: that of `STUNTDOUBLE_KILLS`, or `default`.
pub(crate) fn kills(default: u64) -> u64 {
    std::env::var("STUNTDOUBLE_KILLS").map_or(default, |kills| kills.parse().unwrap())
}

/// A server command and its data directory.
pub(crate) struct Killed {
    arguments: &'static [&'static str],
    directory: TempDir,
}

impl Killed {
    /// Creates a command with `arguments` before `--data-dir`.
    pub(crate) fn new(arguments: &'static [&'static str]) -> Self {
        let directory = TempDir::new().unwrap();
        Self { arguments, directory }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(self.arguments)
            .args(["--listen", "127.0.0.1:0", "--data-dir"]);
        command.arg(self.directory.path());
        command
    }

    /// Starts the server and kills it after `after`, whether it is ready or not.
    pub(crate) async fn kill_at_start(&self, after: Duration) {
        let mut process = self.command().stdout(Stdio::null()).spawn().unwrap();
        tokio::time::sleep(after).await;
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Starts the server.
    pub(crate) fn start(&self) -> Server {
        Server::of(&mut self.command())
    }
}

/// Counter of acknowledged writes, and the number that is enough.
pub(crate) struct Progress {
    count: AtomicU64,
    enough: u64,
    reached: Notify,
}

impl Progress {
    /// Counts an acknowledged write.
    pub(crate) fn add(&self) {
        if self.count.fetch_add(1, Ordering::Relaxed) + 1 >= self.enough {
            self.reached.notify_one();
        }
    }
}

/// Runs the writers, each with its number, until `enough` writes are acknowledged, and kills the server. Returns the
/// writers and the number of acknowledged writes.
pub(crate) async fn write_until_killed<W, F>(
    mut server: Server,
    enough: u64,
    writers: Vec<W>,
    run: impl Fn(u64, W, Arc<Progress>) -> F,
) -> (Vec<W>, u64)
where
    W: Send + 'static,
    F: Future<Output = W> + Send + 'static,
{
    let progress = Arc::new(Progress {
        count: AtomicU64::new(0),
        enough,
        reached: Notify::new(),
    });
    let tasks: Vec<_> = (0..)
        .zip(writers)
        .map(|(number, writer)| tokio::spawn(run(number, writer, progress.clone())))
        .collect();
    progress.reached.notified().await;
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(task.await.unwrap());
    }
    (ended, progress.count.load(Ordering::Relaxed))
}
