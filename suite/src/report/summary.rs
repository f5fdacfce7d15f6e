//! Counts and verdicts of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indexmap::IndexMap;

use crate::catalog::Level;
use crate::trial::{Event, Failure, Outcome, Verdict};

/// Result of the trials of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Operation {
    passed: bool,
    pending: bool,
}

/// Counts of trials.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    /// All trials.
    pub trials: usize,
    /// Passed.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
    /// Failed, as the expectations file says.
    pub known: usize,
    /// Not played: the target does not serve the kind.
    pub absent: usize,
    /// Pending.
    pub pending: usize,
    /// Skipped.
    pub skipped: usize,
    /// Passed after a failure.
    pub flaky: usize,
    operations: BTreeMap<String, Operation>,
}

impl Count {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.trials += 1;
        self.flaky += usize::from(outcome.flaky);
        match outcome.verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::KnownFailure(..) => self.known += 1,
            Verdict::Absent(_) => self.absent += 1,
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

    /// Number of operations.
    pub fn operations(&self) -> usize {
        self.operations.len()
    }

    /// Number of operations of which every trial passed.
    pub fn operations_passed(&self) -> usize {
        self.operations.values().filter(|operation| operation.passed).count()
    }

    /// Number of operations of which a trial is pending.
    pub fn operations_pending(&self) -> usize {
        self.operations.values().filter(|operation| operation.pending).count()
    }

    /// The operations in words.
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
}

/// How many of the trials of a group that were played have passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    /// Passed.
    pub passed: usize,
    /// Passed or failed.
    pub played: usize,
    /// Not played: the target does not serve the kind.
    pub absent: usize,
}

impl Score {
    /// Passed trials in percent of those that were played, rounded down; none if none was played.
    pub fn percent(self) -> Option<usize> {
        (self.passed * 100).checked_div(self.played)
    }
}

/// Scores by level in words, such as `must 100 %, should 97 %`.
pub(super) fn scores_in_words(levels: &BTreeMap<Level, Score>) -> String {
    let word = |(level, score): (&Level, &Score)| {
        let absent = match score.absent {
            0 => String::new(),
            absent => format!(" ({absent} absent)"),
        };
        match score.percent() {
            Some(percent) => format!("{} {percent} %{absent}", level.as_str()),
            None => format!("{} not played{absent}", level.as_str()),
        }
    };
    levels.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Whether a target conforms at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conformance {
    /// Every trial of the level was played and passed.
    Conforms,
    /// A trial of the level failed, or its kind is absent.
    DoesNotConform,
    /// No trial of the level failed, but some were not played.
    Incomplete,
}

impl Conformance {
    /// Name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conforms => "conforms",
            Self::DoesNotConform => "does not conform",
            Self::Incomplete => "incomplete",
        }
    }
}

/// A run, as far as its events have come.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Target.
    pub target: String,
    /// Name of the profile.
    pub profile: String,
    /// Name of the run.
    pub run: String,
    /// Number of trials of the run.
    pub expected: usize,
    /// Duration.
    pub took: Duration,
    /// The run was interrupted.
    pub interrupted: bool,
    /// Paths of what could not be removed.
    pub left: Vec<String>,
    /// Entries of the expectations file that are of no use, and why.
    pub stale: Vec<String>,
    /// Outcomes by the number of the trial.
    pub outcomes: BTreeMap<usize, Outcome>,
}

impl Summary {
    /// Takes an event in.
    pub fn handle(&mut self, event: &Event) {
        match event {
            Event::Started {
                target,
                profile,
                trials,
                run,
            } => {
                *self = Self {
                    target: target.clone(),
                    profile: profile.to_string(),
                    run: run.clone(),
                    expected: *trials,
                    ..Self::default()
                };
            }
            Event::Ended(outcome) => {
                self.outcomes.insert(outcome.trial.number, outcome.as_ref().clone());
            }
            Event::Finished {
                took,
                interrupted,
                left,
                stale,
            } => {
                self.took = *took;
                self.interrupted = *interrupted;
                self.left.clone_from(left);
                self.stale.clone_from(stale);
            }
        }
    }

    /// Counts of all trials.
    pub fn total(&self) -> Count {
        self.count(|_| true)
    }

    pub(super) fn count(&self, of: impl Fn(&Outcome) -> bool) -> Count {
        let mut count = Count::default();
        self.outcomes
            .values()
            .filter(|outcome| of(outcome))
            .for_each(|outcome| count.add(outcome));
        count
    }

    /// Counts by level. A trial of which only less binding expectations failed counts at their level.
    pub fn by_level(&self) -> Vec<(Level, Count)> {
        let of = |level| (level, self.count(|outcome| outcome.level() == level));
        Level::ALL.into_iter().map(of).collect()
    }

    /// Counts by group and the kind's name in paths, in the order of the catalog.
    pub fn by_kind(&self) -> IndexMap<String, IndexMap<String, Count>> {
        let mut groups: IndexMap<String, IndexMap<String, Count>> = IndexMap::new();
        for outcome in self.outcomes.values() {
            let kinds = groups.entry(outcome.trial.case.kind.group.clone()).or_default();
            kinds.entry(kind_of(outcome).to_owned()).or_default().add(outcome);
        }
        groups
    }

