//! Merges of a shard's segments.
//!
//! Limits: ten segments per merge.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use foldhash::{HashMap, HashMapExt};

use super::{Shard, remove_uncommitted};
use crate::error::Result;
use crate::index::bits::Bits;
use crate::index::segment::Segment;
use crate::index::version_map::LiveDocs;

/// Number of segments of similar size that are merged into one.
pub(super) const MERGE_FACTOR: usize = 10;

impl Shard {
    /// Merges segments of similar size as long as there are ten of them.
    pub(crate) fn maybe_merge(&self) -> Result<()> {
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
        self.flush_all()?;
        let all = self.versions.lock().segments.clone();
        if all.len() > 1 || !self.versions.lock().live_docs.is_empty() {
            self.merge(&all)?;
        }
        let versions = self.versions.lock();
        versions.segments.iter().for_each(|segment| segment.set_optimized());
        drop(versions);
        self.publish();
        Ok(())
    }

    /// Merges ten segments of similar size. Returns whether there were ten.
    fn merge_once(&self) -> Result<bool> {
        let segments = self.versions.lock().segments.clone();
        let level = |segment: &Segment| (segment.max_doc() / 100).checked_ilog10().unwrap_or(0);
        for target in 0..8 {
            let similar: Vec<Arc<Segment>> = segments
                .iter()
                .filter(|segment| level(segment) == target)
                .take(MERGE_FACTOR)
                .cloned()
                .collect();
            if similar.len() == MERGE_FACTOR {
                self.merge(&similar)?;
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
            let versions = self.versions.lock();
            segments
                .iter()
                .map(|segment| {
                    versions
                        .live_docs
                        .get(&segment.number)
                        .map(|live_docs| live_docs.deleted.clone())
                })
                .collect()
        };
        // New number of each document. Live documents stay in their order.
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
        // The merged segment has the number, and so the position, of the first one.
        let merged = if next == 0 {
            None
        } else {
            let files = self.new_files()?;
            Some(Segment::merged(segments, &deleted, first.number, files)?)
        };
        let mut versions = self.versions.lock();
        self.counters.merge.add(began);
        self.counters.merged_docs.fetch_add(u64::from(next), Ordering::Relaxed);
        let bytes = merged.as_ref().map_or(0, Segment::bytes);
        self.counters.merged_bytes.fetch_add(bytes, Ordering::Relaxed);
        let deleted_since = versions.relocate(&moves, first.number, next);
        versions.segments.retain(|segment| !moves.contains_key(&segment.number));
        versions.live_docs.retain(|number, _| !moves.contains_key(number));
        if let Some(merged) = merged {
            if deleted_since.len() > 0 {
                versions.live_docs.insert(
                    first.number,
                    LiveDocs {
                        deleted: deleted_since,
                        published: None,
                    },
                );
            }
            versions.add(merged);
        }
        drop(versions);
        remove_uncommitted(segments);
        Ok(())
    }
}
