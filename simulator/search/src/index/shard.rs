//! Shard of an index: write buffers, version map, segments.
//!
//! - Guarantees: locks are taken in the order maintenance, buffer, version map, view, unpublished. No buffer and no
//!   version map is locked during a merge of segments.

mod buffer;
mod commit;
mod merge;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::durable::{FORGOTTEN, Operation, SegmentFiles, ShardFolder, Translog};
use crate::error::{Result, SearchError};
use crate::index::condition::{Condition, Written};
use crate::index::counters::Counters;
use crate::index::encoded::Encoded;
use crate::index::segment::Segment;
use crate::index::stored::Stored;
use crate::index::version_map::{VersionMap, id_key};
use crate::index::view::{SegmentView, View};

use buffer::{BufferContent, IndexBuffer};
use commit::Recovery;

/// Number of buffers. A write uses the first that is not being flushed.
const BUFFERS: usize = 8;
/// Time for which a write waits for a buffer before it uses the next: longer than a write, shorter than a flush.
const PATIENCE: Duration = Duration::from_micros(500);

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
    buffers: [IndexBuffer; BUFFERS],
    versions: Mutex<VersionMap>,
    maintenance: Mutex<()>,
    view: RwLock<Arc<View>>,
    /// Time of the oldest change that the view does not have.
    unpublished: Mutex<Option<Duration>>,
}

