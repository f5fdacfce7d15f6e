//! Trials: a case of the catalog, tried on a target.
//!
//! Promises: a trial owns its environment (namespaces and names of its own, with a prefix of the run), and removes it whatever
//! came out; every trial ends in bounded time; trials that touch the whole cluster run alone, and only where they may.
//!
//! Limits: what a target does after the trial has looked is not seen.
//!
//! Source of its semantics: the catalog.

mod build_request;
mod expectations;
mod logs;
mod play;
mod runner;
mod select;
mod socket;
mod transcript;
mod verify;
mod watch;
mod environment;

use std::time::Duration;

use crate::catalog::{Profile, Case};
use crate::check::Mismatch;

pub use expectations::{Expectations, ExpectationsError};
pub use runner::{Event, Runner};
pub use select::{Partition, Selection};

/// A case to be tried, under a profile.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The case.
    pub case: Case,
    /// By which rule it is judged.
    pub profile: Profile,
    /// Its number among all trials of the catalog, of which the names in its environment are made.
    pub number: usize,
}

/// Why a trial failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// What was not as expected, or what kept the trial from being played.
    pub mismatches: Vec<Mismatch>,
    /// The request that it is about, as a curl line.
    pub curl: Option<String>,
    /// What came of it, in one line.
    pub answered: Option<String>,
}

impl Failure {
    /// A trial that could not be played.
    pub fn broken(about: &str, reason: impl Into<String>) -> Self {
        Self {
            mismatches: vec![Mismatch::new(about, "no trouble", reason)],
            curl: None,
            answered: None,
        }
    }
}

/// What came out of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was as expected.
    Passed,
    /// Something was not.
    Failed(Failure),
    /// Something was not, and the expectations send_message so: they give the reason.
    KnownFailure(String, Failure),
    /// It does not count yet, for this reason. It was not tried.
    Pending(String),
    /// It was not tried, for this reason.
    Skipped(String),
}

impl Verdict {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::KnownFailure(..) => "known-failure",
            Self::Pending(_) => "pending",
            Self::Skipped(_) => "skipped",
        }
    }

    /// What was not as expected, if it was tried.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) | Self::KnownFailure(_, failure) => Some(failure),
            _ => None,
        }
    }

    /// Why it was not tried, or why it may fail.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::KnownFailure(reason, _) | Self::Pending(reason) | Self::Skipped(reason) => Some(reason),
            _ => None,
        }
    }
}

/// A trial and what came out of it.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The trial.
    pub trial: Trial,
    /// What came out.
    pub verdict: Verdict,
    /// How long it took.
    pub took: Duration,
}
