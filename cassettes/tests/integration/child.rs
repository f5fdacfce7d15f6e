//! A recorder in a child process: the same test program, which runs another of its tests.

use std::path::Path;
use std::process::Stdio;
use stuntdouble_cassettes::{Recorder, RecorderOptions};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

const UPSTREAM: &str = "STUNTDOUBLE_TEST_UPSTREAM";
const FILE: &str = "STUNTDOUBLE_TEST_FILE";

/// The recorder of the child process, which prints its URL. None in any other process.
pub(crate) async fn recorder() -> Option<Recorder> {
    let (upstream, file) = std::env::var(UPSTREAM).ok().zip(std::env::var(FILE).ok())?;
    let recorder = Recorder::start(RecorderOptions::new(upstream), Path::new(&file))
        .await
        .expect("a recorder");
    println!("\nready {}", recorder.url());
    Some(recorder)
}

/// The child process. Dropping it kills it.
pub(crate) struct RecorderProcess {
    pub(crate) process: Child,
    /// URL of the recorder.
    pub(crate) url: String,
    output: Lines<BufReader<ChildStdout>>,
}

impl RecorderProcess {
    /// Starts `command`, which runs the recording test, and waits until it records.
    pub(crate) async fn start(command: &mut Command, upstream: &str, file: &Path) -> Self {
        let mut process = command
            .env(UPSTREAM, upstream)
            .env(FILE, file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("a child");
        let output = BufReader::new(process.stdout.take().expect("its output")).lines();
        let mut child = Self {
            process,
            url: String::new(),
            output,
        };
        child.url = child.line("ready ").await;
        child
    }

    /// The rest of the next line of the output that starts with `mark`.
    pub(crate) async fn line(&mut self, mark: &str) -> String {
        while let Some(line) = self.output.next_line().await.expect("a line") {
            if let Some(rest) = line.strip_prefix(mark) {
                return rest.to_owned();
            }
        }
        panic!("no line begins with {mark:?}");
    }
}
