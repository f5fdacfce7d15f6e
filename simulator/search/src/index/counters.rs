//! Operation counters of a shard.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

/// Number and total duration of operations of one kind.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    total: AtomicU64,
    nanos: AtomicU64,
}

impl Meter {
    /// Counts an operation that began at `began`.
    pub(crate) fn add(&self, began: Instant) {
        let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.total.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Number of operations.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Total duration in milliseconds.
    pub(crate) fn millis(&self) -> u64 {
        self.nanos.load(Ordering::Relaxed) / 1_000_000
    }
}

/// Maximum number of groups of searches that are counted. Later groups are not.
const MAX_GROUPS: usize = 1_000;

/// Counters of searches.
#[derive(Debug, Default)]
pub(crate) struct SearchMeters {
    pub(crate) query: Meter,
    pub(crate) fetch: Meter,
}

/// A merge that runs.
#[derive(Debug)]
pub(crate) struct Merging {
    /// Number of visible documents of its segments.
    pub(crate) docs: u64,
    /// Size of its segments, in bytes.
    pub(crate) bytes: u64,
}

/// Operation counters of a shard.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) indexing: Meter,
    pub(crate) deletion: Meter,
    /// Gets of documents that exist.
    pub(crate) found: Meter,
    /// Gets of documents that do not exist.
    pub(crate) missed: Meter,
    pub(crate) search: SearchMeters,
    /// Searches by the groups that they name.
    pub(crate) groups: Mutex<BTreeMap<String, Arc<SearchMeters>>>,
    pub(crate) suggest: Meter,
    pub(crate) refresh: Meter,
    pub(crate) flush: Meter,
    pub(crate) merge: Meter,
    pub(crate) merged_docs: AtomicU64,
    pub(crate) merged_bytes: AtomicU64,
    /// The merge that runs.
    pub(crate) merging: Mutex<Option<Merging>>,
    /// Number of writes and of deletions, by type.
    pub(crate) types: Mutex<BTreeMap<String, [u64; 2]>>,
}

impl Counters {
    /// Counts a write that began at `began`.
    pub(crate) fn indexed(&self, type_name: &str, began: Instant) {
        self.indexing.add(began);
        self.add_type(type_name, 0);
    }

    /// Counts a deletion that began at `began`.
    pub(crate) fn deleted(&self, type_name: &str, began: Instant) {
        self.deletion.add(began);
        self.add_type(type_name, 1);
    }

    /// Counts a step of a search, also for the groups that the search names.
    pub(crate) fn searched(&self, groups: &[String], count: impl Fn(&SearchMeters)) {
        count(&self.search);
        if groups.is_empty() {
            return;
        }
        let mut known = self.groups.lock();
        for name in groups {
            if known.len() < MAX_GROUPS || known.contains_key(name) {
                count(known.entry(name.clone()).or_default());
            }
        }
    }

    fn add_type(&self, type_name: &str, kind: usize) {
        let mut types = self.types.lock();
        match types.get_mut(type_name) {
            Some(counts) => counts[kind] += 1,
            None => types.entry(type_name.to_owned()).or_default()[kind] += 1,
        }
    }
}
