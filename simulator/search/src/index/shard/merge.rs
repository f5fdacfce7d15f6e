//! Merges of a shard's segments.
//!
//! Limits: segments are merged ten at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::Shard;
use crate::durable::SegmentFiles;
use crate::error::Result;
use crate::index::bits::Bits;
use crate::index::ids::LiveDocs;
use crate::index::segment::Segment;

/// Number of segments of like size that are merged into one.
pub(super) const MERGE_FACTOR: usize = 10;

impl Shard {
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
            let files = self.new_files()?;
            Some(Arc::new(Segment::merged(segments, &deleted, first.number, files)?))
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
        drop(ids);
        // The files of committed segments are needed until the next commit.
        let unneeded = segments.iter().filter(|segment| !segment.is_committed());
        unneeded
            .filter_map(|segment| segment.files.as_ref())
            .for_each(SegmentFiles::remove);
        Ok(())
    }
}
