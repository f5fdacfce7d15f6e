//! One shard of an index: its buffers, its version map, its segments.
//!
//! Guarantees: locks are taken in the order maintenance, buffer, version map, view, unpublished; no buffer and no version map is locked
//! while segments are merged.
//! Limits: a buffer is flushed at 16 MB; segments are merged ten at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use crate::error::{Result, SearchError};
use crate::index::bits::Bits;
use crate::index::counters::Counters;
use crate::index::encoded::{Encoded, Stored};
use crate::index::ids::{Condition, Ids, LiveDocs, Written, id_key};
use crate::index::segment::{Segment, SegmentWriter};
use crate::index::view::{SegmentView, View};

/// Size at which a buffer is flushed, in bytes.
const BUFFER_BYTES: usize = 16_000_000;
/// Number of segments of like size that are merged into one.
const MERGE_FACTOR: usize = 10;
/// Number of concurrent writers.
const BUFFERS: usize = 8;

/// Buffer of one writer: the segment that it fills.
#[derive(Default)]
struct IndexBuffer {
    number: u32,
    writer: Option<SegmentWriter>,
    /// What is stored of its documents, by their numbers.
    stored: Vec<Arc<Vec<u8>>>,
}

/// One shard of an index.
pub(crate) struct Shard {
    number: u32,
    pub(crate) counters: Counters,
    buffers: Vec<Mutex<IndexBuffer>>,
    ids: Mutex<Ids>,
    maintenance: Mutex<()>,
    view: RwLock<Arc<View>>,
    /// Time of the oldest change that the view does not show.
    unpublished: Mutex<Option<Duration>>,
}

impl Shard {
    /// An empty shard with its number in the index.
    pub(crate) fn new(number: u32) -> Shard {
        Shard {
            number,
            counters: Counters::default(),
            buffers: (0..BUFFERS).map(|_| Mutex::default()).collect(),
            ids: Mutex::default(),
            maintenance: Mutex::default(),
            view: RwLock::default(),
            unpublished: Mutex::default(),
        }
    }

    /// Its number in the index.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Number of documents that no search sees yet.
    pub(crate) fn pending(&self) -> u64 {
        let buffers = self.buffers.iter().filter_map(|buffer| buffer.try_lock());
        buffers
            .filter_map(|buffer| buffer.writer.as_ref().map(|writer| u64::from(writer.documents())))
            .sum()
    }

    fn mark_unpublished(&self, now: Duration) {
        self.unpublished.lock().get_or_insert(now);
    }

    /// Time of the oldest change that no search sees yet.
    pub(crate) fn unpublished_since(&self) -> Option<Duration> {
        *self.unpublished.lock()
    }

    /// Writes a document at time `now`.
    ///
    /// # Errors
    /// A precondition that does not hold, or a document that the index cannot take; the id then keeps its document.
    pub(crate) fn write(
        &self,
        type_name: &str,
        id: &str,
        mut document: Encoded,
        condition: Condition,
        now: Duration,
    ) -> Result<Written> {
        let free = self.buffers.iter().find_map(|buffer| buffer.try_lock());
        let mut buffer = match (free, self.buffers.first()) {
            (Some(buffer), _) => buffer,
            (None, Some(first)) => first.lock(),
            (None, None) => return Err(SearchError::engine("a shard without buffers")),
        };
        let buffer = &mut *buffer;
        let key = id_key(type_name, id);
        let writer = match &mut buffer.writer {
            Some(writer) => {
                self.ids.lock().check(&key, condition)?;
                writer
            }
            none => {
                let mut ids = self.ids.lock();
                ids.check(&key, condition)?;
                buffer.number = ids.new_segment();
                drop(ids);
                none.insert(SegmentWriter::new()?)
            }
        };
        let first = writer.documents();
        let nested = document.take_nested();
        let mut added = Ok(());
        for document in nested.into_iter().chain([document]) {
            buffer.stored.push(document.stored());
            added = added.and(writer.add(document));
        }
        let block = first..=writer.documents().saturating_sub(1);
        let memory = writer.memory();
        let written = {
            let mut ids = self.ids.lock();
            // Another buffer may have taken the id since the check.
            let written = added.and_then(|()| ids.put(key, buffer.number, block.clone(), condition));
            if written.is_err() {
                ids.delete_block(buffer.number, block);
            }
            written?
        };
        self.mark_unpublished(now);
        if memory > BUFFER_BYTES {
            self.flush(buffer)?;
        }
        Ok(written)
    }

    /// Deletes a document.
    pub(crate) fn delete(&self, type_name: &str, id: &str, condition: Condition, now: Duration) -> Result<Written> {
        let written = self.ids.lock().delete(id_key(type_name, id), condition)?;
        self.mark_unpublished(now);
        Ok(written)
    }

    /// Deletes every document whose type and id match; returns their number.
    pub(crate) fn delete_where(&self, unwanted: impl Fn(&str, &str) -> bool, now: Duration) -> usize {
        let count = self.ids.lock().delete_where(|key| {
            key.split_once('\u{0}')
                .is_some_and(|(type_name, id)| unwanted(type_name, id))
        });
        self.mark_unpublished(now);
        count
    }

