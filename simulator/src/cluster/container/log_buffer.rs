//! The log of a container.
//!
//! Beyond [`MAX_LOG_BYTES`] the oldest lines are dropped. Readers pass a position, so that a log collector can count
//! the lines
//! that were dropped before it read them.

use std::{collections::VecDeque, sync::Arc};

use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::broadcast;

use super::process::{Line, LogPage, LogPages, Output};

/// Maximum size of a log in bytes; the oldest lines are dropped.
const MAX_LOG_BYTES: usize = 1 << 20;

/// Maximum length of a line in bytes; a longer one is split, as docker splits it.
const MAX_LINE_BYTES: usize = 16 << 10;

/// Maximum number of lines or pieces that a reader may lag behind.
const CHANNEL_CAPACITY: usize = 1024;

/// Size of a line in bytes without its text.
const LINE_OVERHEAD: usize = 64;

/// The log of one run of a container, bounded in bytes.
#[derive(Default)]
pub(super) struct LogBuffer(Mutex<State>);

#[derive(Default)]
struct State {
    lines: VecDeque<Line>,
    /// Number of lines dropped before `lines`.
    dropped: u64,
    size: usize,
    partial: [BytesMut; 2],
    live: Option<broadcast::Sender<Line>>,
    pieces: Option<broadcast::Sender<(Output, Bytes)>>,
    closed: bool,
}

impl LogBuffer {
    /// Appends a piece of output.
    pub(super) fn write(&self, at: Timestamp, output: Output, piece: &Bytes) {
        let mut state = self.0.lock();
        if let Some(pieces) = &state.pieces {
            // Without a client there is no receiver.
            let _ = pieces.send((output, piece.clone()));
        }
        let mut lines = Vec::new();
        let partial = &mut state.partial[usize::from(output == Output::Stderr)];
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            partial.extend_from_slice(part);
            while partial.len() >= MAX_LINE_BYTES || partial.ends_with(b"\n") {
                let text = partial.split_to(partial.len().min(MAX_LINE_BYTES)).freeze();
                lines.push(Line { at, output, text });
            }
        }
        lines.into_iter().for_each(|line| state.push(line));
    }

    /// Closes the log. The last line need not end with a line feed.
    pub(super) fn close(&self, at: Timestamp) {
        let mut state = self.0.lock();
        for output in [Output::Stdout, Output::Stderr] {
            let text = std::mem::take(&mut state.partial[usize::from(output == Output::Stderr)]).freeze();
            if !text.is_empty() {
                state.push(Line { at, output, text });
            }
        }
        (state.live, state.pieces, state.closed) = (None, None, true);
    }

    /// Number of lines written so far.
    pub(super) fn written(&self) -> u64 {
        let state = self.0.lock();
        state.dropped + state.lines.len() as u64
    }

    /// Returns at most `limit` lines from `position` on.
    pub(super) fn page(&self, position: u64, limit: usize) -> LogPage {
        let state = self.0.lock();
        let first = position.max(state.dropped);
        let skipped = usize::try_from(first - state.dropped).unwrap_or(usize::MAX);
        LogPage {
            first,
            lines: state.lines.iter().skip(skipped).take(limit).cloned().collect(),
        }
    }

    /// Returns the lines so far, and a receiver of the lines to come.
    pub(super) fn follow(&self) -> (Vec<Line>, broadcast::Receiver<Line>) {
        let mut state = self.0.lock();
        let past = state.lines.iter().cloned().collect();
        if state.closed {
            return (past, broadcast::channel(1).1);
        }
        let live = state.live.get_or_insert_with(|| broadcast::channel(CHANNEL_CAPACITY).0);
        (past, live.subscribe())
    }

    /// Returns a receiver of the pieces of output, as they are written.
    pub(super) fn pieces(&self) -> broadcast::Receiver<(Output, Bytes)> {
        let mut state = self.0.lock();
        if state.closed {
            return broadcast::channel(1).1;
        }
        let pieces = state
            .pieces
            .get_or_insert_with(|| broadcast::channel(CHANNEL_CAPACITY).0);
        pieces.subscribe()
    }
}

