//! Shard of an index: write buffers, version map, segments.
//!
//! - Guarantees: locks are taken in the order maintenance, buffer, version map, view, unpublished. No buffer and no
//!   version map is locked during a merge of segments.
//! - Limits: a buffer is flushed at 16 MB.

mod commit;
mod merge;

#[cfg(test)]
mod tests;

use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::durable::{Operation, SegmentFiles, ShardFolder, Translog};
use crate::error::{Result, SearchError};
use crate::index::counters::Counters;
use crate::index::encoded::{Encoded, Stored};
use crate::index::segment::SegmentWriter;
use crate::index::version_map::{Condition, VersionMap, Written, id_key};
use crate::index::view::{SegmentView, View};

use commit::Recovery;

/// Size at which a buffer is flushed, in bytes.
const MAX_BUFFER_BYTES: usize = 16_000_000;
/// Maximum number of concurrent writers.
const BUFFERS: usize = 8;
/// Time for which a write waits for a buffer before it uses a further one: longer than a document takes, shorter than a
/// flush.
const PATIENCE: Duration = Duration::from_micros(500);

/// Buffer of one writer: the segment that it fills.
#[derive(Default)]
struct IndexBuffer {
    number: u32,
    writer: Option<SegmentWriter>,
    /// Stored bytes of its documents, by document number.
    stored: Vec<Arc<Vec<u8>>>,
}

/// One shard of an index.
pub(crate) struct Shard {
    number: u32,
    pub(crate) counters: Counters,
    pub(crate) translog: Translog,
    /// Files; `None` in memory.
    folder: Option<ShardFolder>,
    /// Statistics of the recovery, if the shard was opened from files.
    recovery: Mutex<Option<Recovery>>,
    /// Time of the last commit.
    committed: Mutex<Duration>,
    buffers: Vec<Mutex<IndexBuffer>>,
    /// Number of buffers for concurrent writes. The others are used while one of these is flushed.
    writers: usize,
    versions: Mutex<VersionMap>,
    maintenance: Mutex<()>,
    view: RwLock<Arc<View>>,
    /// Time of the oldest change that the view does not have.
    unpublished: Mutex<Option<Duration>>,
}

impl Shard {
    /// Creates an empty shard in memory, one of `count` of its index.
    pub(crate) fn new(number: u32, count: u32) -> Shard {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Shard {
            writers: processors.div_ceil(count.max(1) as usize).min(BUFFERS),
            number,
            counters: Counters::default(),
            translog: Translog::default(),
            folder: None,
            recovery: Mutex::default(),
            committed: Mutex::default(),
            buffers: (0..BUFFERS).map(|_| Mutex::default()).collect(),
            versions: Mutex::default(),
            maintenance: Mutex::default(),
            view: RwLock::default(),
            unpublished: Mutex::default(),
        }
    }

    /// Number in the index.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Creates the folder of a new segment; `None` in memory.
    fn new_files(&self) -> Result<Option<SegmentFiles>> {
        self.folder.as_ref().map(ShardFolder::new_segment).transpose()
    }

    fn mark_unpublished(&self, now: Duration) {
        self.unpublished.lock().get_or_insert(now);
    }

    /// Time of the oldest change that is not visible to searches yet.
    pub(crate) fn unpublished_since(&self) -> Option<Duration> {
        *self.unpublished.lock()
    }

    /// Writes a document at time `now`.
    ///
    /// # Errors
    /// A precondition that does not hold, or a document that cannot be indexed. The existing document then stays.
    pub(crate) fn write(
        &self,
        type_name: &str,
        id: &str,
        mut document: Encoded,
        condition: Condition,
        now: Duration,
    ) -> Result<Written> {
        self.translog.check()?;
        let mut buffer = self
            .buffer()
            .ok_or_else(|| SearchError::engine("a shard without buffers"))?;
        let buffer = &mut *buffer;
        let key = id_key(type_name, id);
        let writer = match &mut buffer.writer {
            Some(writer) => {
                self.versions.lock().check(&key, condition)?;
                writer
            }
            none => {
                let mut versions = self.versions.lock();
                versions.check(&key, condition)?;
                buffer.number = versions.new_segment();
                drop(versions);
                none.insert(SegmentWriter::new(self.new_files()?)?)
            }
        };
        let first = writer.documents();
        let stored = document.stored();
        let nested = document.take_nested();
        let mut added = Ok(());
        for document in nested.into_iter().chain([document]) {
            buffer.stored.push(document.stored());
            added = added.and(writer.add(document));
        }
        let block = first..=writer.documents().saturating_sub(1);
        let memory = writer.memory();
        let written = {
            let mut versions = self.versions.lock();
            // Another buffer may have written the id since the check.
            let written = added.and_then(|()| versions.put(key, buffer.number, block.clone(), condition));
            if written.is_err() {
                versions.delete_block(buffer.number, block);
            }
            let written = written?;
            self.translog.append(Operation::Index {
                version: written.version,
                stored: &stored,
            })?;
            written
        };
        self.mark_unpublished(now);
        if memory > MAX_BUFFER_BYTES {
            self.flush(buffer)?;
        }
        Ok(written)
    }

