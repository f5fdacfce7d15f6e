//! Bindings of volatile values: each recorded value is bound to one live value.
//!
//! Guarantees:
//! - A binding is one to one for the whole session.
//! - Versions of objects keep their strict order. Versions of lists keep their order.
//! - The creation time of an object does not change.
//!
//! Source: DESIGN.md, decision 9.

use std::collections::{BTreeMap, HashMap};

/// Kinds of values that a server generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The UID of an object.
    Uid,
    /// A generated name.
    Name,
    /// An allocated cluster address.
    ClusterIp,
    /// An allocated node port.
    NodePort,
}

impl Kind {
    /// The name in a difference.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uid => "uid",
            Self::Name => "name",
            Self::ClusterIp => "clusterIP",
            Self::NodePort => "nodePort",
        }
    }
}

/// A larger unbound version does not belong to the session: a client invented it.
const MAX_UNBOUND_VERSION: u128 = 10_000_000;

/// Bindings of recorded to live values, learned during a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    forward: HashMap<(Kind, String), String>,
    backward: HashMap<(Kind, String), String>,
    /// Bound UIDs and names that differ, longest first, then in the order in which they were learned.
    spellings: Vec<(String, String)>,
    /// Versions of objects. Keys and values ascend.
    versions: BTreeMap<u128, u128>,
    /// Versions of lists.
    lists: BTreeMap<u128, u128>,
    /// Creation times by UID.
    created: HashMap<String, String>,
}

impl Bindings {
    /// Binds a pair.
    ///
    /// # Errors
    /// If either value is already bound to another.
    pub(crate) fn bind(&mut self, kind: Kind, recorded: &str, live: &str) -> Result<(), String> {
        let there = (kind, recorded.to_owned());
        let here = (kind, live.to_owned());
        match (self.forward.get(&there), self.backward.get(&here)) {
            (Some(known), _) if known == live => Ok(()),
            (Some(known), _) => Err(format!(
                "{} {recorded:?} was {known:?} and is now {live:?}",
                kind.name()
            )),
            (None, Some(other)) => Err(format!("{} {live:?} is already bound to {other:?}", kind.name())),
            (None, None) => {
                if matches!(kind, Kind::Uid | Kind::Name) && recorded != live {
                    let length = recorded.chars().count();
                    let at = self
                        .spellings
                        .partition_point(|(known, _)| known.chars().count() >= length);
                    self.spellings.insert(at, (recorded.to_owned(), live.to_owned()));
                }
                self.forward.insert(there, live.to_owned());
                self.backward.insert(here, recorded.to_owned());
                Ok(())
            }
        }
    }

    /// The live value that a recorded one is bound to.
    pub(crate) fn live(&self, kind: Kind, recorded: &str) -> Option<&str> {
        self.forward.get(&(kind, recorded.to_owned())).map(String::as_str)
    }

    /// Checks a version and binds it: that of an object to one live version, that of a list in order only.
    ///
    /// # Errors
    /// If it contradicts an earlier one.
    pub(crate) fn version(&mut self, recorded: &str, live: &str, of_object: bool) -> Result<(), String> {
        let (Some(there), Some(here)) = (digits(recorded), digits(live)) else {
            let same = recorded == live;
            return same
                .then_some(())
                .ok_or_else(|| format!("resourceVersion {live:?}, recorded {recorded:?}"));
        };
        if of_object && let Some(known) = self.versions.get(&there).filter(|known| **known != here) {
            return Err(format!("resourceVersion {recorded} was {known} and is now {live}"));
        }
        let before = self.versions.range(..there).next_back();
        let after = self.versions.range(there + 1..).next();
        let wrong = |known: &u128, over: bool| if over { *known > here } else { *known < here };
        let clash = before
            .filter(|(_, known)| wrong(known, true) || (of_object && **known == here))
            .or(after.filter(|(_, known)| wrong(known, false) || (of_object && **known == here)));
        if let Some((other, known)) = clash {
            return Err(format!(
                "resourceVersion {live} is out of order (recorded {recorded}; {other} was {known})"
            ));
        }
        if of_object {
            self.versions.insert(there, here);
        } else {
            self.lists.insert(there, here);
        }
        Ok(())
    }

