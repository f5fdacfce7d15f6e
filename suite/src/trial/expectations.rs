//! What is known to fail on a target: a file that turns known failures into a verdict of their own.
//!
//! The file is YAML, a list of `{id, reason}`; an id may end in `*`. A trial that is said to fail and passes has failed:
//! the file is to be kept true.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Failure, Verdict};
use crate::check::Mismatch;

/// Why an expectations file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExpectationsError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what it is to be.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedFailure {
    id: String,
    reason: String,
}

impl ExpectedFailure {
    fn means(&self, id: &str) -> bool {
        match self.id.strip_suffix('*') {
            Some(stem) => id.starts_with(stem),
            None => self.id == id,
        }
    }
}

/// What is known to fail. Nothing, by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations(Vec<ExpectedFailure>);

impl Expectations {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not what it is to be.
    pub fn read(path: &Path) -> Result<Self, ExpectationsError> {
        let text = std::fs::read_to_string(path).map_err(|source| ExpectationsError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|reason| ExpectationsError::Malformed {
            path: path.to_owned(),
            reason,
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map(Self).map_err(|e| e.to_string())
    }

    /// The verdict in the light of what is known.
    pub fn apply(&self, id: &str, verdict: Verdict) -> Verdict {
        let exact = self.0.iter().find(|known| known.id == id);
        match (self.0.iter().find(|known| known.means(id)), verdict) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn expectations() -> Expectations {
        Expectations::parse(
            "- {id: core/v1/pods/create/new, reason: issue 7}\n- {id: 'core/v1/secrets/*', reason: no secrets yet}\n",
        )
        .unwrap()
    }

    #[test]
    fn a_known_failure_has_a_verdict_of_its_own() {
        let failed = Verdict::Failed(Failure::broken("x", "y"));
        assert_eq!(
            expectations().apply("core/v1/pods/create/new", failed.clone()).reason(),
            Some("issue 7")
        );
        assert_eq!(
            expectations()
                .apply("core/v1/secrets/list/complete", failed.clone())
                .reason(),
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
        assert!(Expectations::parse("- {id: x, because: y}").is_err());
    }
}
