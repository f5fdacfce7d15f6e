//! Conflicts of a definition with the mapping that it is merged into.

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::ties::in_trie_order;

/// The metadata fields that are members of the root object.
const OF_ROOT: [&str; 8] = [
    "_all",
    "_analyzer",
    "_boost",
    "_id",
    "_parent",
    "_routing",
    "_timestamp",
    "_ttl",
];

/// The conflicts of an object, by the members that have them.
#[derive(Default)]
pub(super) struct Conflicts(IndexMap<String, Vec<String>, RandomState>);

impl Conflicts {
    /// The conflicts of the root object, whose metadata fields have none yet.
    pub(super) fn of_root() -> Conflicts {
        Conflicts(OF_ROOT.into_iter().map(|name| (name.to_owned(), Vec::new())).collect())
    }

    /// Adds a member, and its conflicts if it has any.
    pub(super) fn add(&mut self, member: &str, conflicts: Vec<String>) {
        self.0.entry(member.to_owned()).or_default().extend(conflicts);
    }

    /// Returns all conflicts in the order of the members of the object.
    pub(super) fn in_order(self) -> Vec<String> {
        let members = in_trie_order(self.0.into_iter().collect(), |(name, _)| name.clone());
        members.into_iter().flat_map(|(_, conflicts)| conflicts).collect()
    }
}
