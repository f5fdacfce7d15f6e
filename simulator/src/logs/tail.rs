//! The logs of the containers of one node, and how far each has been read.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;

use super::{buffer::Buffer, record::Origin};
use crate::{
    api::{Object, meta},
    client::ObjectKey,
    cluster::container::{Containers, Line, LogPages, Output},
};

/// How many lines of a log are read at a time.
const PAGE: usize = 1000;

/// A log that is read.
struct Tail {
    log: Arc<dyn LogPages>,
    origin: Origin,
    /// Position of the next line.
    position: u64,
    /// Whether its pod is gone; then what is left is read, and that is all.
    gone: bool,
}

/// The logs of one node.
#[derive(Default)]
pub(super) struct Tails {
    /// By pod, its UID, and container.
    by_container: BTreeMap<(ObjectKey, String, String), Tail>,
    lost: u64,
}

impl Tails {
    /// Takes over what became of a pod of the node.
    pub(super) fn follow(&mut self, old: Option<&Object>, new: Option<&Object>, containers: &dyn Containers) {
        let Some(pod) = new.or(old) else { return };
        let (key, uid) = (ObjectKey::of(pod), meta::text(pod, "metadata.uid"));
        let specs = meta::lookup(pod, "spec.containers").and_then(Value::as_array);
        for name in specs.into_iter().flatten().filter_map(|spec| spec["name"].as_str()) {
            let place = (key.clone(), uid.to_owned(), name.to_owned());
            if new.is_none() {
                if let Some(tail) = self.by_container.get_mut(&place) {
                    tail.gone = true;
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
                gone: false,
            });
        }
    }

    /// Reads what is new into the buffer, until that is full. `own` is the origin of what the collector itself has to report.
    pub(super) fn read(&mut self, buffer: &mut Buffer, own: &Origin, now: Timestamp) {
        let mut reports = Vec::new();
        for tail in self.by_container.values_mut() {
            loop {
                if buffer.is_full() {
                    break;
                }
                let page = tail.log.page(tail.position, PAGE);
                if page.first > tail.position {
                    let lost = page.first - tail.position;
                    reports.push((lost, tail.origin.tag.clone()));
                }
                tail.position = page.first;
                if page.lines.is_empty() {
                    break;
                }
                for line in &page.lines {
                    buffer.push(tail.origin.entry(tail.position, line));
                    tail.position += 1;
                }
            }
        }
        for (lost, tag) in reports {
            let text = format!("{lost} lines of {tag} are lost: its log was cut before they were read\n");
            let line = Line {
                at: now,
                output: Output::Stderr,
                text: text.into(),
            };
            buffer.push(own.entry(self.lost, &line));
            self.lost += 1;
        }
        if !buffer.is_full() {
            self.by_container.retain(|_, tail| !tail.gone);
        }
    }
}
