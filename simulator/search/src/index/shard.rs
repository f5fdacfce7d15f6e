//! The data of one index: its writers, its ids, its segments.
//!
//! Promises: locks are taken in the order maintenance, lane, ids, view; none is held while a segment is merged but the one that keeps merges apart.
//! Limits: a lane is closed at 16 MB; segments are merged ten at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::bits::Bits;
use super::encoded::{Encoded, Stored};
use super::ids::{Condition, Dead, Ids, Written, id_key};
use super::segment::{Segment, SegmentWriter};
use super::view::{SegmentView, View};
use crate::error::{Result, SearchError};

/// At how many bytes a lane is closed.
const LANE_BYTES: usize = 16_000_000;
/// How many segments of like size are merged into one.
const MERGE_AT: usize = 10;
/// How many writers can be at work at once.
const LANES: usize = 8;

/// One writer's buffer: the segment that it fills.
struct Lane {
    number: u32,
    writer: Option<SegmentWriter>,
}

/// The data of one index.
pub(crate) struct Shard {
    lanes: Vec<Mutex<Lane>>,
    ids: Mutex<Ids>,
    maintenance: Mutex<()>,
    view: RwLock<Arc<View>>,
    /// The moment of the oldest change that no search sees yet.
    dirty: Mutex<Option<Duration>>,
    is_dirty: AtomicBool,
}

impl Shard {
    pub(crate) fn new() -> Shard {
        Shard {
            lanes: (0..LANES)
                .map(|_| {
                    Mutex::new(Lane {
                        number: 0,
                        writer: None,
                    })
                })
                .collect(),
            ids: Mutex::default(),
            maintenance: Mutex::default(),
            view: RwLock::default(),
            dirty: Mutex::default(),
            is_dirty: AtomicBool::new(false),
        }
    }

    fn touch(&self, now: Duration) {
        if !self.is_dirty.swap(true, Ordering::AcqRel) {
            *self.dirty.lock() = Some(now);
        }
    }

    /// The moment of the oldest change that no search sees yet.
    pub(crate) fn dirty_since(&self) -> Option<Duration> {
        *self.dirty.lock()
    }

    /// Writes a document; `now` is the moment, for refreshing in time.
    pub(crate) fn write(
        &self,
        type_name: &str,
        id: &str,
        document: Encoded,
        condition: Condition,
        now: Duration,
    ) -> Result<Written> {
        let free = self.lanes.iter().find_map(|lane| lane.try_lock());
        let mut lane = match (free, self.lanes.first()) {
            (Some(lane), _) => lane,
            (None, Some(first)) => first.lock(),
            (None, None) => return Err(SearchError::engine("an index without writers")),
        };
        let lane = &mut *lane;
        let writer = match &mut lane.writer {
            Some(writer) => writer,
            none => {
                lane.number = self.ids.lock().new_segment();
                none.insert(SegmentWriter::new()?)
            }
        };
        let doc = writer.documents();
        let written = self
            .ids
            .lock()
            .put(id_key(type_name, id), lane.number, doc, condition)?;
        writer.add(document)?;
        self.touch(now);
        if writer.memory() > LANE_BYTES {
            self.seal(lane)?;
        }
        Ok(written)
    }

    /// Deletes a document.
    pub(crate) fn delete(&self, type_name: &str, id: &str, condition: Condition, now: Duration) -> Result<Written> {
        let written = self.ids.lock().delete(id_key(type_name, id), condition)?;
        self.touch(now);
        Ok(written)
    }

    /// Deletes every document whose type and id `unwanted` picks; returns how many.
    pub(crate) fn delete_where(&self, unwanted: impl Fn(&str, &str) -> bool, now: Duration) -> usize {
        let count = self.ids.lock().delete_where(|key| {
            key.split_once('\u{0}')
                .is_some_and(|(type_name, id)| unwanted(type_name, id))
        });
        self.touch(now);
        count
    }

