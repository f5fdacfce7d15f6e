//! What differs between the two profiles: the one place that says so.
//!
//! Source of its semantics: the table "Two profiles" of the design; the recorded server for `kubernetes-1.2`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::case::{ExpectedType, StatusWord};

/// By which rule the server is judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Profile {
    /// The texts win; Kubernetes v1.2 fills their silences.
    #[default]
    #[serde(rename = "documented")]
    Documented,
    /// The recorded Kubernetes v1.2 server wins.
    #[serde(rename = "kubernetes-1.2")]
    Kubernetes12,
}

/// What a deletion answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteResult {
    /// A Status of success.
    Status,
    /// The object that was deleted.
    Object,
    /// The list of what was deleted.
    List,
}

/// The kinds of which `kubernetes-1.2` answers a deletion with the object.
const ANSWERED_WITH_THE_OBJECT: [&str; 7] = [
    "Pod",
    "Namespace",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PodTemplate",
    "ResourceQuota",
    "ServiceAccount",
];

/// The kinds of which `kubernetes-1.2` tells nothing to who watches one object: it looks for the name in a field that
/// these do not have.
const WATCHED_ALONE_IN_VAIN: [&str; 3] = ["HorizontalPodAutoscaler", "LimitRange", "PodTemplate"];

impl Profile {
    /// Both, in the order of the README.
    pub const ALL: [Self; 2] = [Self::Documented, Self::Kubernetes12];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Kubernetes12 => "kubernetes-1.2",
        }
    }

    /// The status code that a word of the catalog stands for; none for a word that it does not know.
    pub fn status(self, word: &StatusWord) -> Option<u16> {
        let by_profile = |documented, kubernetes| match self {
            Self::Documented => documented,
            Self::Kubernetes12 => kubernetes,
        };
        Some(match word {
            StatusWord::Code(code) => *code,
            StatusWord::Word(word) => match word.as_str() {
                "ok" => 200,
                // What creates: a POST, a PUT that creates, a binding.
                "created" => by_profile(200, 201),
                // The body is read as what it is, or as its Content-Type says.
                "created-of-any-media" | "ok-of-any-media" => by_profile(200, 415),
                // A client's mistake that the recorded server calls its own.
                "client-error" => by_profile(400, 500),
                // The same, where what cannot be applied is well formed.
                "unprocessable" => by_profile(422, 500),
                // The same, where what is asked for is not there.
                "unknown-component" => by_profile(404, 500),
                _ => return None,
            },
        })
    }

    /// What the deletion of one object of the kind, or of a collection, answers.
    pub fn delete_result(self, expected_type: ExpectedType, kind: &str) -> DeleteResult {
        match (self, expected_type) {
            (Self::Documented, _) => DeleteResult::Status,
            (Self::Kubernetes12, ExpectedType::Collected) => DeleteResult::List,
            (Self::Kubernetes12, _) if ANSWERED_WITH_THE_OBJECT.contains(&kind) => DeleteResult::Object,
            (Self::Kubernetes12, _) => DeleteResult::Status,
        }
    }

    /// Whether a binding is answered with the binding, rather than with a Status.
    pub fn binding_is_answered_with_binding(self) -> bool {
        self == Self::Documented
    }

    /// The media type that a watch announces.
    pub fn watch_media(self) -> Option<&'static str> {
        match self {
            Self::Documented => Some("application/json"),
            Self::Kubernetes12 => None,
        }
    }

    /// Whether a watch without a version tells the history of an object, rather than its present state as an add.
    pub fn watch_replays_history(self) -> bool {
        self == Self::Documented
    }

    /// Whether the watch of one object of the kind tells anything.
    pub fn watch_of_one_object_works(self, kind: &str) -> bool {
        self == Self::Documented || !WATCHED_ALONE_IN_VAIN.contains(&kind)
    }

    /// Whether a watch of a kind from a version tells of that version itself. (Events do not go through the cache that does.)
    pub fn watch_includes_start_version(self, kind: &str) -> bool {
        self == Self::Kubernetes12 && kind != "Event"
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no profile; there are documented and kubernetes-1.2")]
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
    fn words_stand_for_the_codes_of_their_profile(
        #[case] word: &str,
        #[case] documented: u16,
        #[case] kubernetes: u16,
    ) {
        let word = StatusWord::Word(word.to_owned());
        assert_eq!(Profile::Documented.status(&word), Some(documented));
        assert_eq!(Profile::Kubernetes12.status(&word), Some(kubernetes));
    }

    #[test]
    fn a_deletion_answers_a_status_as_documented_and_for_seven_kinds_the_object_as_recorded() {
        assert_eq!(Profile::Documented.delete_result(ExpectedType::Deleted, "Pod"), DeleteResult::Status);
        assert_eq!(Profile::Kubernetes12.delete_result(ExpectedType::Deleted, "Pod"), DeleteResult::Object);
        assert_eq!(
            Profile::Kubernetes12.delete_result(ExpectedType::Deleted, "ConfigMap"),
            DeleteResult::Status
        );
        assert_eq!(
            Profile::Kubernetes12.delete_result(ExpectedType::Collected, "ConfigMap"),
            DeleteResult::List
        );
    }
}