    /// Version and stored fields of a document, published or not.
    pub(crate) fn get(&self, type_name: &str, id: &str) -> Result<Option<(u64, Stored)>> {
        let key = id_key(type_name, id);
        for _ in 0..3 {
            let (slot, segment) = {
                let ids = self.ids.lock();
                let Some(slot) = ids.get(&key) else {
                    return Ok(None);
                };
                (
                    slot,
                    ids.segments
                        .iter()
                        .find(|segment| segment.number == slot.segment)
                        .cloned(),
                )
            };
            match segment {
                Some(segment) => return Ok(Some((slot.version, segment.stored(slot.doc)?))),
                None => {
                    if let Some(stored) = self.buffered(slot.segment, slot.doc) {
                        return Ok(Some((slot.version, stored)));
                    }
                }
            }
        }
        Err(SearchError::engine("a document moved faster than it could be read"))
    }

    /// What is stored of a document that is still in a buffer.
    fn buffered(&self, segment: u32, doc: u32) -> Option<Stored> {
        self.buffers.iter().find_map(|buffer| {
            let buffer = buffer.lock();
            let stored = buffer.stored.get(doc as usize).filter(|_| buffer.number == segment)?;
            Stored::decode(stored.to_vec())
        })
    }

    /// Version of a document, if it exists.
    pub(crate) fn version(&self, type_name: &str, id: &str) -> Option<u64> {
        self.ids.lock().get(&id_key(type_name, id)).map(|slot| slot.version)
    }

    /// Segment number and document number of a document.
    pub(crate) fn locate(&self, type_name: &str, id: &str) -> Option<(u32, u32)> {
        self.ids
            .lock()
            .get(&id_key(type_name, id))
            .map(|slot| (slot.segment, slot.doc))
    }

