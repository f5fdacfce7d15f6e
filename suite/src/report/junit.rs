//! The report as JUnit XML: one test suite per group and kind.
//!
//! Source: the schemas of Jenkins (junit-10.xsd) and of Ant (JUnit.xsd). To fit both, test suites have every attribute
//! that Ant requires, and the root has no attributes.

use quick_junit::{NonSuccessKind, Property, Report as Document, TestCase, TestCaseStatus, TestSuite};

use super::summary::kind_of;
use super::{Provenance, Style, Summary, explain};
use crate::trial::{Outcome, Verdict};

/// Renders JUnit XML with every trial. Known failures and trials that were not run are skipped test cases with the
/// reason. A trial whose setup failed is an error.
///
/// # Errors
/// The reason why it cannot be written as XML.
pub fn junit(summary: &Summary, provenance: &Provenance) -> Result<String, String> {
    let mut document = Document::new("stuntdouble conformance");
    let mut number = 0;
    for (group, kinds) in summary.by_kind() {
        for kind in kinds.keys() {
            let stem = format!("{group}/{kind}");
            let of_kind = |outcome: &&Outcome| outcome.trial.case.kind.group == group && kind_of(outcome) == kind;
            let cases: Vec<TestCase> = summary
                .outcomes
                .values()
                .filter(of_kind)
                .map(|outcome| test_case(outcome, &stem))
                .collect();
            let mut suite = TestSuite::new(stem.clone());
            suite.set_time(cases.iter().filter_map(|test_case| test_case.time).sum());
            suite.add_test_cases(cases);
            suite.extra.insert("id".into(), number.to_string().into());
            suite.extra.insert("package".into(), group.as_str().into());
            suite.extra.insert("hostname".into(), host(&summary.target).into());
            suite
                .extra
                .insert("timestamp".into(), provenance.date.trim_end_matches('Z').into());
            suite.add_property(Property::new("profile", summary.profile.as_str()));
            suite.set_system_out("");
            suite.set_system_err("");
            document.add_test_suite(suite);
            number += 1;
        }
    }
    let text = document.to_string().map_err(|error| error.to_string())?;
    Ok(without_root_attributes(&text))
}

/// Returns the host of a target, without blanks.
fn host(target: &str) -> String {
    let url = target.split_whitespace().find_map(|word| url::Url::parse(word).ok());
    url.and_then(|url| url.host_str().map(str::to_owned))
        .unwrap_or_else(|| "localhost".to_owned())
}

/// Removes the attributes of the root element.
fn without_root_attributes(text: &str) -> String {
    let root = "<testsuites";
    let Some(begin) = text.find(root).map(|begin| begin + root.len()) else {
        return text.to_owned();
    };
    let (head, rest) = text.split_at(begin);
    let end = rest.find('>').unwrap_or_default();
    let rest = rest.get(end..).unwrap_or_default();
    format!("{head}{rest}")
}

fn test_case(outcome: &Outcome, suite: &str) -> TestCase {
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
    let mut test_case = TestCase::new(outcome.trial.case.id.clone(), status);
    test_case.set_classname(suite);
    test_case.set_time(outcome.took);
    test_case
}
