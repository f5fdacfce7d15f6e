//! Preconditions of writes, and the results of these.

use crate::error::{Result, SearchError};
use crate::exception::Exception;

/// Meaning of the version of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VersionType {
    /// The version that the document must have.
    #[default]
    Internal,
    /// The new version, which must be above the current one.
    External,
    /// The new version, which must not be below the current one.
    ExternalGte,
    /// The new version.
    Force,
}

impl VersionType {
    /// Parses a version type.
    ///
    /// # Errors
    /// An unknown name.
    pub(crate) fn parse(text: &str) -> Result<VersionType> {
        match text {
            "internal" => Ok(VersionType::Internal),
            "external" | "external_gt" => Ok(VersionType::External),
            "external_gte" => Ok(VersionType::ExternalGte),
            "force" => Ok(VersionType::Force),
            _ => Err(SearchError::illegal(format!("No version type match [{text}]"))),
        }
    }

    /// The name in error messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            VersionType::Internal => "INTERNAL",
            VersionType::External => "EXTERNAL",
            VersionType::ExternalGte => "EXTERNAL_GTE",
            VersionType::Force => "FORCE",
        }
    }

    /// Returns the problem with the version of a write. The default version is -3, which matches any.
    pub(crate) fn illegal_write(self, given: Option<i64>) -> Option<String> {
        let is_legal = match self {
            VersionType::Internal => given.is_none_or(|version| version >= 0),
            _ => given.is_some_and(|version| version >= 0),
        };
        (!is_legal).then(|| self.illegal(given))
    }

    /// Returns the problem with the version of a read.
    pub(crate) fn illegal_read(self, given: Option<i64>) -> Option<String> {
        let is_legal = given.is_none_or(|version| version >= 0);
        (!is_legal).then(|| self.illegal(given))
    }

    /// Returns the version that a request requires or sets. `None`: any.
    pub(crate) fn written(self, given: Option<i64>) -> Option<u64> {
        let version = given.and_then(|version| u64::try_from(version).ok());
        version.filter(|version| *version > 0 || self != VersionType::Internal)
    }

    fn illegal(self, given: Option<i64>) -> String {
        let version = given.unwrap_or(-3);
        format!("illegal version value [{version}] for version type [{}]", self.name())
    }

    /// Returns whether a document of version `current` cannot get the version `given`.
    pub(super) fn conflicts(self, current: u64, given: u64) -> bool {
        match self {
            VersionType::Internal | VersionType::External => given <= current,
            VersionType::ExternalGte => given < current,
            VersionType::Force => false,
        }
    }
}

/// Precondition of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The document must not exist.
    pub(crate) create: bool,
    /// The required version or the new one, depending on the version type.
    pub(crate) version: Option<u64>,
    pub(crate) version_type: VersionType,
}

/// Result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Version after the write.
    pub(crate) version: u64,
    /// For an index operation: the document is new. For a deletion: the document existed.
    pub(crate) fresh: bool,
}

/// Returns the error for a document, named `type][id`, of another version than the given one.
pub(crate) fn version_conflict(document: &str, current: &str, given: u64) -> SearchError {
    let reason = format!("[{document}]: version conflict, current [{current}], provided [{given}]");
    SearchError::new(409, Exception::VersionConflictEngine, reason)
}