    /// The view that searches use.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().clone()
    }

    fn flush(&self, buffer: &mut IndexBuffer) -> Result<()> {
        if let Some(writer) = buffer.writer.take_if(|writer| writer.documents() > 0) {
            let segment = Arc::new(writer.finish(buffer.number)?);
            let mut ids = self.ids.lock();
            ids.segments.push(segment);
            ids.segments.sort_by_key(|segment| segment.number);
            drop(ids);
            buffer.stored.clear();
        }
        Ok(())
    }

    fn flush_all(&self) -> Result<()> {
        self.buffers
            .iter()
            .try_for_each(|buffer| self.flush(&mut buffer.lock()))
    }

    /// Makes all changes so far visible to searches.
    pub(crate) fn refresh(&self) -> Result<()> {
        let _one_at_a_time = self.maintenance.lock();
        let began = Instant::now();
        // The mark goes first: a change that comes from here on sets it again.
        if self.unpublished.lock().take().is_none() {
            return Ok(());
        }
        self.flush_all()?;
        self.publish();
        self.counters.refresh.add(began);
        Ok(())
    }

    /// Merges segments of like size as long as there are ten of them.
    pub(crate) fn merge_alike(&self) -> Result<()> {
        let _one_at_a_time = self.maintenance.lock();
        let mut merged = false;
        while self.merge_once()? {
            merged = true;
        }
        if merged {
            self.publish();
        }
        Ok(())
    }

    /// Merges all segments into one, without deleted documents.
    pub(crate) fn optimize(&self) -> Result<()> {
        let _one_at_a_time = self.maintenance.lock();
        self.unpublished.lock().take();
        self.flush_all()?;
        let all = self.ids.lock().segments.clone();
        if all.len() > 1 || !self.ids.lock().live_docs.is_empty() {
            self.merge(&all)?;
        }
        self.publish();
        Ok(())
    }

    fn publish(&self) {
        let mut ids = self.ids.lock();
        let segments = ids.segments.clone();
        let segments = segments
            .into_iter()
            .map(|segment| {
                let deleted = ids.live_docs.get_mut(&segment.number).map(|live_docs| {
                    live_docs
                        .published
                        .get_or_insert_with(|| Arc::new(live_docs.deleted.clone()))
                        .clone()
                });
                SegmentView { segment, deleted }
            })
            .collect();
        *self.view.write() = Arc::new(View { segments });
    }

    /// Merges ten segments of like size, if there are ten; returns whether it did.
    fn merge_once(&self) -> Result<bool> {
        let segments = self.ids.lock().segments.clone();
        let level = |segment: &Segment| (segment.max_doc() / 100).checked_ilog10().unwrap_or(0);
        for wanted in 0..8 {
            let alike: Vec<Arc<Segment>> = segments
                .iter()
                .filter(|segment| level(segment) == wanted)
                .take(MERGE_FACTOR)
                .cloned()
                .collect();
            if alike.len() == MERGE_FACTOR {
                self.merge(&alike)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn merge(&self, segments: &[Arc<Segment>]) -> Result<()> {
        let Some(first) = segments.first() else {
            return Ok(());
        };
        let deleted: Vec<Option<Bits>> = {
            let ids = self.ids.lock();
            segments
                .iter()
                .map(|segment| {
                    ids.live_docs
                        .get(&segment.number)
                        .map(|live_docs| live_docs.deleted.clone())
                })
                .collect()
        };
        // New number of each document; live documents keep their order.
        let mut moves: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut next = 0;
        let began = Instant::now();
        for (segment, deleted) in segments.iter().zip(&deleted) {
            let numbers = (0..segment.max_doc()).map(|doc| {
                if deleted.as_ref().is_some_and(|deleted| deleted.contains(doc)) {
                    return u32::MAX;
                }
                next += 1;
                next - 1
            });
            moves.insert(segment.number, numbers.collect());
        }
        // The merged segment takes the number, and with it the position, of the first.
        let merged = if next == 0 {
            None
        } else {
            Some(Arc::new(Segment::merged(segments, &deleted, first.number)?))
        };
        let mut ids = self.ids.lock();
        self.counters.merge.add(began);
        self.counters.merged_docs.fetch_add(u64::from(next), Ordering::Relaxed);
        let bytes = merged.as_ref().map_or(0, |merged| merged.bytes());
        self.counters.merged_bytes.fetch_add(bytes, Ordering::Relaxed);
        let deleted_since = ids.relocate(&moves, first.number, next);
        ids.segments.retain(|segment| !moves.contains_key(&segment.number));
        ids.live_docs.retain(|number, _| !moves.contains_key(number));
        if let Some(merged) = merged {
            if deleted_since.len() > 0 {
                ids.live_docs.insert(
                    first.number,
                    LiveDocs {
                        deleted: deleted_since,
                        published: None,
                    },
                );
            }
            ids.segments.push(merged);
            ids.segments.sort_by_key(|segment| segment.number);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1);

    fn document(id: &str) -> Encoded {
        let mut encoded = Encoded::default();
        encoded.store(["t", id, "", "", ""], id.as_bytes());
        encoded
    }

    #[test]
    fn a_change_during_a_refresh_is_marked_for_the_next() {
        for _ in 0..200 {
            let shard = Shard::new(0);
            std::thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    for _ in 0..50 {
                        shard.delete("t", "absent", Condition::default(), NOW).unwrap();
                    }
                });
                while !writer.is_finished() {
                    shard.refresh().unwrap();
                }
            });
            shard.write("t", "1", document("1"), Condition::default(), NOW).unwrap();
            assert_eq!(shard.unpublished_since(), Some(NOW));
        }
    }

    #[test]
    fn a_document_that_cannot_be_added_leaves_its_id_alone() {
        let shard = Shard::new(0);
        shard.write("t", "1", document("1"), Condition::default(), NOW).unwrap();
        let mut unfit = document("2");
        unfit.make_unfit();
        let refused = shard.write("t", "1", unfit, Condition::default(), NOW);
        assert!(refused.is_err(), "{refused:?}");
        shard.write("t", "3", document("3"), Condition::default(), NOW).unwrap();
        shard.refresh().unwrap();
        let (version, stored) = shard.get("t", "1").unwrap().unwrap();
        assert_eq!((version, stored.id()), (1, "1"));
        assert_eq!(shard.get("t", "3").unwrap().unwrap().1.id(), "3");
        assert_eq!(shard.view().live_docs(), 2);
    }

    #[test]
    fn a_document_is_read_from_its_buffer() {
        let shard = Shard::new(0);
        for id in ["1", "2", "1"] {
            shard.write("t", id, document(id), Condition::default(), NOW).unwrap();
        }
        let (version, stored) = shard.get("t", "1").unwrap().unwrap();
        assert_eq!((version, stored.id()), (2, "1"));
        assert!(shard.ids.lock().segments.is_empty());
        shard.refresh().unwrap();
        assert_eq!(shard.get("t", "2").unwrap().unwrap().1.id(), "2");
        assert!(shard.buffers.iter().all(|buffer| buffer.lock().stored.is_empty()));
    }

    #[test]
    fn segments_of_like_size_are_merged_apart_from_a_refresh() {
        let shard = Shard::new(0);
        for id in 0..MERGE_FACTOR {
            shard
                .write("t", &id.to_string(), document("1"), Condition::default(), NOW)
                .unwrap();
            shard.refresh().unwrap();
        }
        assert_eq!(shard.view().segments.len(), MERGE_FACTOR);
        shard.merge_alike().unwrap();
        assert_eq!(shard.view().segments.len(), 1);
    }

    #[test]
    fn a_refused_version_adds_no_document() {
        let shard = Shard::new(0);
        shard.write("t", "1", document("1"), Condition::default(), NOW).unwrap();
        let condition = Condition {
            version: Some(7),
            ..Condition::default()
        };
        assert!(shard.write("t", "1", document("1"), condition, NOW).is_err());
        shard.refresh().unwrap();
        assert_eq!(shard.view().max_doc(), 1);
    }
}
