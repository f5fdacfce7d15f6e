//! Merges of a shard's segments.
//!
//! Limits: ten segments per merge.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use foldhash::{HashMap, HashMapExt};

use super::{Shard, remove_uncommitted};
use crate::error::Result;
use crate::index::counters::Merging;
use crate::index::segment::Segment;
use crate::index::version_map::LiveDocs;
use crate::index::versions::Versions;
use crate::index::view::{SegmentView, View};

/// Number of segments of similar size that are merged into one.
pub(super) const MERGE_FACTOR: usize = 10;

impl Shard {
    /// Merges visible segments of similar size as long as there are ten of them.
    pub(crate) fn maybe_merge(&self) -> Result<()> {
        let _one_at_a_time = self.maintenance.lock();
        while self.merge_once()? {}
        Ok(())
    }

    /// Merges all visible segments into one, without deleted documents. `refreshes`: makes all changes visible before.
    pub(crate) fn optimize(&self, refreshes: bool) -> Result<()> {
        let _one_at_a_time = self.maintenance.lock();
        if refreshes {
            self.flush_all()?;
            self.publish();
        }
        let all = self.view();
        if all.segments.len() > 1 || all.segments.iter().any(|view| view.deleted.is_some()) {
            self.merge(&all.segments)?;
        }
        let all = self.view();
        all.segments.iter().for_each(|view| view.segment.set_optimized());
        Ok(())
    }

    /// Merges ten segments of similar size. Returns whether there were ten.
    fn merge_once(&self) -> Result<bool> {
        let view = self.view();
        let level = |segment: &Segment| (segment.max_doc() / 100).checked_ilog10().unwrap_or(0);
        for target in 0..8 {
            let similar: Vec<SegmentView> = view
                .segments
                .iter()
                .filter(|view| level(&view.segment) == target)
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

    /// Merges visible segments, without the documents that are not visible. What is visible stays the same.
    fn merge(&self, views: &[SegmentView]) -> Result<()> {
        *self.counters.merging.lock() = Some(Merging {
            docs: views.iter().map(|view| u64::from(view.live_docs())).sum(),
            bytes: views.iter().map(|view| view.segment.bytes()).sum(),
        });
        let merged = self.replace_by_merged(views);
        *self.counters.merging.lock() = None;
        merged
    }

    fn replace_by_merged(&self, views: &[SegmentView]) -> Result<()> {
        let Some(first) = views.first() else {
            return Ok(());
        };
        let number = first.segment.number;
        // New number of each document. Visible documents stay in their order.
        let mut moves: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut kept = Versions::default();
        let mut next = 0;
        let began = Instant::now();
        for view in views {
            let numbers = (0..view.segment.max_doc()).map(|doc| {
                if !view.is_live(doc) {
                    return u32::MAX;
                }
                next += 1;
                next - 1
            });
            let numbers: Vec<u32> = numbers.collect();
            kept.merge(&view.segment.versions, &numbers);
            moves.insert(view.segment.number, numbers);
        }
        // The merged segment has the number, and so the position, of the first one.
        let merged = if next == 0 {
            None
        } else {
            let files = self.new_files()?;
            let segments = views.iter().map(|view| (&*view.segment, view.deleted.as_deref()));
            Some(Segment::merged(&segments.collect::<Vec<_>>(), number, files, kept)?)
        };
        let mut versions = self.versions.lock();
        self.counters.merge.add(began);
        self.counters.merged_docs.fetch_add(u64::from(next), Ordering::Relaxed);
        let bytes = merged.as_ref().map_or(0, Segment::bytes);
        self.counters.merged_bytes.fetch_add(bytes, Ordering::Relaxed);
        let deleted_since = versions.relocate(&moves, number, next);
        versions.segments.retain(|segment| !moves.contains_key(&segment.number));
        versions.live_docs.retain(|number, _| !moves.contains_key(number));
        let mut segments = self.view().segments.clone();
        segments.retain(|view| !moves.contains_key(&view.segment.number));
        if let Some(merged) = merged {
            if deleted_since.len() > 0 {
                versions.live_docs.insert(
                    number,
                    LiveDocs {
                        deleted: deleted_since,
                        published: None,
                    },
                );
            }
            let merged = Arc::new(merged);
            versions.add(merged.clone());
            let at = segments.partition_point(|view| view.segment.number < number);
            let merged = SegmentView {
                segment: merged,
                deleted: None,
            };
            segments.insert(at, merged);
        }
        *self.view.write() = Arc::new(View::new(segments));
        drop(versions);
        let merged: Vec<Arc<Segment>> = views.iter().map(|view| view.segment.clone()).collect();
        remove_uncommitted(&merged);
        Ok(())
    }
}
