//! The logs of the containers of one node, with the position reached in each.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;

use super::{buffer::Buffer, record::Origin};
use crate::{
    api::{Object, meta},
    client::ObjectKey,
    cluster::container::{Containers, Line, LogPages, Output},
};

/// Number of lines of a log read at a time.
const PAGE_LINES: usize = 1000;

/// A log that is being read.
struct Tail {
    log: Arc<dyn LogPages>,
    origin: Origin,
    /// Position of the next line.
    position: u64,
    /// Whether its pod is deleted; the tail is removed when the rest of the log has been read.
    is_deleted: bool,
}

impl Tail {
    /// Reads a page into the buffer. Returns whether there may be more.
    fn read(&mut self, buffer: &mut Buffer, losses: &mut Vec<LostLines>) -> bool {
        let page = self.log.page(self.position, PAGE_LINES);
        if page.first > self.position {
            losses.push(LostLines {
                tag: self.origin.tag.clone(),
                lines: page.first - self.position,
            });
        }
        self.position = page.first;
        for line in &page.lines {
            buffer.push(self.origin.entry(self.position, line));
            self.position += 1;
        }
        page.lines.len() == PAGE_LINES
    }
}

/// A number of lines that were dropped from a log before they were read.
struct LostLines {
    tag: String,
    lines: u64,
}

impl LostLines {
    /// Returns the log line that reports it.
    fn line(&self, at: Timestamp) -> Line {
        let Self { tag, lines } = self;
        Line {
            at,
            output: Output::Stderr,
            text: format!("{lines} lines of {tag} are lost: they were dropped from its log before they were read\n")
                .into(),
        }
    }
}

/// The logs of one node.
#[derive(Default)]
pub(super) struct Tails {
    /// By key and UID of the pod, and name of the container.
    by_container: BTreeMap<(ObjectKey, String, String), Tail>,
    /// Index of the log that is read first next time.
    first: usize,
    /// Number of reports of lost lines so far.
    reported: u64,
}

impl Tails {
    /// Adds or removes the logs of a pod of the node after a change.
    pub(super) fn follow(&mut self, old: Option<&Object>, new: Option<&Object>, containers: &dyn Containers) {
        let Some(pod) = new.or(old) else { return };
        let (key, uid) = (ObjectKey::of(pod), meta::text(pod, "metadata.uid"));
        let specs = meta::lookup(pod, "spec.containers").and_then(Value::as_array);
        for name in specs.into_iter().flatten().filter_map(|spec| spec["name"].as_str()) {
            let place = (key.clone(), uid.to_owned(), name.to_owned());
            if new.is_none() {
                if let Some(tail) = self.by_container.get_mut(&place) {
                    tail.is_deleted = true;
                }
                continue;
            }
            let Some(log) = containers.pages(pod, name) else {
                continue;
            };
            let origin = Origin::new(&key.name, &key.namespace, name, &format!("{uid}/{name}"));
            self.by_container.entry(place).or_insert(Tail {
                log,
                origin,
                position: 0,
                is_deleted: false,
            });
        }
    }