impl State {
    fn push(&mut self, line: Line) {
        self.size += line.text.len() + LINE_OVERHEAD;
        if let Some(live) = &self.live {
            let _ = live.send(line.clone());
        }
        self.lines.push_back(line);
        while self.size > MAX_LOG_BYTES
            && let Some(first) = self.lines.pop_front()
        {
            self.size -= first.text.len() + LINE_OVERHEAD;
            self.dropped += 1;
        }
    }
}

/// The logs of the kept runs of a container, each with the number of lines written before it.
#[derive(Default)]
pub(super) struct RunLogs(Mutex<VecDeque<(u64, Arc<LogBuffer>)>>);

/// Number of runs whose logs are kept.
const KEPT_RUNS: usize = 2;

impl RunLogs {
    /// Adds the log of a new run.
    pub(super) fn add(&self, log: Arc<LogBuffer>) {
        let mut runs = self.0.lock();
        let before = runs.back().map_or(0, |(before, log)| before + log.written());
        runs.push_back((before, log));
        if runs.len() > KEPT_RUNS {
            runs.pop_front();
        }
    }
}

impl LogPages for RunLogs {
    fn page(&self, position: u64, limit: usize) -> LogPage {
        let runs = self.0.lock();
        for (at, (before, log)) in runs.iter().enumerate() {
            let page = log.page(position.saturating_sub(*before), limit);
            if !page.lines.is_empty() || at + 1 == runs.len() {
                let first = (before + page.first).max(position);
                return LogPage { first, ..page };
            }
        }
        LogPage {
            first: position,
            lines: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(log: &LogBuffer, text: &'static str) {
        let piece = Bytes::from_static(text.as_bytes());
        log.write(Timestamp::UNIX_EPOCH, Output::Stdout, &piece);
    }

    #[test]
    fn pieces_are_joined_to_lines_and_the_last_line_need_not_end() {
        let log = LogBuffer::default();
        for piece in ["a\nb", "c\n", "end"] {
            write(&log, piece);
        }
        log.close(Timestamp::UNIX_EPOCH);
        let texts: Vec<Bytes> = log.follow().0.into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["a\n", "bc\n", "end"]);
    }

    #[test]
    fn a_long_log_keeps_its_newest_lines() {
        let log = LogBuffer::default();
        for _ in 0..MAX_LOG_BYTES / LINE_OVERHEAD {
            write(&log, "0123456789\n");
        }
        let kept = log.follow().0.len();
        assert_eq!(kept, MAX_LOG_BYTES / (LINE_OVERHEAD + 11));
        let dropped = (MAX_LOG_BYTES / LINE_OVERHEAD - kept) as u64;
        assert_eq!(
            (log.page(0, 1).first, log.page(dropped + 5, 1).first),
            (dropped, dropped + 5)
        );
    }

    #[test]
    fn the_logs_of_two_runs_are_read_in_sequence() {
        let runs = RunLogs::default();
        for texts in [["a\n", "b\n"], ["c\n", "d\n"], ["e\n", "f\n"]] {
            let log = Arc::new(LogBuffer::default());
            runs.add(log.clone());
            texts.iter().for_each(|text| write(&log, text));
        }
        let read = |position| {
            let page = runs.page(position, 10);
            let texts: Vec<Bytes> = page.lines.into_iter().map(|line| line.text).collect();
            (page.first, texts.concat())
        };
        assert_eq!(read(0), (2, b"c\nd\n".to_vec()));
        assert_eq!(read(3), (3, b"d\n".to_vec()));
        assert_eq!(read(4), (4, b"e\nf\n".to_vec()));
        assert_eq!(read(6), (6, Vec::new()));
    }

    #[tokio::test]
    async fn a_reader_receives_new_lines_until_the_end() {
        let log = LogBuffer::default();
        let ((_, mut live), mut pieces) = (log.follow(), log.pieces());
        write(&log, "a");
        write(&log, "b\n");
        assert_eq!(live.recv().await.unwrap().text, "ab\n");
        assert_eq!(pieces.recv().await.unwrap().1, "a");
        log.close(Timestamp::UNIX_EPOCH);
        assert!(live.recv().await.is_err() && log.follow().1.recv().await.is_err());
    }
}