    /// What is stored of a document, and its version, whether or not a search would see it.
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
                    ids.sealed
                        .iter()
                        .find(|segment| segment.number == slot.segment)
                        .cloned(),
                )
            };
            match segment {
                Some(segment) => return Ok(Some((slot.version, segment.stored(slot.doc)?))),
                // Still in a writer's buffer.
                None => self.seal_all()?,
            }
        }
        Err(SearchError::engine("a document moved faster than it could be read"))
    }

    /// The version of a document, if it exists.
    pub(crate) fn version(&self, type_name: &str, id: &str) -> Option<u64> {
        self.ids.lock().get(&id_key(type_name, id)).map(|slot| slot.version)
    }

    /// Where the documents with these ids are: segment and number.
    pub(crate) fn locate(&self, type_name: &str, id: &str) -> Option<(u32, u32)> {
        self.ids
            .lock()
            .get(&id_key(type_name, id))
            .map(|slot| (slot.segment, slot.doc))
    }

    /// What searches see now.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().clone()
    }

    fn seal(&self, lane: &mut Lane) -> Result<()> {
        if let Some(writer) = lane.writer.take_if(|writer| writer.documents() > 0) {
            let segment = Arc::new(writer.finish(lane.number)?);
            let mut ids = self.ids.lock();
            ids.sealed.push(segment);
            ids.sealed.sort_by_key(|segment| segment.number);
        }
        Ok(())
    }

    fn seal_all(&self) -> Result<()> {
        self.lanes.iter().try_for_each(|lane| self.seal(&mut lane.lock()))
    }

    /// Makes everything that was written so far visible to searches.
    pub(crate) fn refresh(&self) -> Result<()> {
        let _one_at_a_time = self.maintenance.lock();
        if !self.is_dirty.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        *self.dirty.lock() = None;
        self.seal_all()?;
        while self.merge_once()? {}
        self.publish();
        Ok(())
    }

    /// Merges everything into one segment, without what has died.
    pub(crate) fn optimize(&self) -> Result<()> {
        let _one_at_a_time = self.maintenance.lock();
        self.is_dirty.store(false, Ordering::Release);
        *self.dirty.lock() = None;
        self.seal_all()?;
        let all = self.ids.lock().sealed.clone();
        if all.len() > 1 || !self.ids.lock().dead.is_empty() {
            self.merge(&all)?;
        }
        self.publish();
        Ok(())
    }

    fn publish(&self) {
        let mut ids = self.ids.lock();
        let sealed = ids.sealed.clone();
        let segments = sealed
            .into_iter()
            .map(|segment| {
                let dead = ids.dead.get_mut(&segment.number).map(|dead| {
                    dead.published
                        .get_or_insert_with(|| Arc::new(dead.docs.clone()))
                        .clone()
                });
                SegmentView { segment, dead }
            })
            .collect();
        *self.view.write() = Arc::new(View { segments });
    }

    /// Merges ten segments of like size, if there are; true if it did.
    fn merge_once(&self) -> Result<bool> {
        let sealed = self.ids.lock().sealed.clone();
        let level = |segment: &Segment| (segment.max_doc() / 100).checked_ilog10().unwrap_or(0);
        for wanted in 0..8 {
            let alike: Vec<Arc<Segment>> = sealed
                .iter()
                .filter(|segment| level(segment) == wanted)
                .take(MERGE_AT)
                .cloned()
                .collect();
            if alike.len() == MERGE_AT {
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
        let dead: Vec<Option<Bits>> = {
            let ids = self.ids.lock();
            segments
                .iter()
                .map(|segment| ids.dead.get(&segment.number).map(|dead| dead.docs.clone()))
                .collect()
        };
        // Where each document goes: the living ones close ranks.
        let mut moves: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut next = 0;
        for (segment, dead) in segments.iter().zip(&dead) {
            let places = (0..segment.max_doc()).map(|doc| {
                if dead.as_ref().is_some_and(|dead| dead.contains(doc)) {
                    return u32::MAX;
                }
                next += 1;
                next - 1
            });
            moves.insert(segment.number, places.collect());
        }
        // The merged segment takes the number, and so the place, of the first.
        let merged = if next == 0 {
            None
        } else {
            Some(Arc::new(Segment::merged(segments, &dead, first.number)?))
        };
        let mut ids = self.ids.lock();
        let died_since = ids.relocate(&moves, first.number, next);
        ids.sealed.retain(|segment| !moves.contains_key(&segment.number));
        ids.dead.retain(|number, _| !moves.contains_key(number));
        if let Some(merged) = merged {
            if died_since.len() > 0 {
                ids.dead.insert(
                    first.number,
                    Dead {
                        docs: died_since,
                        published: None,
                    },
                );
            }
            ids.sealed.push(merged);
            ids.sealed.sort_by_key(|segment| segment.number);
        }
        Ok(())
    }
}