    /// Reads new lines into the buffer, one page of each log in turn, until the buffer is full. The next call
    /// continues with the next log. `own` is the origin of the collector's own reports.
    pub(super) fn read(&mut self, buffer: &mut Buffer, own: &Origin, now: Timestamp) {
        let mut losses = Vec::new();
        let mut tails: Vec<(usize, &mut Tail)> = self.by_container.values_mut().enumerate().collect();
        let first = self.first.min(tails.len());
        tails.rotate_left(first);
        while !tails.is_empty() && !buffer.is_full() {
            tails.retain_mut(|(place, tail)| {
                if buffer.is_full() {
                    return true;
                }
                self.first = *place + 1;
                tail.read(buffer, &mut losses)
            });
        }
        for lost in losses {
            buffer.push(own.entry(self.reported, &lost.line(now)));
            self.reported += 1;
        }
        if !buffer.is_full() {
            self.by_container.retain(|_, tail| !tail.is_deleted);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::cluster::container::LogPage;

    /// A log that keeps a range of lines.
    struct Log {
        kept_from: AtomicU64,
        written: AtomicU64,
    }

    impl LogPages for Log {
        fn page(&self, position: u64, limit: usize) -> LogPage {
            let first = position.max(self.kept_from.load(Ordering::Relaxed));
            let end = self.written.load(Ordering::Relaxed).min(first + limit as u64);
            let line = |number: u64| Line {
                at: Timestamp::UNIX_EPOCH,
                output: Output::Stdout,
                text: format!("line {number}\n").into(),
            };
            LogPage {
                first,
                lines: (first..end).map(line).collect(),
            }
        }
    }

    /// Creates tails of logs with `written` lines each.
    fn tails(names: &[&str], written: u64) -> (Tails, Vec<Arc<Log>>) {
        let mut tails = Tails::default();
        let mut logs = Vec::new();
        for name in names {
            let log = Arc::new(Log {
                kept_from: AtomicU64::new(0),
                written: AtomicU64::new(written),
            });
            logs.push(log.clone());
            let tail = Tail {
                log,
                origin: Origin::new("web", "default", name, name),
                position: 0,
                is_deleted: false,
            };
            let place = (ObjectKey::new("default", "web"), "uid".to_owned(), (*name).to_owned());
            tails.by_container.insert(place, tail);
        }
        (tails, logs)
    }

    fn own() -> Origin {
        Origin::new("fluentd", "kube-system", "fluentd", "fluentd")
    }

    /// Removes all entries from a buffer and returns their texts.
    fn drain(buffer: &mut Buffer) -> Vec<String> {
        let (body, count) = buffer.batch(usize::MAX);
        buffer.remove(count);
        let records = std::str::from_utf8(&body).unwrap().lines().skip(1).step_by(2);
        let texts = records.map(|record| serde_json::from_str::<Value>(record).unwrap()["log"].clone());
        texts.map(|text| text.as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn lines_dropped_before_they_were_read_are_reported_once() {
        let (mut tails, logs) = tails(&["main"], 3);
        let mut buffer = Buffer::new(1 << 20);
        tails.read(&mut buffer, &own(), Timestamp::UNIX_EPOCH);
        assert_eq!(drain(&mut buffer), ["line 0\n", "line 1\n", "line 2\n"]);
        logs[0].written.store(9, Ordering::Relaxed);
        logs[0].kept_from.store(7, Ordering::Relaxed);
        tails.read(&mut buffer, &own(), Timestamp::UNIX_EPOCH);
        let report =
            "4 lines of kubernetes.web_default_main are lost: they were dropped from its log before they were read\n";
        assert_eq!(drain(&mut buffer), ["line 7\n", "line 8\n", report]);
        tails.read(&mut buffer, &own(), Timestamp::UNIX_EPOCH);
        assert!(buffer.is_empty());
    }

    #[test]
    fn every_log_is_read_in_turn_when_the_buffer_is_always_full() {
        let (mut tails, _logs) = tails(&["a", "b", "c"], 2 * PAGE_LINES as u64);
        let mut found = BTreeMap::new();
        for _ in 0..6 {
            let mut buffer = Buffer::new(1);
            tails.read(&mut buffer, &own(), Timestamp::UNIX_EPOCH);
            for text in drain(&mut buffer) {
                *found.entry(text).or_insert(0) += 1;
            }
        }
        assert_eq!(found.len(), 2 * PAGE_LINES);
        assert!(found.values().all(|count| *count == 3), "each line of each log is read");
    }

    #[test]
    fn the_rest_of_a_deleted_log_is_read_before_it_is_removed() {
        let (mut tails, _logs) = tails(&["main"], PAGE_LINES as u64 + 1);
        tails.by_container.values_mut().for_each(|tail| tail.is_deleted = true);
        let mut full = Buffer::new(1);
        tails.read(&mut full, &own(), Timestamp::UNIX_EPOCH);
        assert_eq!((drain(&mut full).len(), tails.by_container.len()), (PAGE_LINES, 1));
        let mut buffer = Buffer::new(1 << 20);
        tails.read(&mut buffer, &own(), Timestamp::UNIX_EPOCH);
        assert_eq!((drain(&mut buffer).len(), tails.by_container.len()), (1, 0));
    }
}
