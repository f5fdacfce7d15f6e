//! Which document has which id, where it is, and its version.

use std::collections::HashMap;
use std::sync::Arc;

use super::bits::Bits;
use super::segment::Segment;
use crate::error::{Result, SearchError};

/// The segment of a document that was deleted: its version is remembered.
const NOWHERE: u32 = u32::MAX;
/// Most deleted documents whose versions are remembered.
const MOST_REMEMBERED: usize = 10_000;

/// Where a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) segment: u32,
    pub(super) doc: u32,
    pub(crate) version: u64,
}

/// What has to hold for a change to be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The document must not exist.
    pub(crate) create: bool,
    /// The version that it must have.
    pub(crate) version: Option<u64>,
    /// The version is the caller's, and must grow.
    pub(crate) external: bool,
}

/// What a change came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The version that the document has now.
    pub(crate) version: u64,
    /// For a write: it was not there before. For a deletion: it was there.
    pub(crate) fresh: bool,
}

/// The deaths in a segment since it was written.
#[derive(Clone)]
pub(super) struct Dead {
    pub(super) docs: Bits,
    /// The same as of the last refresh, if nothing died since.
    pub(super) published: Option<Arc<Bits>>,
}

/// The ids of an index, its finished segments and what has died in them.
#[derive(Default)]
pub(super) struct Ids {
    slots: HashMap<Box<str>, Slot>,
    deleted: usize,
    /// Deaths by segment, those of segments that are still written included.
    pub(super) dead: HashMap<u32, Dead>,
    pub(super) sealed: Vec<Arc<Segment>>,
    next_segment: u32,
}

/// The key of a document among the ids.
pub(super) fn id_key(type_name: &str, id: &str) -> Box<str> {
    format!("{type_name}\u{0}{id}").into()
}

impl Ids {
    pub(super) fn new_segment(&mut self) -> u32 {
        self.next_segment += 1;
        self.next_segment
    }

    pub(super) fn get(&self, key: &str) -> Option<Slot> {
        self.slots.get(key).copied().filter(|slot| slot.segment != NOWHERE)
    }

    /// The version that a change leads to, or the refusal that the condition asks for.
    fn next_version(&self, key: &str, condition: Condition) -> Result<(u64, Option<Slot>)> {
        let known = self.slots.get(key).copied();
        let live = known.filter(|slot| slot.segment != NOWHERE);
        let name = || key.replace('\u{0}', "][");
        if condition.create && live.is_some() {
            return Err(SearchError::new(
                409,
                "DocumentAlreadyExistsException",
                format!("[{}]: document already exists", name()),
            ));
        }
        let current = known.map_or(0, |slot| slot.version);
        if condition.external {
            let given = condition.version.unwrap_or(1);
            if known.is_some() && given <= current {
                return Err(SearchError::new(
                    409,
                    "VersionConflictEngineException",
                    format!(
                        "[{}]: version conflict, current [{current}], provided [{given}]",
                        name()
                    ),
                ));
            }
            return Ok((given, live));
        }
        if let Some(wanted) = condition.version
            && live.map(|slot| slot.version) != Some(wanted)
        {
            let current = live.map_or_else(|| "-1".to_owned(), |slot| slot.version.to_string());
            return Err(SearchError::new(
                409,
                "VersionConflictEngineException",
                format!(
                    "[{}]: version conflict, current [{current}], provided [{wanted}]",
                    name()
                ),
            ));
        }
        Ok((current.saturating_add(1), live))
    }

    /// Puts a document where it has been written to; what was there before dies.
    pub(super) fn put(&mut self, key: Box<str>, segment: u32, doc: u32, condition: Condition) -> Result<Written> {
        let (version, live) = self.next_version(&key, condition)?;
        if let Some(old) = live {
            self.kill(old);
        }
        if self
            .slots
            .insert(key, Slot { segment, doc, version })
            .is_some_and(|slot| slot.segment == NOWHERE)
        {
            self.deleted -= 1;
        }
        Ok(Written {
            version,
            fresh: live.is_none(),
        })
    }

    pub(super) fn delete(&mut self, key: Box<str>, condition: Condition) -> Result<Written> {
        let (version, live) = self.next_version(&key, condition)?;
        if let Some(old) = live {
            self.kill(old);
        }
        if self
            .slots
            .insert(
                key,
                Slot {
                    segment: NOWHERE,
                    doc: 0,
                    version,
                },
            )
            .is_none_or(|slot| slot.segment != NOWHERE)
        {
            self.deleted += 1;
        }
        if self.deleted > MOST_REMEMBERED {
            self.slots.retain(|_, slot| slot.segment != NOWHERE);
            self.deleted = 0;
        }
        Ok(Written {
            version,
            fresh: live.is_some(),
        })
    }

    pub(super) fn kill(&mut self, slot: Slot) {
        let dead = self.dead.entry(slot.segment).or_insert_with(|| Dead {
            docs: Bits::default(),
            published: None,
        });
        dead.docs.insert(slot.doc);
        dead.published = None;
    }

    /// Deletes what `unwanted` picks, as deleting a type does; returns how many.
    pub(super) fn delete_where(&mut self, unwanted: impl Fn(&str) -> bool) -> usize {
        let keys: Vec<Box<str>> = self
            .slots
            .iter()
            .filter(|(key, slot)| slot.segment != NOWHERE && unwanted(key))
            .map(|(key, _)| key.clone())
            .collect();
        let count = keys.len();
        for key in keys {
            // Without a condition nothing can refuse.
            let _ = self.delete(key, Condition::default());
        }
        count
    }

    /// Moves every document of `merged` to where it is in the segment that took their place, and tells which documents of that one are alive.
    pub(super) fn relocate(&mut self, merged: &HashMap<u32, Vec<u32>>, target: u32, max_doc: u32) -> Bits {
        let mut dead = Bits::full(max_doc);
        for slot in self.slots.values_mut() {
            if let Some(new) = merged.get(&slot.segment).and_then(|moves| moves.get(slot.doc as usize)) {
                (slot.segment, slot.doc) = (target, *new);
                dead.remove(*new);
            }
        }
        dead
    }
}