    /// Returns a free buffer. Each writer takes megabytes and fills segments of its own, so the shards of an index have
    /// together about as many as there are processors.
    fn buffer(&self) -> Option<MutexGuard<'_, IndexBuffer>> {
        let (own, spare) = self.buffers.split_at_checked(self.writers)?;
        let free = own.iter().find_map(|buffer| buffer.try_lock());
        let mut unlocked = spare.iter().filter_map(|buffer| buffer.try_lock());
        free.or_else(|| unlocked.find(|buffer| buffer.writer.is_some()))
            .or_else(|| own.iter().find_map(|buffer| buffer.try_lock_for(PATIENCE)))
            .or_else(|| spare.iter().find_map(|buffer| buffer.try_lock()))
            .or_else(|| Some(own.first()?.lock()))
    }

    /// Deletes a document.
    pub(crate) fn delete(&self, type_name: &str, id: &str, condition: Condition, now: Duration) -> Result<Written> {
        let key = id_key(type_name, id);
        self.translog.check()?;
        let written = {
            let mut versions = self.versions.lock();
            let written = versions.delete(key.clone(), condition)?;
            self.translog.append(Operation::Delete {
                version: written.version,
                key: &key,
            })?;
            written
        };
        self.mark_unpublished(now);
        Ok(written)
    }

    /// Deletes every document whose type and id match; returns their number.
    pub(crate) fn delete_where(&self, unwanted: impl Fn(&str, &str) -> bool, now: Duration) -> Result<usize> {
        let mut versions = self.versions.lock();
        let deleted = versions.delete_where(|key| {
            key.split_once('\u{0}')
                .is_some_and(|(type_name, id)| unwanted(type_name, id))
        });
        for (key, version) in &deleted {
            self.translog.append(Operation::Delete { version: *version, key })?;
        }
        drop(versions);
        self.mark_unpublished(now);
        Ok(deleted.len())
    }

    /// Returns the version and the stored fields of a document, visible to searches or not.
    pub(crate) fn get(&self, type_name: &str, id: &str) -> Result<Option<(u64, Stored)>> {
        let key = id_key(type_name, id);
        for _ in 0..3 {
            let (slot, segment) = {
                let versions = self.versions.lock();
                let Some(slot) = versions.get(&key) else {
                    return Ok(None);
                };
                (
                    slot,
                    versions
                        .segments
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
        Err(SearchError::engine(
            "a document was moved by merges during each of three attempts to read it",
        ))
    }

    /// Returns the stored fields of a document that is still in a buffer.
    fn buffered(&self, segment: u32, doc: u32) -> Option<Stored> {
        self.buffers.iter().find_map(|buffer| {
            let buffer = buffer.lock();
            let stored = buffer.stored.get(doc as usize).filter(|_| buffer.number == segment)?;
            Stored::decode(stored.to_vec())
        })
    }

    /// Version of a document, if it exists.
    pub(crate) fn version(&self, type_name: &str, id: &str) -> Option<u64> {
        self.versions
            .lock()
            .get(&id_key(type_name, id))
            .map(|slot| slot.version)
    }

    /// Segment number and document number of a document.
    pub(crate) fn locate(&self, type_name: &str, id: &str) -> Option<(u32, u32)> {
        self.versions
            .lock()
            .get(&id_key(type_name, id))
            .map(|slot| (slot.segment, slot.doc))
    }

    /// Segment numbers and document numbers of the documents whose ids match.
    pub(crate) fn locate_where(&self, matches: impl Fn(&str) -> bool) -> Vec<(u32, u32)> {
        self.versions
            .lock()
            .find(|key| key.split_once('\u{0}').is_some_and(|(_, id)| matches(id)))
    }

    /// The view that searches use.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().clone()
    }

    fn flush(&self, buffer: &mut IndexBuffer) -> Result<()> {
        if let Some(writer) = buffer.writer.take_if(|writer| writer.documents() > 0) {
            let segment = Arc::new(writer.finish(buffer.number)?);
            let mut versions = self.versions.lock();
            versions.segments.push(segment);
            versions.segments.sort_by_key(|segment| segment.number);
            drop(versions);
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
        // Cleared before the flush, so that a concurrent change sets it again.
        if self.unpublished.lock().take().is_none() {
            return Ok(());
        }
        self.flush_all()?;
        self.publish();
        self.counters.refresh.add(began);
        Ok(())
    }

    fn publish(&self) {
        let mut versions = self.versions.lock();
        let segments = versions.segments.clone();
        let segments = segments
            .into_iter()
            .map(|segment| {
                let deleted = versions.live_docs.get_mut(&segment.number).map(|live_docs| {
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
}