    /// Scores by group and level, in the order of the catalog. A kind that is absent lowers no score.
    pub fn scores(&self) -> IndexMap<String, BTreeMap<Level, Score>> {
        let mut groups: IndexMap<String, BTreeMap<Level, Score>> = IndexMap::new();
        for outcome in self.outcomes.values() {
            let levels = groups.entry(outcome.trial.case.kind.group.clone()).or_default();
            let score = levels.entry(outcome.level()).or_default();
            match outcome.verdict {
                Verdict::Passed => score.passed += 1,
                Verdict::Absent(_) => score.absent += 1,
                _ => {}
            }
            score.played += usize::from(matches!(
                outcome.verdict,
                Verdict::Passed | Verdict::Failed(_) | Verdict::KnownFailure(..)
            ));
        }
        groups
    }

    /// Counts by statement.
    pub fn by_statement(&self) -> BTreeMap<String, Count> {
        let mut statements: BTreeMap<String, Count> = BTreeMap::new();
        for outcome in self.outcomes.values() {
            for statement in &outcome.trial.case.statements {
                statements.entry(statement.id.clone()).or_default().add(outcome);
            }
        }
        statements
    }

    /// Counts by documented operation.
    pub fn by_operation(&self) -> BTreeMap<String, Count> {
        let mut operations: BTreeMap<String, Count> = BTreeMap::new();
        for outcome in self.outcomes.values() {
            let operation = &outcome.trial.case.operation;
            if operation.documented {
                operations.entry(operation.request()).or_default().add(outcome);
            }
        }
        operations
    }

    /// Outcomes that failed unexpectedly.
    pub fn failures(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes
            .values()
            .filter(|outcome| matches!(outcome.verdict, Verdict::Failed(_)))
    }

    /// Outcomes that failed unexpectedly, by their cause, the most binding and most frequent first: an outcome of
    /// each, its failure, and the others.
    pub fn causes(&self) -> Vec<(&Outcome, &Failure, Vec<&Outcome>)> {
        let mut causes: IndexMap<String, Vec<&Outcome>> = IndexMap::new();
        for outcome in self.failures() {
            causes.entry(cause(outcome)).or_default().push(outcome);
        }
        let mut groups = Vec::new();
        for mut others in causes.into_values() {
            let first = others.remove(0);
            groups.extend(first.verdict.failure().map(|failure| (first, failure, others)));
        }
        groups.sort_by_key(|(first, _, others)| (first.level(), std::cmp::Reverse(others.len())));
        groups
    }

    /// Ids of the trials that were not played or may fail, by verdict and reason.
    pub fn set_aside(&self) -> BTreeMap<(&'static str, String), BTreeSet<String>> {
        let mut aside: BTreeMap<(&'static str, String), BTreeSet<String>> = BTreeMap::new();
        for outcome in self.outcomes.values() {
            if let Some(reason) = outcome.verdict.reason() {
                let ids = aside.entry((outcome.verdict.as_str(), reason)).or_default();
                ids.insert(outcome.trial.case.id.clone());
            }
        }
        aside
    }

    /// Whether the target conforms at a level, as far as the trials of this run say.
    pub fn conformance(&self, level: Level) -> Conformance {
        let of_level = || self.outcomes.values().filter(|outcome| outcome.level() <= level);
        if of_level().any(|outcome| matches!(outcome.verdict, Verdict::Failed(_) | Verdict::Absent(_))) {
            return Conformance::DoesNotConform;
        }
        let unplayed = of_level().any(|outcome| matches!(outcome.verdict, Verdict::Skipped(_) | Verdict::Pending(_)));
        if unplayed || self.interrupted || self.outcomes.len() < self.expected {
            Conformance::Incomplete
        } else {
            Conformance::Conforms
        }
    }

    /// Whether no trial failed unexpectedly, no kind is absent, and the run was not interrupted.
    pub fn succeeded(&self) -> bool {
        let absent = |outcome: &Outcome| matches!(outcome.verdict, Verdict::Absent(_));
        !self.interrupted && self.failures().next().is_none() && !self.outcomes.values().any(absent)
    }

    /// Whether a `must` trial was not played, so that the verdict is incomplete whatever passed.
    pub fn lacks_a_must(&self) -> bool {
        let unplayed = |outcome: &&Outcome| matches!(outcome.verdict, Verdict::Skipped(_) | Verdict::Pending(_));
        self.outcomes
            .values()
            .filter(unplayed)
            .any(|outcome| outcome.trial.case.level() == Level::Must)
    }
}

/// Name of an outcome's kind in reports.
pub(super) fn kind_of(outcome: &Outcome) -> &str {
    let kind = &outcome.trial.case.kind;
    if kind.plural.is_empty() {
        &kind.name
    } else {
        &kind.plural
    }
}

/// What failed, without the names of one trial. Where a mismatch means the same in every case, as that of a media type
/// does, its cases have one cause.
fn cause(outcome: &Outcome) -> String {
    let Some(mismatch) = outcome.verdict.failure().and_then(|failure| failure.mismatches.first()) else {
        return outcome.trial.case.data.id.clone();
    };
    let plain = |text: &str| {
        let line = text.lines().next().unwrap_or_default();
        line.split("sd-").next().unwrap_or_default().to_owned()
    };
    let (about, expected, actual) = (
        plain(&mismatch.about),
        plain(&mismatch.expected),
        plain(&mismatch.actual),
    );
    let succeeds = |text: &str| text.starts_with('2');
    let general = match about.as_str() {
        "status" => succeeds(&expected) && succeeds(&actual),
        "content type" | "layout" | "type" | "sub-protocol" | "reason" => true,
        about => about.starts_with("header ") || about.starts_with('/'),
    };
    if general {
        format!("{about}: {expected}, {actual}")
    } else {
        format!("{} {about}: {actual}", outcome.trial.case.data.id)
    }
}