    /// The live version for a watch from a recorded one: the bound one, or that of the last object before it.
    pub(crate) fn live_version(&self, recorded: &str) -> String {
        let Some(version) = digits(recorded) else {
            return recorded.to_owned();
        };
        let known = self.versions.get(&version).or_else(|| self.lists.get(&version));
        let before = || {
            self.versions
                .range(..version)
                .next_back()
                .map(|(_, live)| live)
                .filter(|_| version < MAX_UNBOUND_VERSION)
        };
        known
            .or_else(before)
            .map_or_else(|| recorded.to_owned(), u128::to_string)
    }

    /// The live version that the recorded version of an object is bound to.
    pub(crate) fn version_of_object(&self, recorded: &str) -> Option<String> {
        self.versions.get(&digits(recorded)?).map(u128::to_string)
    }

    /// Checks that the creation time of an object does not change.
    ///
    /// # Errors
    /// If it does.
    pub(crate) fn check_creation(&mut self, uid: &str, stamp: &str) -> Result<(), String> {
        match self.created.get(uid) {
            Some(known) if known != stamp => Err(format!("creationTimestamp {stamp:?}, was {known:?}")),
            Some(_) => Ok(()),
            None => {
                self.created.insert(uid.to_owned(), stamp.to_owned());
                Ok(())
            }
        }
    }

    /// Replaces recorded UIDs and names in a text with the live ones.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for (recorded, live) in &self.spellings {
            if out.contains(recorded.as_str()) {
                out = out.replace(recorded.as_str(), live);
            }
        }
        out
    }
}

fn digits(text: &str) -> Option<u128> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn a_binding_is_one_to_one() {
        let mut bound = Bindings::default();
        assert_eq!(bound.bind(Kind::Uid, "a", "x"), Ok(()));
        assert_eq!(bound.bind(Kind::Uid, "a", "x"), Ok(()));
        assert!(bound.bind(Kind::Uid, "a", "y").is_err());
        assert!(bound.bind(Kind::Uid, "b", "x").is_err());
        assert_eq!(bound.bind(Kind::Name, "b", "x"), Ok(()));
    }

    #[rstest]
    #[case("5", "50", true, true)]
    #[case("5", "51", true, false)]
    #[case("6", "50", true, false)]
    #[case("6", "50", false, true)]
    #[case("6", "49", false, false)]
    #[case("4", "50", true, false)]
    #[case("4", "51", false, false)]
    #[case("7", "71", true, false)]
    #[case("7", "60", true, true)]
    #[case("", "", true, true)]
    #[case("x", "5", true, false)]
    fn versions_keep_their_order(#[case] recorded: &str, #[case] live: &str, #[case] object: bool, #[case] fits: bool) {
        let mut bound = Bindings::default();
        bound.version("5", "50", true).expect("the first");
        bound.version("8", "70", true).expect("the second");
        assert_eq!(bound.version(recorded, live, object).is_ok(), fits);
    }

    #[test]
    fn an_unbound_version_is_that_of_the_object_before_it() {
        let mut bound = Bindings::default();
        bound.version("5", "50", true).expect("an object");
        bound.version("9", "90", false).expect("a list");
        assert_eq!(bound.live_version("7"), "50");
        assert_eq!(bound.live_version("9"), "90");
        assert_eq!(bound.live_version("3"), "3");
        assert_eq!(bound.live_version("99999999"), "99999999");
        assert_eq!(bound.live_version("x"), "x");
    }

    #[test]
    fn longer_names_are_replaced_first() {
        let mut bound = Bindings::default();
        bound.bind(Kind::Name, "web-1", "web-9").expect("bound");
        bound.bind(Kind::Name, "web-12345", "web-54321").expect("bound");
        assert_eq!(bound.text("/pods/web-12345 web-1"), "/pods/web-54321 web-9");
    }
}
