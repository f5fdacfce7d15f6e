//! Runs the suite against a server that it did not start.

use std::sync::Arc;

use stuntdouble_suite::{
    catalog::{Catalog, Profile},
    report::{Style, Summary, explain},
    target::{Credentials, Target},
    trial::{Outcome, Runner, Selection},
};

/// Runs the selected trials, `jobs` at a time. Cluster-wide trials are skipped.
pub(crate) async fn run(url: &str, name: &str, profile: Profile, selection: &Selection, jobs: usize) -> Summary {
    let target = Target::at(url, &Credentials::default()).unwrap();
    let runner = Runner {
        jobs,
        ..Runner::new(Arc::new(target), name)
    };
    let trials = selection.of(&Catalog::embedded().unwrap(), profile);
    assert!(!trials.is_empty(), "{selection:?}");
    let mut summary = Summary::default();
    runner.run(trials, profile, |event| summary.handle(&event)).await;
    summary
}

/// Formats the failures of a run.
pub(crate) fn failures(summary: &Summary) -> Vec<String> {
    let explained = |outcome: &Outcome| {
        let failure = outcome.verdict.failure()?;
        Some(explain(outcome, failure, Style::default()))
    };
    summary.failures().filter_map(explained).collect()
}
