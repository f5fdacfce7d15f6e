//! The version map: location and version of every document by type and id.

use std::collections::hash_map::Entry;
use std::ops::RangeInclusive;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use super::batch::Batch;
use super::bits::Bits;
use super::condition::{Condition, VersionType, Written, version_conflict};
use super::encoded::Encoded;
use super::segment::Segment;
use super::stored::Stored;
use crate::durable::{Commit, CommittedDocument, CommittedSegment};
use crate::error::{Result, SearchError};
use crate::exception::Exception;

/// The segment number of a deleted document, whose version is kept.
const TOMBSTONE: u32 = u32::MAX;
/// Maximum number of tombstones.
const MAX_TOMBSTONES: usize = 10_000;

/// Location and version of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) segment: u32,
    pub(super) doc: u32,
    /// Number of nested objects, which come right before it.
    pub(super) nested: u32,
    pub(crate) version: u64,
}

impl Slot {
    /// The document and its nested objects.
    fn block(&self) -> RangeInclusive<u32> {
        self.doc.saturating_sub(self.nested)..=self.doc
    }
}

/// Deleted documents of one segment; every other document is live.
#[derive(Clone, Default)]
pub(super) struct LiveDocs {
    pub(super) deleted: Bits,
    /// Copy that the current view shares. `None` after a deletion.
    pub(super) published: Option<Arc<Bits>>,
}

/// The version map of a shard, with its flushed segments and their live documents.
#[derive(Default)]
pub(super) struct VersionMap {
    slots: HashMap<Box<str>, Slot>,
    /// Former places of the documents that were changed since the last view: first the one in the view, if it has the
    /// document. At most one of each segment.
    pub(super) superseded: HashMap<Box<str>, Vec<Slot>>,
    deleted: usize,
    /// Live documents by segment number, including segments that are still buffered.
    pub(super) live_docs: HashMap<u32, LiveDocs>,
    /// Buffered documents by segment number.
    pub(super) buffers: HashMap<u32, Arc<Batch>>,
    /// Flushed segments in the order of their numbers.
    pub(super) segments: Vec<Arc<Segment>>,
    next_segment: u32,
}

/// A segment that no commit has yet, with its live documents.
pub(super) type FreshSegment = (Arc<Segment>, Vec<CommittedDocument>);

/// Key of a document in the version map.
pub(super) fn id_key(type_name: &str, id: &str) -> Box<str> {
    [type_name, "\u{0}", id].concat().into()
}

impl VersionMap {
    pub(super) fn new_segment(&mut self) -> u32 {
        self.next_segment += 1;
        self.next_segment
    }

    /// A flushed segment.
    pub(super) fn segment(&self, number: u32) -> Option<Arc<Segment>> {
        self.segments.iter().find(|segment| segment.number == number).cloned()
    }

    /// Returns whether a segment is one of the flushed ones.
    pub(super) fn has(&self, segment: &Arc<Segment>) -> bool {
        self.segments.iter().any(|own| Arc::ptr_eq(own, segment))
    }

    /// Stored fields of a buffered document.
    pub(super) fn buffered(&self, slot: Slot) -> Option<Stored> {
        self.buffers.get(&slot.segment)?.stored(slot.doc)
    }

    /// Adds a segment at the place of its number. It replaces its buffered documents, if it has any.
    pub(super) fn add(&mut self, segment: Arc<Segment>) {
        self.buffers.remove(&segment.number);
        self.segments.push(segment);
        self.segments.sort_by_key(|segment| segment.number);
    }

    pub(super) fn get(&self, key: &str) -> Option<Slot> {
        self.slots.get(key).copied().filter(|slot| slot.segment != TOMBSTONE)
    }

    /// Returns the segment number and the document number of a document, as of the last view if that has it.
    pub(super) fn locate(&self, key: &str) -> Option<(u32, u32)> {
        let former = self.superseded.get(key).and_then(|places| places.first().copied());
        former.or_else(|| self.get(key)).map(|slot| (slot.segment, slot.doc))
    }

    /// Returns what [`VersionMap::locate`] finds for the keys that match.
    pub(super) fn locate_where(&self, matches: impl Fn(&str) -> bool) -> Vec<(u32, u32)> {
        let current = self.slots.keys().filter(|key| !self.superseded.contains_key(*key));
        let keys = current.chain(self.superseded.keys()).filter(|key| matches(key));
        keys.filter_map(|key| self.locate(key)).collect()
    }

    /// Records that a document is no longer at a place.
    fn supersede(&mut self, key: &str, old: Slot) {
        match self.superseded.get_mut(key) {
            Some(places) => {
                places.retain(|place| place.segment != old.segment);
                places.push(old);
            }
            None => drop(self.superseded.insert(key.into(), vec![old])),
        }
        self.delete_block(old.segment, old.block());
    }

