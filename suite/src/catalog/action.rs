//! Words of the catalog: actions before and during a request, events of a watch, states afterwards.

use std::str::FromStr;

use serde::Deserialize;

/// Error of an unknown word in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not one of: {known}")]
pub struct ParseWordError {
    word: String,
    known: &'static str,
}

/// An action on an object of the trial, by its letter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Action {
    /// `create x`: the object is created.
    Create(String),
    /// `change x`: the object is replaced, with its kind's change.
    Change(String),
    /// `relabel x`: the object is replaced, with one more label.
    Relabel(String),
    /// `label x key=value`: the object is replaced, with this label.
    Label(String, String, String),
    /// `churn x n`: the object is replaced n times, each time with another label.
    Churn(String, usize),
    /// `touch x`: the object is patched with nothing.
    Touch(String),
    /// `patch x`: the object is patched, with one more label.
    Patch(String),
    /// `elsewhere x`: the object is patched in the other group that has it, with one more label.
    Elsewhere(String),
    /// `status x`: the status of the object is replaced, with its kind's status.
    Status(String),
    /// `collect x`: the collection of the object is deleted.
    Collect(String),
    /// `retire x`: the object is deleted with a grace period longer than the trial, and exists until then.
    Retire(String),
    /// `delete x`: the object is deleted.
    Delete(String),
    /// `remove x`: the object is deleted, and the response is not waited for.
    Remove(String),
}

impl Action {
    /// Returns whether the action deletes this object, without a grace period.
    pub fn deletes(&self, letter: &str) -> bool {
        matches!(self, Self::Delete(x) | Self::Remove(x) | Self::Collect(x) if x == letter)
    }

    /// Letter of the object.
    pub fn letter(&self) -> &str {
        match self {
            Self::Create(x) | Self::Change(x) | Self::Relabel(x) | Self::Delete(x) | Self::Remove(x) => x,
            Self::Label(x, _, _)
            | Self::Churn(x, _)
            | Self::Touch(x)
            | Self::Patch(x)
            | Self::Elsewhere(x)
            | Self::Status(x)
            | Self::Collect(x)
            | Self::Retire(x) => x,
        }
    }
}

impl FromStr for Action {
    type Err = ParseWordError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["create", x] => Ok(Self::Create((*x).to_owned())),
            ["change", x] => Ok(Self::Change((*x).to_owned())),
            ["relabel", x] => Ok(Self::Relabel((*x).to_owned())),
            ["touch", x] => Ok(Self::Touch((*x).to_owned())),
            ["patch", x] => Ok(Self::Patch((*x).to_owned())),
            ["elsewhere", x] => Ok(Self::Elsewhere((*x).to_owned())),
            ["status", x] => Ok(Self::Status((*x).to_owned())),
            ["retire", x] => Ok(Self::Retire((*x).to_owned())),
            ["collect", x] => Ok(Self::Collect((*x).to_owned())),
            ["delete", x] => Ok(Self::Delete((*x).to_owned())),
            ["remove", x] => Ok(Self::Remove((*x).to_owned())),
            ["churn", x, times] if times.parse::<usize>().is_ok() => {
                Ok(Self::Churn((*x).to_owned(), times.parse().unwrap_or_default()))
            }
            ["label", x, label] if label.contains('=') => {
                let (key, value) = label.split_once('=').unwrap_or((label, ""));
                Ok(Self::Label((*x).to_owned(), key.to_owned(), value.to_owned()))
            }
            _ => Err(ParseWordError {
                word: text.to_owned(),
                known: "create x, change x, relabel x, label x key=value, churn x n, touch x, patch x, \
                        elsewhere x, status x, collect x, retire x, delete x, remove x",
            }),
        }
    }
}

impl TryFrom<String> for Action {
    type Error = ParseWordError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Expected event of a watch, by the letter of an object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Event {
    /// `ADDED x`.
    Added(String),
    /// `MODIFIED x`.
    Modified(String),
    /// `DELETED x`.
    Deleted(String),
    /// `HISTORY x`: the events of x in a watch from the beginning; depends on the profile.
    History(String),
    /// `SINCE x`: every change of x after its creation.
    Since(String),
    /// `OWN x`: the events of a watch from the version of x for that version; depends on the profile.
    Own(String),
}

impl FromStr for Event {
    type Err = ParseWordError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["ADDED", x] => Ok(Self::Added((*x).to_owned())),
            ["MODIFIED", x] => Ok(Self::Modified((*x).to_owned())),
            ["DELETED", x] => Ok(Self::Deleted((*x).to_owned())),
            ["HISTORY", x] => Ok(Self::History((*x).to_owned())),
            ["SINCE", x] => Ok(Self::Since((*x).to_owned())),
            ["OWN", x] => Ok(Self::Own((*x).to_owned())),
            _ => Err(ParseWordError {
                word: text.to_owned(),
                known: "ADDED x, MODIFIED x, DELETED x, HISTORY x, SINCE x, OWN x",
            }),
        }
    }
}

impl TryFrom<String> for Event {
    type Error = ParseWordError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Expected state of an object after the response, by its letter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ObjectState {
    /// `there x`: it can be read and equals its last returned version.
    There(String),
    /// `gone x`: it cannot be read.
    Gone(String),
    /// `leaving x`: it cannot be read, or is being deleted.
    Leaving(String),
    /// `unchanged x`: it equals its version before the request.
    Unchanged(String),
    /// `changed x`: it is the sample with the change of its kind.
    Changed(String),
    /// `status x`: it has the status of its kind's sample.
    Status(String),
}

impl FromStr for ObjectState {
    type Err = ParseWordError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["there", x] => Ok(Self::There((*x).to_owned())),
            ["gone", x] => Ok(Self::Gone((*x).to_owned())),
            ["leaving", x] => Ok(Self::Leaving((*x).to_owned())),
            ["unchanged", x] => Ok(Self::Unchanged((*x).to_owned())),
            ["changed", x] => Ok(Self::Changed((*x).to_owned())),
            ["status", x] => Ok(Self::Status((*x).to_owned())),
            _ => Err(ParseWordError {
                word: text.to_owned(),
                known: "there x, gone x, leaving x, unchanged x, changed x, status x",
            }),
        }
    }
}

impl TryFrom<String> for ObjectState {
    type Error = ParseWordError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("create b", Action::Create("b".into()))]
    #[case("elsewhere b", Action::Elsewhere("b".into()))]
    #[case("label a tier=back", Action::Label("a".into(), "tier".into(), "back".into()))]
    #[case("retire a", Action::Retire("a".into()))]
    #[case("churn a 120", Action::Churn("a".into(), 120))]
    #[case("label a tier=", Action::Label("a".into(), "tier".into(), String::new()))]
    fn actions_are_parsed(#[case] text: &str, #[case] expected: Action) {
        assert_eq!(text.parse(), Ok(expected));
    }

    #[rstest]
    #[case("create")]
    #[case("create a b")]
    #[case("label a tier")]
    #[case("destroy a")]
    #[case("churn a b")]
    fn other_texts_are_refused(#[case] text: &str) {
        assert!(text.parse::<Action>().is_err());
    }

    #[test]
    fn events_are_parsed_and_others_refused() {
        assert_eq!("OWN a".parse(), Ok(Event::Own("a".into())));
        assert!("BOOKMARK a".parse::<Event>().is_err());
    }
}
