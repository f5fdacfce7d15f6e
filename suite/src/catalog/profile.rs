//! Differences between the two profiles.
//!
//! Source: the table of section "Two profiles" in the README; the recorded server for `kubernetes-1.2`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::expect::{ExpectedType, StatusWord};

/// Expected behaviour of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Profile {
    /// The documentation; Kubernetes v1.2 where it says nothing.
    #[default]
    #[serde(rename = "documented")]
    Documented,
    /// The recorded Kubernetes v1.2 server.
    #[serde(rename = "kubernetes-1.2")]
    Kubernetes12,
}

/// Expected status of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedStatus {
    /// This code.
    Code(u16),
    /// Any error: 400 or higher.
    Refused,
}

impl ExpectedStatus {
    /// Whether a status code is accepted.
    pub fn accepts(self, code: u16) -> bool {
        match self {
            Self::Code(expected) => code == expected,
            Self::Refused => code >= 400,
        }
    }

    /// Whether an error is expected.
    pub fn is_error(self) -> bool {
        match self {
            Self::Code(code) => code >= 400,
            Self::Refused => true,
        }
    }
}

/// Result of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteResult {
    /// Status of success.
    Status,
    /// The deleted object.
    Object,
    /// List of the deleted objects.
    List,
}

/// Kinds whose deletion returns the object under `kubernetes-1.2`.
const RETURNED_WHEN_DELETED: [&str; 7] = [
    "Pod",
    "Namespace",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PodTemplate",
    "ResourceQuota",
    "ServiceAccount",
];

/// Kinds whose watch of one object streams nothing under `kubernetes-1.2`: their name is not selectable.
const NOT_WATCHED_ALONE: [&str; 3] = ["HorizontalPodAutoscaler", "LimitRange", "PodTemplate"];

impl Profile {
    /// All profiles, in the order of the README.
    pub const ALL: [Self; 2] = [Self::Documented, Self::Kubernetes12];

    /// Name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Kubernetes12 => "kubernetes-1.2",
        }
    }

    /// Resolves a status word of the catalog; `None` for an unknown word.
    pub fn status(self, word: &StatusWord) -> Option<ExpectedStatus> {
        let by_profile = |documented, kubernetes| match self {
            Self::Documented => documented,
            Self::Kubernetes12 => kubernetes,
        };
        let word = match word {
            StatusWord::Code(code) => return Some(ExpectedStatus::Code(*code)),
            StatusWord::Word(word) => word.as_str(),
        };
        Some(ExpectedStatus::Code(match word {
            "refused" => return Some(ExpectedStatus::Refused),
            "ok" => 200,
            // A POST, a PUT that creates, a binding.
            "created" => by_profile(200, 201),
            // The body is decoded by its content, or by its Content-Type.
            "created-of-any-media" | "ok-of-any-media" => by_profile(200, 415),
            // A client error that v1.2 reports as 500.
            "client-error" => by_profile(400, 500),
            // A client error for a well-formed request that cannot be applied.
            "unprocessable" => by_profile(422, 500),
            // A client error for something that does not exist.
            "unknown-component" => by_profile(404, 500),
            _ => return None,
        }))
    }

    /// Returns the result of deleting one object of the kind, or a collection.
    pub fn delete_result(self, expected: ExpectedType, kind: &str) -> DeleteResult {
        match (self, expected) {
            (Self::Documented, _) => DeleteResult::Status,
            (Self::Kubernetes12, ExpectedType::Collected) => DeleteResult::List,
            (Self::Kubernetes12, _) if RETURNED_WHEN_DELETED.contains(&kind) => DeleteResult::Object,
            (Self::Kubernetes12, _) => DeleteResult::Status,
        }
    }

    /// Whether the result of a binding is the binding, rather than a Status.
    pub fn binding_returns_binding(self) -> bool {
        self == Self::Documented
    }

    /// Returns the media type of a watch.
    pub fn watch_media(self) -> Option<&'static str> {
        match self {
            Self::Documented => Some("application/json"),
            Self::Kubernetes12 => None,
        }
    }

    /// Whether a watch without a version streams the history of an object, rather than its current state.
    pub fn watch_replays_history(self) -> bool {
        self == Self::Documented
    }

    /// Whether the watch of one object of the kind streams anything.
    pub fn watch_of_one_object_works(self, kind: &str) -> bool {
        self == Self::Documented || !NOT_WATCHED_ALONE.contains(&kind)
    }

    /// Whether a watch of a kind from a version includes that version. Events bypass the watch cache.
    pub fn watch_includes_start_version(self, kind: &str) -> bool {
        self == Self::Kubernetes12 && kind != "Event"
    }

    /// Whether a watch of the kind may start with the current state of an object as MODIFIED: without a watch cache,
    /// v1.2 compares the object with its predecessor in the store.
    pub fn watch_may_begin_with_modified(self, kind: &str) -> bool {
        self == Self::Kubernetes12 && kind == "Event"
    }

    /// Whether the watch cache may lag behind writes, so that a watch may start with changes before its version.
    pub fn watch_may_lag(self) -> bool {
        self == Self::Kubernetes12
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Error of an unknown profile name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown profile {0:?}: expected documented or kubernetes-1.2")]
pub struct UnknownProfile(String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|p| p.as_str() == text)
            .ok_or_else(|| UnknownProfile(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("created", 200, 201)]
    #[case("created-of-any-media", 200, 415)]
    #[case("client-error", 400, 500)]
    #[case("unprocessable", 422, 500)]
    #[case("unknown-component", 404, 500)]
    fn a_status_word_depends_on_the_profile(#[case] word: &str, #[case] documented: u16, #[case] kubernetes: u16) {
        let word = StatusWord::Word(word.to_owned());
        assert_eq!(
            Profile::Documented.status(&word),
            Some(ExpectedStatus::Code(documented))
        );
        assert_eq!(
            Profile::Kubernetes12.status(&word),
            Some(ExpectedStatus::Code(kubernetes))
        );
    }

    #[test]
    fn refused_is_any_error() {
        assert!(ExpectedStatus::Refused.accepts(400) && ExpectedStatus::Refused.accepts(500));
        assert!(!ExpectedStatus::Refused.accepts(200));
    }

    #[test]
    fn a_deletion_returns_a_status_as_documented_and_seven_kinds_as_recorded() {
        let documented = Profile::Documented.delete_result(ExpectedType::Deleted, "Pod");
        assert_eq!(documented, DeleteResult::Status);
        let recorded = |expected, kind| Profile::Kubernetes12.delete_result(expected, kind);
        assert_eq!(recorded(ExpectedType::Deleted, "Pod"), DeleteResult::Object);
        assert_eq!(recorded(ExpectedType::Deleted, "ConfigMap"), DeleteResult::Status);
        assert_eq!(recorded(ExpectedType::Collected, "ConfigMap"), DeleteResult::List);
    }
}
