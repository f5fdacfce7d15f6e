//! Trials: a case, played once on a target.
//!
//! Guarantees: a trial has its namespaces for itself and removes what it created, whatever the verdict; every trial
//! ends in bounded time; trials that touch the whole cluster run alone, and only where they may.
//!
//! Source of semantics: the catalog.

mod act;
mod admission;
mod afterwards;
mod beginning;
mod build_request;
mod contract;
mod disturbance;
mod environment;
mod environment_error;
mod expectations;
mod inspect;
mod leftovers;
mod logs;
mod play;
mod race;
mod run;
mod runner;
mod select;
mod socket;
mod state;
mod transcript;
mod verify;
mod watch;

use std::time::Duration;

use crate::catalog::{Case, Level, Profile};
use crate::check::{Mismatch, clipped};
use crate::target::Target;

pub use expectations::{Expectation, Expectations, ExpectationsError};
pub use leftovers::{Leftovers, remove_leftovers};
pub use run::{LABEL, Run};
pub use runner::{Event, Runner};
pub use select::{Partition, Selection};

/// A case to play, under a profile.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Case.
    pub case: Case,
    /// Profile.
    pub profile: Profile,
    /// Number among all trials of the catalog, which the names of its objects contain.
    pub number: usize,
}

/// Why a trial failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// Differences between expected and actual values, or the error that stopped the trial.
    pub mismatches: Vec<Mismatch>,
    /// Requests before the case's own, as curl lines.
    pub steps: Vec<String>,
    /// The case's request, as a curl line.
    pub curl: Option<String>,
    /// Status and media type of the answer.
    pub answered: Option<String>,
    /// The trial could not be played: its set-up failed, or the target did not answer.
    pub broken: bool,
}

impl Failure {
    /// A trial that could not be played.
    pub fn broken(about: &str, reason: impl Into<String>) -> Self {
        let mismatch = Mismatch::new(about, "success", format!("{about} failed: {}", reason.into()));
        Self {
            mismatches: vec![mismatch],
            broken: true,
            ..Self::default()
        }
    }

    /// How binding the failed expectations are: the most binding of them.
    pub fn level(&self) -> Level {
        self.mismatches
            .iter()
            .map(|mismatch| mismatch.level)
            .min()
            .unwrap_or_default()
    }
}

/// Result of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was as expected.
    Passed,
    /// Something was not as expected.
    Failed(Failure),
    /// It failed as the expectations file says, for this reason.
    KnownFailure(String, Failure),
    /// The target does not have the kind, which is named.
    Absent(String),
    /// It does not count yet, for this reason. It was not played.
    Pending(String),
    /// It was not played, for this reason.
    Skipped(String),
}

impl Verdict {
    /// Name in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::KnownFailure(..) => "known-failure",
            Self::Absent(_) => "absent",
            Self::Pending(_) => "pending",
            Self::Skipped(_) => "skipped",
        }
    }

    /// What was not as expected, if it was played.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) | Self::KnownFailure(_, failure) => Some(failure),
            _ => None,
        }
    }

    /// Why it was not played, or why it may fail.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::KnownFailure(reason, _) | Self::Pending(reason) | Self::Skipped(reason) => Some(reason.clone()),
            Self::Absent(kind) => Some(format!("the target does not serve {kind}")),
            _ => None,
        }
    }

    /// The verdict with its texts clipped and without the target's credentials.
    fn without_secrets(mut self, target: &Target) -> Self {
        if let Self::Failed(failure) | Self::KnownFailure(_, failure) = &mut self {
            let mismatches = failure
                .mismatches
                .iter_mut()
                .flat_map(|m| [&mut m.expected, &mut m.actual]);
            let lines = failure
                .steps
                .iter_mut()
                .chain(&mut failure.curl)
                .chain(&mut failure.answered);
            for text in mismatches.chain(lines) {
                *text = clipped(&target.without_secrets(text));
            }
        }
        self
    }
}

/// A trial and its result.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Trial.
    pub trial: Trial,
    /// Result.
    pub verdict: Verdict,
    /// Duration.
    pub took: Duration,
    /// It failed before it passed.
    pub flaky: bool,
}

impl Outcome {
    /// How binding the result is: the case's level, or less if only less binding expectations failed.
    pub fn level(&self) -> Level {
        let case = self.trial.case.level();
        self.verdict.failure().map_or(case, |failure| failure.level().max(case))
    }
}
