//! The report as JUnit XML: a suite for each group and kind.

use std::io::Write;

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use super::summary::kind_of;
use super::{Report, Style, Summary, explain};
use crate::trial::{Event, Outcome, Verdict};

/// Writes JUnit XML when the run has ended. Trials that were not played and known failures are skipped cases with the
/// reason; a trial that could not be set up is an error.
#[derive(Debug)]
pub struct Junit<W> {
    out: W,
    summary: Summary,
}

impl<W: Write> Junit<W> {
    /// A report to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            summary: Summary::default(),
        }
    }
}

impl<W: Write> Report for Junit<W> {
    fn handle(&mut self, event: &Event) -> std::io::Result<()> {
        self.summary.handle(event);
        if !matches!(event, Event::Finished { .. }) {
            return Ok(());
        }
        let mut document = Document::new(format!("stuntdouble conformance, profile {}", self.summary.profile));
        document.set_time(self.summary.took);
        for (group, kinds) in self.summary.by_kind() {
            for kind in kinds.keys() {
                let stem = format!("{group}/{kind}");
                let mut suite = TestSuite::new(stem.clone());
                let of_it = |o: &&Outcome| o.trial.case.kind.group == group && kind_of(o) == kind;
                let cases: Vec<TestCase> = self
                    .summary
                    .outcomes
                    .values()
                    .filter(of_it)
                    .map(|outcome| data(outcome, &stem))
                    .collect();
                suite.set_time(cases.iter().filter_map(|data| data.time).sum());
                suite.add_test_cases(cases);
                document.add_test_suite(suite);
            }
        }
        document.serialize(&mut self.out).map_err(std::io::Error::other)?;
        self.out.flush()
    }
}

fn data(outcome: &Outcome, suite: &str) -> TestCase {
    let status = match &outcome.verdict {
        Verdict::Passed => TestCaseStatus::success(),
        Verdict::Failed(failure) => {
            let kind = if failure.broken {
                NonSuccessKind::Error
            } else {
                NonSuccessKind::Failure
            };
            let mut status = TestCaseStatus::non_success(kind);
            let about: Vec<&str> = failure.mismatches.iter().map(|m| m.about.as_str()).collect();
            status.set_message(format!("not as expected: {}", about.join(", ")));
            status.set_type(outcome.level().as_str());
            status.set_description(explain(outcome, failure, Style::default()));
            status
        }
        Verdict::Pending(_) | Verdict::Skipped(_) | Verdict::Absent(_) | Verdict::KnownFailure(..) => {
            let reason = outcome.verdict.reason().unwrap_or_default();
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("{}: {reason}", outcome.verdict.as_str()));
            status
        }
    };
    let mut data = TestCase::new(outcome.trial.case.id.clone(), status);
    data.set_classname(suite);
    data.set_time(outcome.took);
    data
}