    /// Forgets the former places that a view as of now does not need: those of all documents but the ones whose last
    /// change is still buffered. These are visible where they were before.
    pub(super) fn settle(&mut self) {
        let (slots, buffers) = (&self.slots, &self.buffers);
        self.superseded.retain(|key, places| {
            let last = places.iter().rposition(|place| !buffers.contains_key(&place.segment));
            places.drain(..last.unwrap_or(0));
            slots.get(key).is_some_and(|slot| buffers.contains_key(&slot.segment))
        });
    }

    /// Returns the documents of a segment that are not visible in a view as of the last [`VersionMap::settle`].
    pub(super) fn hidden(&mut self, segment: u32) -> Option<Arc<Bits>> {
        let live_docs = self.live_docs.get_mut(&segment)?;
        let former = self.superseded.values().filter_map(|places| places.first());
        let visible: Vec<&Slot> = former.filter(|place| place.segment == segment).collect();
        if visible.is_empty() {
            let published = live_docs
                .published
                .get_or_insert_with(|| Arc::new(live_docs.deleted.clone()));
            return Some(published.clone());
        }
        let mut hidden = live_docs.deleted.clone();
        visible
            .into_iter()
            .flat_map(|place| place.block())
            .for_each(|doc| hidden.remove(doc));
        live_docs.published = None;
        Some(Arc::new(hidden))
    }

    /// Returns the version after a write to a document of a key, and the live document that it replaces.
    ///
    /// # Errors
    /// A precondition that does not hold.
    fn next_version(key: &str, known: Option<Slot>, condition: Condition) -> Result<(u64, Option<Slot>)> {
        let live = known.filter(|slot| slot.segment != TOMBSTONE);
        let name = || key.replace('\u{0}', "][");
        let conflict = |current: &str, given: u64| Err(version_conflict(&name(), current, given));
        // A deleted document still has a version.
        let current = known.map_or(0, |slot| slot.version);
        let is_internal = condition.version_type == VersionType::Internal;
        let given = condition.version.unwrap_or(1);
        if !is_internal && known.is_some() && condition.version_type.conflicts(current, given) {
            return conflict(&current.to_string(), given);
        }
        if let Some(wanted) = condition.version.filter(|_| is_internal)
            && known.map(|slot| slot.version) != Some(wanted)
        {
            return match known {
                Some(slot) => conflict(&slot.version.to_string(), wanted),
                None => conflict("-1", wanted),
            };
        }
        if condition.create && live.is_some() {
            let reason = format!("[{}]: document already exists", name());
            return Err(SearchError::new(409, Exception::DocumentAlreadyExists, reason));
        }
        if !is_internal {
            return Ok((given, live));
        }
        Ok((current.saturating_add(1), live))
    }

    /// Adds a document to the buffer of a segment, after its nested objects, and deletes its predecessor.
    ///
    /// # Errors
    /// A precondition that does not hold, or a buffer that is being written to its segment.
    pub(super) fn put(
        &mut self,
        key: Box<str>,
        segment: u32,
        document: &Encoded,
        condition: Condition,
    ) -> Result<Written> {
        let entry = self.slots.entry(key);
        let known = match &entry {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(_) => None,
        };
        let (version, live) = Self::next_version(entry.key(), known, condition)?;
        let buffer = Arc::get_mut(self.buffers.entry(segment).or_default())
            .ok_or_else(|| SearchError::engine("a document for a segment that is being written"))?;
        let first = buffer.len();
        document.nested.iter().for_each(|nested| buffer.push(nested));
        let doc = buffer.len();
        buffer.push(document);
        buffer.versions.set(first..=doc, version);
        let entry = entry.insert_entry(Slot {
            segment,
            doc,
            nested: doc - first,
            version,
        });
        match live {
            // No view has a part of a buffer.
            Some(old) if old.segment == segment => self.delete_block(segment, old.block()),
            Some(old) => {
                let key = entry.key().clone();
                self.supersede(&key, old);
            }
            None if known.is_some() => self.deleted -= 1,
            None => {}
        }
        Ok(Written {
            version,
            fresh: live.is_none(),
        })
    }

    pub(super) fn delete(&mut self, key: Box<str>, condition: Condition) -> Result<Written> {
        let known = self.slots.get(&key).copied();
        let (version, live) = Self::next_version(&key, known, condition)?;
        if let Some(old) = live {
            self.supersede(&key, old);
        }
        if self
            .slots
            .insert(
                key,
                Slot {
                    segment: TOMBSTONE,
                    doc: 0,
                    nested: 0,
                    version,
                },
            )
            .is_none_or(|slot| slot.segment != TOMBSTONE)
        {
            self.deleted += 1;
        }
        if self.deleted > MAX_TOMBSTONES {
            self.slots.retain(|_, slot| slot.segment != TOMBSTONE);
            self.deleted = 0;
        }
        Ok(Written {
            version,
            fresh: live.is_some(),
        })
    }

    /// Deletes a document, and forgets its version.
    pub(super) fn forget(&mut self, key: &str) {
        if let Some(old) = self.get(key) {
            self.supersede(key, old);
            self.slots.remove(key);
        }
    }

