//! State of the objects of a trial: the responses about them, and the mismatches in their versions and uids.

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
    /// Responses to its writes, in order.
    pub(super) versions: Vec<Value>,
}

/// State of a trial's objects.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) objects: BTreeMap<String, TestObject>,
    pub(super) written: WrittenObjects,
    /// Paths of further objects that the trial created.
    pub(super) generated: Vec<String>,
    /// Saved values of earlier responses.
    pub(super) saved: BTreeMap<String, String>,
    /// Latest resource version of all writes, and the objects by uid.
    pub(super) latest: String,
    pub(super) uids: BTreeMap<String, String>,
    /// Mismatches of the versions and uids that the server assigned.
    pub(super) violations: Vec<Mismatch>,
    /// The set-up requests, as curl lines.
    pub(super) steps: Vec<String>,
    /// Versions that a write of another client may have produced.
    pub(super) doubtful: BTreeSet<String>,
    /// Whether controllers of the target wrote to a new object before the trial continued.
    pub(super) settled: bool,
}

impl State {
    /// Records a version, if it is the latest.
    pub(super) fn reached(&mut self, version: &str) {
        if self.latest.is_empty() || is_later(version, &self.latest) {
            self.latest = version.to_owned();
        }
    }

    /// Checks the version and the uid that the server assigned in a write: versions must increase, and uids must be
    /// unique.
    pub(super) fn assigned(&mut self, name: &str, version: &str, last: &str, uid: &str) {
        if number(version).is_some() && version != last && !self.latest.is_empty() && !is_later(version, &self.latest) {
            let about = format!("version of a write to {name}");
            let expected = format!("a version later than {}, the version of an earlier write", self.latest);
            self.violations
                .push(Mismatch::new(about, expected, version).at(Level::Should));
        }
        self.reached(version);
        match self.uids.get(uid) {
            Some(other) if other != name => {
                let expected = format!("a uid other than that of {other}");
                self.violations
                    .push(Mismatch::new(format!("uid of {name}"), expected, uid).at(Level::Should));
            }
            _ => {
                self.uids.insert(uid.to_owned(), name.to_owned());
            }
        }
    }
}
