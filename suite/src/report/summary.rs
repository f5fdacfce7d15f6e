//! What a run comes to: counts by group and kind, and in all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indexmap::IndexMap;

use crate::trial::{Event, Outcome, Verdict};

/// What came of the trials of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Operation {
    passed: bool,
    pending: bool,
}

/// How many trials came to what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    /// All.
    pub trials: usize,
    /// Passed.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
    /// Failed, and known to.
    pub known: usize,
    /// Pending.
    pub pending: usize,
    /// Skipped.
    pub skipped: usize,
    operations: BTreeMap<String, Operation>,
}

impl Count {
    fn add(&mut self, outcome: &Outcome) {
        self.trials += 1;
        match outcome.verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::KnownFailure(..) => self.known += 1,
            Verdict::Pending(_) => self.pending += 1,
            Verdict::Skipped(_) => self.skipped += 1,
        }
        if !outcome.trial.case.operation.documented {
            return;
        }
        let operation = self
            .operations
            .entry(outcome.trial.case.operation.request())
            .or_insert(Operation {
                passed: true,
                pending: false,
            });
        operation.passed &= outcome.verdict == Verdict::Passed;
        operation.pending |= matches!(outcome.verdict, Verdict::Pending(_));
    }

    /// How many operations there are.
    pub fn operations(&self) -> usize {
        self.operations.len()
    }

    /// How many operations there are of which every trial passed.
    pub fn operations_passed(&self) -> usize {
        self.operations.values().filter(|operation| operation.passed).count()
    }

    /// How many operations pass and how many are pending, in words.
    pub fn in_operations(&self) -> String {
        let pending = match self.operations_pending() {
            0 => String::new(),
            pending => format!(", {pending} pending"),
        };
        format!(
            "{} of {} operations pass{pending}",
            self.operations_passed(),
            self.operations()
        )
    }

    /// How many operations there are of which a trial is pending.
    pub fn operations_pending(&self) -> usize {
        self.operations.values().filter(|operation| operation.pending).count()
    }
}

/// A run, as far as it was received of.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// What is judged.
    pub target: String,
    /// The name of the profile.
    pub profile: String,
    /// How many trials the run has.
    pub expected: usize,
    /// How long the run took.
    pub took: Duration,
    /// Whether the run was interrupted.
    pub interrupted: bool,
    /// What came out, by the number of the trial.
    pub outcomes: BTreeMap<usize, Outcome>,
}

impl Summary {
    /// Hears of an event.
    pub fn receive(&mut self, event: &Event) {
        match event {
            Event::Started {
                target,
                profile,
                trials,
            } => {
                *self = Self {
                    target: target.clone(),
                    profile: profile.to_string(),
                    expected: *trials,
                    ..Self::default()
                };
            }
            Event::Ended(outcome) => {
                self.outcomes.insert(outcome.trial.number, outcome.as_ref().clone());
            }
            Event::Finished { took, interrupted } => {
                self.took = *took;
                self.interrupted = *interrupted;
            }
        }
    }

    /// In all.
    pub fn total(&self) -> Count {
        let mut count = Count::default();
        self.outcomes.values().for_each(|outcome| count.add(outcome));
        count
    }

    /// By group and, in it, by the path name of the kind; in the order of the catalog.
    pub fn by_kind(&self) -> IndexMap<String, IndexMap<String, Count>> {
        let mut groups: IndexMap<String, IndexMap<String, Count>> = IndexMap::new();
        for outcome in self.outcomes.values() {
            let kind = &outcome.trial.case.kind;
            groups
                .entry(kind.group.clone())
                .or_default()
                .entry(if kind.plural.is_empty() {
                    kind.name.clone()
                } else {
                    kind.plural.clone()
                })
                .or_default()
                .add(outcome);
        }
        groups
    }

    /// The outcomes that failed and are not known to.
    pub fn failures(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes
            .values()
            .filter(|outcome| matches!(outcome.verdict, Verdict::Failed(_)))
    }

    /// The ids of the trials that were not played or may fail, by verdict and reason.
    pub fn set_aside(&self) -> BTreeMap<(&'static str, String), BTreeSet<String>> {
        let mut aside: BTreeMap<(&'static str, String), BTreeSet<String>> = BTreeMap::new();
        for outcome in self.outcomes.values() {
            if let Some(reason) = outcome.verdict.reason() {
                aside
                    .entry((outcome.verdict.as_str(), reason.to_owned()))
                    .or_default()
                    .insert(outcome.trial.case.id.clone());
            }
        }
        aside
    }

    /// Whether nothing failed, and all that was meant was played.
    pub fn conforms(&self) -> bool {
        !self.interrupted && self.failures().next().is_none()
    }
}
