//! What is known of the objects of a trial: what the server returned about them, and what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::catalog::{Level, Precondition};
use crate::check::{Mismatch, WrittenObjects, is_later, number};

/// An object of the environment.
#[derive(Debug, Clone)]
pub(super) struct TestObject {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) precondition: Precondition,
    /// What the server returned to each write of it.
    pub(super) versions: Vec<Value>,
}

/// What is known of a trial's objects.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) objects: BTreeMap<String, TestObject>,
    pub(super) written: WrittenObjects,
    /// Paths of further objects that the trial created.
    pub(super) generated: Vec<String>,
    /// Values of earlier responses.
    pub(super) saved: BTreeMap<String, String>,
    /// Latest resource version of all writes, and the objects by uid.
    pub(super) latest: String,
    pub(super) uids: BTreeMap<String, String>,
    /// What is wrong with the versions and uids that the server assigned.
    pub(super) violations: Vec<Mismatch>,
    /// The set-up requests, as curl lines.
    pub(super) steps: Vec<String>,
    /// Versions of which a write of the trial may not be the cause.
    pub(super) doubtful: BTreeSet<String>,
    /// Whether controllers of the target acted on a new object before the trial went on.
    pub(super) settled: bool,
}

impl State {
    /// Remembers a version, if it is the latest.
    pub(super) fn reached(&mut self, version: &str) {
        if self.latest.is_empty() || is_later(version, &self.latest) {
            self.latest = version.to_owned();
        }
    }

    /// Checks the version and the uid that the server assigned in a write: versions increase, and uids are unique.
    pub(super) fn assigned(&mut self, name: &str, version: &str, last: &str, uid: &str) {
        if number(version).is_some() && version != last && !self.latest.is_empty() && !is_later(version, &self.latest) {
            let about = format!("version of a write to {name}");
            let expected = format!("a version later than {}, that of an earlier write", self.latest);
            self.violations
                .push(Mismatch::new(about, expected, version).at(Level::Should));
        }
        self.reached(version);
        match self.uids.get(uid) {
            Some(other) if other != name => {
                let expected = format!("another uid than that of {other}");
                self.violations
                    .push(Mismatch::new(format!("uid of {name}"), expected, uid).at(Level::Should));
            }
            _ => {
                self.uids.insert(uid.to_owned(), name.to_owned());
            }
        }
    }
}
