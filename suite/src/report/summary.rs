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
    /// Number of all trials.
    pub trials: usize,
    /// Number that passed.
    pub passed: usize,
    /// Number that failed.
    pub failed: usize,
    /// Number that failed as the expectations file says.
    pub known: usize,
    /// Number not run because the target does not serve the kind.
    pub absent: usize,
    /// Number pending.
    pub pending: usize,
    /// Number skipped.
    pub skipped: usize,
    /// Number that passed on a retry.
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

    /// Number of operations all of whose trials passed.
    pub fn operations_passed(&self) -> usize {
        self.operations.values().filter(|operation| operation.passed).count()
    }

    /// Number of operations with a pending trial.
    pub fn operations_pending(&self) -> usize {
        self.operations.values().filter(|operation| operation.pending).count()
    }

    /// Formats the counts of operations.
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

/// Score of a group: passed trials of those that were run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    /// Number that passed.
    pub passed: usize,
    /// Number that passed or failed.
    pub ran: usize,
    /// Number not run because the target does not serve the kind.
    pub absent: usize,
}

impl Score {
    /// Passed trials in percent of those that were run, rounded down; `None` if none was run.
    pub fn percent(self) -> Option<usize> {
        (self.passed * 100).checked_div(self.ran)
    }
}

/// Formats scores by level, such as `must 100 %, should 97 %`.
pub(super) fn scores_in_words(levels: &BTreeMap<Level, Score>) -> String {
    let word = |(level, score): (&Level, &Score)| {
        let absent = match score.absent {
            0 => String::new(),
            absent => format!(" ({absent} absent)"),
        };
        match score.percent() {
            Some(percent) => format!("{} {percent} %{absent}", level.as_str()),
            None => format!("{} not run{absent}", level.as_str()),
        }
    };
    levels.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Verdict on a target at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conformance {
    /// Every trial of the level was run and passed.
    Conforms,
    /// A trial of the level failed, or its kind is absent.
    DoesNotConform,
    /// No trial of the level failed, but some were not run.
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

/// Summary of a run, from the events so far.
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
    /// Whether the run was interrupted.
    pub interrupted: bool,
    /// Paths of objects that could not be removed.
    pub left: Vec<String>,
    /// Stale entries of the expectations file, with the reason.
    pub stale: Vec<String>,
    /// Outcomes by the number of the trial.
    pub outcomes: BTreeMap<usize, Outcome>,
}

impl Summary {
    /// Handles an event of the run.
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

    /// Counts by level. A failed trial counts at the level of its most binding failed expectation.
    pub fn by_level(&self) -> Vec<(Level, Count)> {
        let of = |level| (level, self.count(|outcome| outcome.level() == level));
        Level::ALL.into_iter().map(of).collect()
    }

    /// Counts by group and plural of the kind, in the order of the catalog.
    pub fn by_kind(&self) -> IndexMap<String, IndexMap<String, Count>> {
        let mut groups: IndexMap<String, IndexMap<String, Count>> = IndexMap::new();
        for outcome in self.outcomes.values() {
            let kinds = groups.entry(outcome.trial.case.kind.group.clone()).or_default();
            kinds.entry(kind_of(outcome).to_owned()).or_default().add(outcome);
        }
        groups
    }

    /// Scores by group and level, in the order of the catalog. An absent kind does not lower a score.
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
            score.ran += usize::from(matches!(
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

    /// Outcomes of unexpected failures.
    pub fn failures(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes
            .values()
            .filter(|outcome| matches!(outcome.verdict, Verdict::Failed(_)))
    }

    /// Unexpected failures by cause, the most binding and most frequent first. Each cause has one outcome, its failure,
    /// and the other outcomes.
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

    /// Ids of the trials that were not run or may fail, by verdict and reason.
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

    /// Returns whether the target conforms at a level, judged by the trials of this run only.
    pub fn conformance(&self, level: Level) -> Conformance {
        let of_level = || self.outcomes.values().filter(|outcome| outcome.level() <= level);
        if of_level().any(|outcome| matches!(outcome.verdict, Verdict::Failed(_) | Verdict::Absent(_))) {
            return Conformance::DoesNotConform;
        }
        let was_not_run =
            of_level().any(|outcome| matches!(outcome.verdict, Verdict::Skipped(_) | Verdict::Pending(_)));
        if was_not_run || self.interrupted || self.outcomes.len() < self.expected {
            Conformance::Incomplete
        } else {
            Conformance::Conforms
        }
    }

    /// Formats [`Self::conformance`], with the lower level that causes it: a level includes those below it.
    pub(super) fn conformance_in_words(&self, level: Level) -> String {
        let verdict = self.conformance(level);
        let is_cause = |lower: &Level| *lower < level && self.conformance(*lower) == verdict;
        match (verdict, Level::ALL.into_iter().find(is_cause)) {
            (Conformance::DoesNotConform, Some(lower)) => {
                format!("{}, since {} does not", verdict.as_str(), lower.as_str())
            }
            (Conformance::Incomplete, Some(lower)) => format!("{}, since {} is", verdict.as_str(), lower.as_str()),
            _ => verdict.as_str().to_owned(),
        }
    }

    /// Whether no trial failed unexpectedly, no kind is absent, and the run was not interrupted.
    pub fn succeeded(&self) -> bool {
        let absent = |outcome: &Outcome| matches!(outcome.verdict, Verdict::Absent(_));
        !self.interrupted && self.failures().next().is_none() && !self.outcomes.values().any(absent)
    }

    /// Whether a `must` trial was not run, which makes the verdict incomplete.
    pub fn lacks_a_must(&self) -> bool {
        let was_not_run = |outcome: &&Outcome| matches!(outcome.verdict, Verdict::Skipped(_) | Verdict::Pending(_));
        self.outcomes
            .values()
            .filter(was_not_run)
            .any(|outcome| outcome.trial.case.level() == Level::Must)
    }
}

/// Returns the name of the kind of an outcome for reports.
pub(super) fn kind_of(outcome: &Outcome) -> &str {
    let kind = &outcome.trial.case.kind;
    if kind.plural.is_empty() {
        &kind.name
    } else {
        &kind.plural
    }
}

/// Returns a key for the cause of a failure, without the object names of the trial. A mismatch that means the same in
/// every case, such as one of a media type, gives the same key in all of them.
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