    /// Marks a document of a segment and its nested objects as deleted.
    fn delete_block(&mut self, segment: u32, block: RangeInclusive<u32>) {
        let live_docs = self.live_docs.entry(segment).or_default();
        block.for_each(|doc| live_docs.deleted.insert(doc));
        live_docs.published = None;
    }

    /// Deletes every document whose key matches, and forgets their versions; returns their keys.
    pub(super) fn forget_where(&mut self, unwanted: impl Fn(&str) -> bool) -> Vec<Box<str>> {
        let keys: Vec<Box<str>> = self
            .slots
            .iter()
            .filter(|(key, slot)| slot.segment != TOMBSTONE && unwanted(key))
            .map(|(key, _)| key.clone())
            .collect();
        keys.iter().for_each(|key| self.forget(key));
        keys
    }

    /// Moves the documents of merged segments to the target segment. Returns the documents of the target that are
    /// deleted.
    pub(super) fn relocate(&mut self, merged: &HashMap<u32, Vec<u32>>, target: u32, max_doc: u32) -> Bits {
        let mut deleted = Bits::full(max_doc);
        for slot in self.slots.values_mut() {
            if let Some(new) = merged.get(&slot.segment).and_then(|moves| moves.get(slot.doc as usize)) {
                (slot.segment, slot.doc) = (target, *new);
                slot.block().for_each(|doc| deleted.remove(doc));
            }
        }
        for place in self.superseded.values_mut().flatten() {
            if let Some(new) = merged
                .get(&place.segment)
                .and_then(|moves| moves.get(place.doc as usize))
            {
                (place.segment, place.doc) = (target, *new);
            }
        }
        deleted
    }

    /// Removes the segments without a live document or one that is still visible, and returns them.
    pub(super) fn drop_deleted(&mut self) -> Vec<Arc<Segment>> {
        let is_buffered = |slot: &Slot| self.buffers.contains_key(&slot.segment);
        let former = self.superseded.iter();
        let former = former.filter(|(key, _)| self.slots.get(*key).is_some_and(is_buffered));
        let visible: HashSet<u32> = former
            .flat_map(|(_, places)| places)
            .map(|place| place.segment)
            .collect();
        let live_docs = &mut self.live_docs;
        let is_deleted = |segment: &mut Arc<Segment>| {
            let deleted = live_docs.get(&segment.number);
            let all = deleted.is_some_and(|own| own.deleted.len() == segment.max_doc());
            all && !visible.contains(&segment.number) && live_docs.remove(&segment.number).is_some()
        };
        self.segments.extract_if(.., is_deleted).collect()
    }

    /// Returns the commit of a shard whose segments are all flushed, and the segments that no commit has yet.
    pub(super) fn commit(&self, translog: u64) -> (Commit, Vec<FreshSegment>) {
        let mut fresh: HashMap<u32, FreshSegment> = self
            .segments
            .iter()
            .filter(|segment| !segment.is_committed())
            .map(|segment| (segment.number, (segment.clone(), Vec::new())))
            .collect();
        let mut commit = Commit {
            translog,
            last_segment: self.next_segment,
            ..Commit::default()
        };
        for (key, slot) in &self.slots {
            if slot.segment == TOMBSTONE {
                commit.tombstones.push((key.to_string(), slot.version));
            } else if let Some((_, documents)) = fresh.get_mut(&slot.segment) {
                documents.push(CommittedDocument {
                    key: key.to_string(),
                    doc: slot.doc,
                    nested: slot.nested,
                    version: slot.version,
                });
            }
        }
        for segment in &self.segments {
            let Some(files) = &segment.files else { continue };
            let deleted = self.live_docs.get(&segment.number);
            commit.segments.push(CommittedSegment {
                number: segment.number,
                folder: files.number,
                deleted: deleted.map_or(vec![], |live_docs| live_docs.deleted.iter().collect()),
            });
        }
        (commit, fresh.into_values().collect())
    }

    /// Restores a committed segment.
    pub(super) fn restore(&mut self, segment: Segment, documents: Vec<CommittedDocument>, deleted: &[u32]) {
        let mut live_docs = LiveDocs::default();
        deleted.iter().for_each(|doc| live_docs.deleted.insert(*doc));
        let live = documents
            .into_iter()
            .filter(|document| !live_docs.deleted.contains(document.doc));
        self.slots.extend(live.map(|document| {
            let slot = Slot {
                segment: segment.number,
                doc: document.doc,
                nested: document.nested,
                version: document.version,
            };
            (document.key.into(), slot)
        }));
        if !deleted.is_empty() {
            self.live_docs.insert(segment.number, live_docs);
        }
        self.add(Arc::new(segment));
    }

    /// Restores the tombstones and the segment counter of a commit.
    pub(super) fn restore_deleted(&mut self, commit: Commit) {
        self.next_segment = commit.last_segment;
        self.deleted = commit.tombstones.len();
        self.slots.extend(commit.tombstones.into_iter().map(|(key, version)| {
            let slot = Slot {
                segment: TOMBSTONE,
                doc: 0,
                nested: 0,
                version,
            };
            (key.into(), slot)
        }));
    }
}
