//! Known failures of a target: a file that gives them a verdict of their own.
//!
//! The file is YAML, a list of `{id, reason, expires}`; an id may end in `*`, and `expires` is a date such as
//! `2016-03-01` after which the entry does not count. An exact id that passes is a failure: the file must stay true. A
//! pattern of which every trial passes, an entry that names no trial and one that has expired are reported as stale.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Failure, Outcome, Verdict};
use crate::check::Mismatch;

/// Why an expectations file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExpectationsError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// File.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file does not follow its format.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// File.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// A known failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Id of a trial, or its beginning and `*`.
    pub id: String,
    /// Why the trial fails.
    pub reason: String,
    /// Date after which the entry does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

impl Expectation {
    fn means(&self, id: &str) -> bool {
        match self.id.strip_suffix('*') {
            Some(stem) => id.starts_with(stem),
            None => self.id == id,
        }
    }

    /// Whether the date of expiry is in the past.
    fn expired(&self, now: Timestamp) -> bool {
        let date = now.to_string();
        let today = date.get(..10).unwrap_or_default();
        self.expires.as_deref().is_some_and(|expires| expires < today)
    }
}

/// Known failures. None, by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    known: Vec<Expectation>,
    /// Entries that do not count, and why.
    stale: Vec<String>,
}

impl Expectations {
    /// Reads a file. Entries that have expired are left out.
    ///
    /// # Errors
    /// If the file cannot be read or does not follow its format.
    pub fn read(path: &Path) -> Result<Self, ExpectationsError> {
        let text = std::fs::read_to_string(path).map_err(|source| ExpectationsError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, Timestamp::now()).map_err(|reason| ExpectationsError::Malformed {
            path: path.to_owned(),
            reason,
        })
    }

    fn parse(text: &str, now: Timestamp) -> Result<Self, String> {
        let all: Vec<Expectation> = serde_saphyr::from_str(text).map_err(|e| e.to_string())?;
        let (expired, known): (Vec<_>, Vec<_>) = all.into_iter().partition(|expectation| expectation.expired(now));
        let late = |one: &Expectation| {
            format!(
                "{} has expired on {}",
                one.id,
                one.expires.as_deref().unwrap_or_default()
            )
        };
        Ok(Self {
            known,
            stale: expired.iter().map(late).collect(),
        })
    }

    /// The text of a file with these entries.
    ///
    /// # Errors
    /// If they cannot be written as YAML, with the reason.
    pub fn to_yaml(expectations: &[Expectation]) -> Result<String, String> {
        serde_saphyr::to_string(&expectations).map_err(|e| e.to_string())
    }

    /// Finds entries that mean none of these trials, which are all of the catalog.
    pub fn find_unknown(&mut self, ids: &[&str]) {
        let unknown = |one: &&Expectation| !ids.iter().any(|id| one.means(id));
        let found = self.known.iter().filter(unknown);
        self.stale.extend(found.map(|one| format!("{} names no trial", one.id)));
    }

    /// Counts, from no trial on, what each pattern is good for.
    pub(super) fn tally(&self) -> Tally<'_> {
        let patterns = self.known.iter().filter(|known| known.id.ends_with('*'));
        Tally {
            patterns: patterns.map(|known| (known, Use::default())).collect(),
            stale: self.stale.clone(),
        }
    }

    /// The verdict in the light of what is known.
    pub fn apply(&self, id: &str, verdict: Verdict) -> Verdict {
        let exact = self.known.iter().find(|known| known.id == id);
        match (self.known.iter().find(|known| known.means(id)), verdict) {
            (Some(known), Verdict::Failed(failure)) => Verdict::KnownFailure(known.reason.clone(), failure),
            (Some(_), Verdict::Passed) if let Some(known) = exact => Verdict::Failed(Failure {
                mismatches: vec![Mismatch::new(
                    "the expectations",
                    format!("to fail: {}", known.reason),
                    "it passes; take it out of the file",
                )],
                ..Failure::default()
            }),
            (_, verdict) => verdict,
        }
    }
}

/// What the trials of a pattern did.
#[derive(Debug, Default)]
struct Use {
    passed: usize,
    others: usize,
}

/// What the patterns of a file are good for in a run.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    patterns: Vec<(&'a Expectation, Use)>,
    stale: Vec<String>,
}

impl Tally<'_> {
    /// Takes the outcome of a trial in.
    pub(super) fn count(&mut self, outcome: &Outcome) {
        let id = &outcome.trial.case.id;
        for (_, found) in self.patterns.iter_mut().filter(|(known, _)| known.means(id)) {
            match outcome.verdict {
                Verdict::Passed => found.passed += 1,
                _ => found.others += 1,
            }
        }
    }

    /// Entries that are of no use, and why: what has expired, what names no trial, patterns of which every trial passes.
    pub(super) fn stale(self) -> Vec<String> {
        let useless = self
            .patterns
            .iter()
            .filter(|(_, found)| found.passed > 0 && found.others == 0);
        let useless = useless.map(|(known, found)| format!("{}: all of its {} trials pass", known.id, found.passed));
        self.stale.iter().cloned().chain(useless).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectations() -> Expectations {
        Expectations::parse(
            "- {id: core/v1/pods/create/new, reason: issue 7}\n- {id: 'core/v1/secrets/*', reason: no secrets yet}\n- {id: core/v1/nodes/x, reason: old, expires: '2016-01-01'}\n",
            "2016-03-01T10:00:00Z".parse().unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn a_known_failure_has_a_verdict_of_its_own() {
        let failed = Verdict::Failed(Failure::broken("x", "y"));
        assert_eq!(
            expectations()
                .apply("core/v1/pods/create/new", failed.clone())
                .reason()
                .as_deref(),
            Some("issue 7")
        );
        assert_eq!(
            expectations()
                .apply("core/v1/secrets/list/complete", failed.clone())
                .reason()
                .as_deref(),
            Some("no secrets yet")
        );
        assert_eq!(expectations().apply("core/v1/pods/create/yaml", failed.clone()), failed);
    }

    #[test]
    fn what_is_said_to_fail_and_passes_has_failed() {
        assert!(matches!(
            expectations().apply("core/v1/pods/create/new", Verdict::Passed),
            Verdict::Failed(_)
        ));
        assert_eq!(
            expectations().apply("core/v1/secrets/list/complete", Verdict::Passed),
            Verdict::Passed
        );
    }

    #[test]
    fn a_file_with_something_else_in_it_is_refused() {
        assert!(Expectations::parse("- {id: x, because: y}", Timestamp::UNIX_EPOCH).is_err());
    }

    #[test]
    fn an_expired_entry_does_not_count_and_a_stale_one_is_found() {
        let failed = Verdict::Failed(Failure::broken("x", "y"));
        assert_eq!(expectations().apply("core/v1/nodes/x", failed.clone()), failed);
        let mut expectations = expectations();
        expectations.find_unknown(&["core/v1/secrets/list/complete"]);
        assert_eq!(
            expectations.tally().stale(),
            [
                "core/v1/nodes/x has expired on 2016-01-01",
                "core/v1/pods/create/new names no trial"
            ]
        );
    }

    #[test]
    fn what_is_written_is_read_again() {
        let one = Expectation {
            id: "a/b".to_owned(),
            reason: "it fails".to_owned(),
            expires: None,
        };
        let text = Expectations::to_yaml(std::slice::from_ref(&one)).unwrap();
        assert_eq!(
            Expectations::parse(&text, Timestamp::UNIX_EPOCH).unwrap().known,
            vec![one]
        );
    }
}