impl Shard {
    /// Creates an empty shard in memory.
    pub(crate) fn new(number: u32) -> Shard {
        Shard {
            number,
            counters: Counters::default(),
            translog: Translog::default(),
            folder: None,
            recovery: Mutex::default(),
            committed: Mutex::default(),
            buffers: Default::default(),
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
    /// A precondition that does not hold, or a full buffer that cannot be written. The existing document then stays.
    pub(crate) fn write(
        &self,
        type_name: &str,
        id: &str,
        document: &Encoded,
        condition: Condition,
        now: Duration,
    ) -> Result<Written> {
        self.translog.check()?;
        let key = id_key(type_name, id);
        let (buffer, mut content) = self.buffer();
        if content.is_full() {
            self.flush(buffer, &mut content)?;
        }
        let mut versions = self.versions.lock();
        let segment = *content.segment.get_or_insert_with(|| versions.new_segment());
        let written = versions.put(key, segment, document, condition)?;
        let appended = self.translog.append(Operation::Index {
            version: written.version,
            stored: document.stored.bytes(),
        });
        drop(versions);
        content.add(document.bytes());
        self.mark_unpublished(now);
        appended.map(|()| written)
    }

    /// Locks the first buffer that is not being flushed.
    fn buffer(&self) -> (&IndexBuffer, MutexGuard<'_, BufferContent>) {
        let [first, ..] = &self.buffers;
        let is_free = |buffer: &&IndexBuffer| !buffer.is_flushing.load(Ordering::Relaxed);
        let mut locked = self
            .buffers
            .iter()
            .filter(is_free)
            .filter_map(|buffer| Some((buffer, buffer.content.try_lock_for(PATIENCE)?)));
        locked.next().unwrap_or_else(|| (first, first.content.lock()))
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

    /// Deletes a document, and forgets its version.
    pub(crate) fn forget(&self, type_name: &str, id: &str, now: Duration) -> Result<()> {
        self.translog.check()?;
        let key = id_key(type_name, id);
        {
            let mut versions = self.versions.lock();
            versions.forget(&key);
            self.translog.append(Operation::Delete {
                version: FORGOTTEN,
                key: &key,
            })?;
        }
        self.mark_unpublished(now);
        Ok(())
    }

    /// Deletes every document whose type and id match, and forgets their versions; returns their number.
    pub(crate) fn forget_where(&self, unwanted: impl Fn(&str, &str) -> bool, now: Duration) -> Result<usize> {
        let mut versions = self.versions.lock();
        let deleted = versions.forget_where(|key| {
            key.split_once('\u{0}')
                .is_some_and(|(type_name, id)| unwanted(type_name, id))
        });
        for key in &deleted {
            let version = FORGOTTEN;
            self.translog.append(Operation::Delete { version, key })?;
        }
        drop(versions);
        self.mark_unpublished(now);
        Ok(deleted.len())
    }

    /// Returns whether searches still see another version of a document.
    pub(crate) fn is_changed(&self, type_name: &str, id: &str) -> bool {
        self.versions.lock().superseded.contains_key(&id_key(type_name, id))
    }

    /// Returns the version and the stored fields of a document, visible to searches or not.
    pub(crate) fn get(&self, type_name: &str, id: &str) -> Result<Option<(u64, Stored)>> {
        let versions = self.versions.lock();
        let Some(slot) = versions.get(&id_key(type_name, id)) else {
            return Ok(None);
        };
        let stored = match versions.segment(slot.segment) {
            Some(segment) => {
                drop(versions);
                segment.stored(slot.doc)?
            }
            None => {
                let stored = versions.buffered(slot);
                stored.ok_or_else(|| SearchError::engine("a document is in no segment and in no buffer"))?
            }
        };
        Ok(Some((slot.version, stored)))
    }

    /// Returns the position of a document's segment in a view, and its number there, if it is visible.
    pub(crate) fn place(&self, view: &View, type_name: &str, id: &str) -> Result<Option<(usize, u32)>> {
        let key = id_key(type_name, id);
        let versions = self.versions.lock();
        let known = versions.locate(&key).and_then(|place| view.place(place));
        if self.is_current(view) {
            return Ok(known);
        }
        // A document does not move within a segment, but a merged segment has the number of another.
        let known = known.filter(|(at, _)| view.segments.get(*at).is_some_and(|view| versions.has(&view.segment)));
        drop(versions);
        match known {
            Some(place) => Ok(Some(place)),
            None => Ok(view.places()?.get(&key).copied()),
        }
    }

    /// Returns the [places](Shard::place) of the documents whose types and ids match.
    pub(crate) fn places(&self, view: &View, matches: impl Fn(&str, &str) -> bool) -> Result<Vec<(usize, u32)>> {
        let matches = |key: &str| {
            key.split_once('\u{0}')
                .is_some_and(|(type_name, id)| matches(type_name, id))
        };
        let versions = self.versions.lock();
        if self.is_current(view) {
            let places = versions.locate_where(matches);
            return Ok(places.into_iter().filter_map(|place| view.place(place)).collect());
        }
        drop(versions);
        let places = view.places()?.iter();
        Ok(places
            .filter(|(key, _)| matches(key))
            .map(|(_, place)| *place)
            .collect())
    }

    /// Returns whether searches that start now use this view. Views change while the version map is locked.
    fn is_current(&self, view: &View) -> bool {
        std::ptr::eq(&**self.view.read(), view)
    }

    /// Returns the version and the stored fields of a document that is visible to searches.
    pub(crate) fn visible(&self, type_name: &str, id: &str) -> Result<Option<(u64, Stored)>> {
        let view = self.view();
        let place = self.place(&view, type_name, id)?;
        let found = place.and_then(|(at, doc)| Some((view.segments.get(at)?, doc)));
        let found = found.map(|(view, doc)| Ok((view.segment.version(doc), view.segment.stored(doc)?)));
        found.transpose()
    }

    /// The view that searches use.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().clone()
    }

    /// Writes the documents of a buffer to a segment. If that fails, they stay where they are.
    fn flush(&self, buffer: &IndexBuffer, content: &mut BufferContent) -> Result<()> {
        let Some(number) = content.segment else {
            return Ok(());
        };
        buffer.is_flushing.store(true, Ordering::Relaxed);
        let written = self.write_segment(number);
        buffer.is_flushing.store(false, Ordering::Relaxed);
        written?;
        *content = BufferContent::default();
        Ok(())
    }

    fn write_segment(&self, number: u32) -> Result<()> {
        let batch = self.versions.lock().buffers.get(&number).cloned();
        if let Some(batch) = batch {
            let files = self.new_files()?;
            let segment = Segment::of_batch(number, files.clone(), &batch)
                .inspect_err(|_| files.iter().for_each(SegmentFiles::remove))?;
            self.versions.lock().add(Arc::new(segment));
        }
        Ok(())
    }

    /// Flushes all buffers, for a view with all changes so far.
    fn flush_all(&self) -> Result<()> {
        // Cleared before the flush, so that a concurrent change sets it again.
        let since = self.unpublished.lock().take();
        let mut buffers = self.buffers.iter();
        let flushed = buffers.try_for_each(|buffer| self.flush(buffer, &mut buffer.content.lock()));
        if flushed.is_err() {
            *self.unpublished.lock() = since;
        }
        flushed
    }

    /// Makes all changes so far visible to searches.
    pub(crate) fn refresh(&self) -> Result<()> {
        let _one_at_a_time = self.maintenance.lock();
        let began = Instant::now();
        if self.unpublished.lock().is_none() {
            return Ok(());
        }
        self.flush_all()?;
        self.drop_deleted();
        self.publish();
        self.counters.refresh.add(began);
        Ok(())
    }

    /// Drops the segments without a live document, so that their documents do not count in scores.
    fn drop_deleted(&self) {
        let dropped = self.versions.lock().drop_deleted();
        remove_uncommitted(&dropped);
    }

    /// Makes the segments and their deletions visible. A document whose last change is still buffered stays visible as
    /// it was before.
    fn publish(&self) {
        let mut versions = self.versions.lock();
        versions.settle();
        let segments = versions.segments.clone();
        let segments = segments
            .into_iter()
            .map(|segment| SegmentView {
                deleted: versions.hidden(segment.number),
                segment,
            })
            .collect();
        *self.view.write() = Arc::new(View::new(segments));
    }
}

/// Removes the files of segments that are no longer searched. Those of committed segments stay until the next commit.
fn remove_uncommitted(segments: &[Arc<Segment>]) {
    let uncommitted = segments.iter().filter(|segment| !segment.is_committed());
    uncommitted
        .filter_map(|segment| segment.files.as_ref())
        .for_each(SegmentFiles::remove);
}
