//! Versions of the documents of a segment.

use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Version of a document that was written once.
const FIRST: u64 = 1;

/// Versions of the documents of a segment, in which they never change. A nested object has the version of its document.
#[derive(Clone, Default)]
pub(super) struct Versions {
    /// The versions other than [`FIRST`], which most documents have.
    others: HashMap<u32, u64>,
}

impl Versions {
    /// Sets the version of a document and its nested objects.
    pub(super) fn set(&mut self, block: RangeInclusive<u32>, version: u64) {
        if version != FIRST {
            self.others.extend(block.map(|doc| (doc, version)));
        }
    }

    /// Returns the version of a document.
    pub(super) fn get(&self, doc: u32) -> u64 {
        self.others.get(&doc).copied().unwrap_or(FIRST)
    }

    /// Adds the versions of another segment. `moves`: the new number of each of its documents, or `u32::MAX`.
    pub(super) fn merge(&mut self, other: &Versions, moves: &[u32]) {
        let moved = other.others.iter().filter_map(|(doc, version)| {
            let new = *moves.get(*doc as usize)?;
            (new != u32::MAX).then_some((new, *version))
        });
        self.others.extend(moved);
    }
}
