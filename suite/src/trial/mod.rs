//! Trials: one run of a case against a target.
//!
//! Guarantees: a trial has exclusive use of its namespaces and removes what it created, whatever the verdict. Every
//! trial ends in bounded time. Trials that affect the whole cluster run alone, and only where they are allowed.
//!
//! Source of semantics: the catalog.

mod act;
mod admission;
mod afterwards;
mod attempt;
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

/// A case to run, under a profile.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Case.
    pub case: Case,
    /// Profile.
    pub profile: Profile,
    /// Number of the trial among all trials of the catalog; part of its object names.
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
    /// Status and media type of the response.
    pub answered: Option<String>,
    /// The trial could not be run: its set-up failed, or the target did not respond.
    pub broken: bool,
}

impl Failure {
    /// Returns the failure of a trial that could not be run.
    pub fn broken(about: &str, reason: impl Into<String>) -> Self {
        let mismatch = Mismatch::new(about, "success", format!("{about} failed: {}", reason.into()));
        Self {
            mismatches: vec![mismatch],
            broken: true,
            ..Self::default()
        }
    }

    /// Returns the most binding level of the failed expectations.
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
    /// All checks passed.
    Passed,
    /// A check failed.
    Failed(Failure),
    /// The trial failed, and the expectations file lists it as a known failure, with this reason.
    KnownFailure(String, Failure),
    /// The target does not serve this kind.
    Absent(String),
    /// The case is pending, for this reason. It was not run.
    Pending(String),
    /// The trial was not run, for this reason.
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

    /// Returns the failure, if the trial ran and failed.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) | Self::KnownFailure(_, failure) => Some(failure),
            _ => None,
        }
    }

    /// Returns why the trial was not run, or why it may fail.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::KnownFailure(reason, _) | Self::Pending(reason) | Self::Skipped(reason) => Some(reason.clone()),
            Self::Absent(kind) => Some(format!("the target does not serve {kind}")),
            _ => None,
        }
    }

    /// Returns the verdict with its texts clipped and the target's credentials removed.
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
    /// The trial failed at least once before it passed.
    pub flaky: bool,
}

impl Outcome {
    /// Returns the level of the result: the case's level, or a less binding one if only less binding expectations
    /// failed.
    pub fn level(&self) -> Level {
        let case = self.trial.case.level();
        self.verdict.failure().map_or(case, |failure| failure.level().max(case))
    }
}
