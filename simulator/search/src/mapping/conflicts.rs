//! Conflicts of a definition with the mapping that it is merged into.

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
pub(super) struct Conflicts(Vec<(String, Vec<String>)>);

impl Conflicts {
    /// The conflicts of the root object, whose metadata fields have none yet.
    pub(super) fn of_root() -> Conflicts {
        Conflicts(OF_ROOT.map(|name| (name.to_owned(), Vec::new())).into())
    }

    /// Adds a member, and its conflicts if it has any.
    pub(super) fn add(&mut self, member: &str, conflicts: Vec<String>) {
        match self.0.iter_mut().find(|(name, _)| name == member) {
            Some((_, own)) => own.extend(conflicts),
            None => self.0.push((member.to_owned(), conflicts)),
        }
    }

    /// Returns all conflicts in the order of the members of the object.
    pub(super) fn in_order(self) -> Vec<String> {
        let members = in_trie_order(self.0, |(name, _)| name.clone());
        members.into_iter().flat_map(|(_, conflicts)| conflicts).collect()
    }
}
