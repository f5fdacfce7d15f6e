//! Known failures of a target: a file that gives them a separate verdict.
//!
//! The file is YAML, a list of `{id, reason, expires}`. An id may end in `*`. `expires` is a date such as `2016-03-01`;
//! the entry does not count after it. A trial that passes although its exact id is listed counts as a failure, so that
//! the file stays correct. A pattern whose trials all pass, an entry that matches no trial, and an expired entry are
//! reported as stale.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Failure, Outcome, Verdict};
use crate::check::Mismatch;

/// Error of reading an expectations file.
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
    /// Id of a trial, or a prefix of ids followed by `*`.
    pub id: String,
    /// Why the trial fails.
    pub reason: String,
    /// Date after which the entry does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

impl Expectation {
    fn matches(&self, id: &str) -> bool {
        match self.id.strip_suffix('*') {
            Some(stem) => id.starts_with(stem),
            None => self.id == id,
        }
    }

    /// Returns whether the date of expiry is in the past.
    fn expired(&self, now: Timestamp) -> bool {
        let date = now.to_string();
        let today = date.get(..10).unwrap_or_default();
        self.expires.as_deref().is_some_and(|expires| expires < today)
    }
}

/// Known failures. Default: none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    known: Vec<Expectation>,
    /// Entries that do not count, and why.
    stale: Vec<String>,
}

impl Expectations {
    /// Reads a file. Expired entries are omitted.
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
        let late = |one: &Expectation| format!("{} expired on {}", one.id, one.expires.as_deref().unwrap_or_default());
        Ok(Self {
            known,
            stale: expired.iter().map(late).collect(),
        })
    }

    /// Returns the text of a file with these entries.
    ///
    /// # Errors
    /// If the entries cannot be written as YAML.
    pub fn to_yaml(expectations: &[Expectation]) -> Result<String, String> {
        serde_saphyr::to_string(&expectations).map_err(|e| e.to_string())
    }

    /// Finds entries that match none of these trials, which are all trials of the catalog.
    pub fn find_unknown(&mut self, ids: &[&str]) {
        let unknown = |one: &&Expectation| !ids.iter().any(|id| one.matches(id));
        let found = self.known.iter().filter(unknown);
        self.stale
            .extend(found.map(|one| format!("{} matches no trial", one.id)));
    }

    /// Returns an empty tally of the trials of each pattern.
    pub(super) fn tally(&self) -> Tally<'_> {
        let patterns = self.known.iter().filter(|known| known.id.ends_with('*'));
        Tally {
            patterns: patterns.map(|known| (known, Use::default())).collect(),
            stale: self.stale.clone(),
        }
    }

    /// Returns the verdict of a trial after the known failures are applied.
    pub fn apply(&self, id: &str, verdict: Verdict) -> Verdict {
        let exact = self.known.iter().find(|known| known.id == id);
        match (self.known.iter().find(|known| known.matches(id)), verdict) {
            (Some(known), Verdict::Failed(failure)) => Verdict::KnownFailure(known.reason.clone(), failure),
            (Some(_), Verdict::Passed) if let Some(known) = exact => Verdict::Failed(Failure {
                mismatches: vec![Mismatch::new(
                    "the expectations",
                    format!("to fail: {}", known.reason),
                    "it passes; remove its entry from the file",
                )],
                ..Failure::default()
            }),
            (_, verdict) => verdict,
        }
    }
}

/// Results of the trials of one pattern.
#[derive(Debug, Default)]
struct Use {
    passed: usize,
    others: usize,
}

/// Results of the trials of each pattern of a file, in one run.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    patterns: Vec<(&'a Expectation, Use)>,
    stale: Vec<String>,
}

impl Tally<'_> {
    /// Adds the outcome of a trial.
    pub(super) fn count(&mut self, outcome: &Outcome) {
        let id = &outcome.trial.case.id;
        for (_, found) in self.patterns.iter_mut().filter(|(known, _)| known.matches(id)) {
            match outcome.verdict {
                Verdict::Passed => found.passed += 1,
                _ => found.others += 1,
            }
        }
    }

    /// Returns the stale entries, and why they are: expired, matching no trial, or a pattern whose trials all pass.
    pub(super) fn stale(self) -> Vec<String> {
        let useless = self
            .patterns
            .iter()
            .filter(|(_, found)| found.passed > 0 && found.others == 0);
        let useless =
            useless.map(|(known, found)| format!("{}: all {} trials that it matches pass", known.id, found.passed));
        self.stale.iter().cloned().chain(useless).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectations() -> Expectations {
        Expectations::parse(
            "- {id: core/v1/pods/create/new, reason: issue 7}\n\
             - {id: 'core/v1/secrets/*', reason: no secrets yet}\n\
             - {id: core/v1/nodes/x, reason: old, expires: '2016-01-01'}\n",
            "2016-03-01T10:00:00Z".parse().unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn a_known_failure_has_a_separate_verdict() {
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
    fn a_listed_trial_that_passes_is_a_failure() {
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
    fn a_file_with_an_unknown_field_is_refused() {
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
                "core/v1/nodes/x expired on 2016-01-01",
                "core/v1/pods/create/new matches no trial"
            ]
        );
    }

    #[test]
    fn written_expectations_can_be_read() {
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
