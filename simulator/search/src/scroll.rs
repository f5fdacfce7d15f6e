//! Scrolls: searches whose hits are fetched page by page.
//!
//! - Guarantees: all pages are from one point in time, regardless of later writes; a page that fails can be fetched
//!   again.
//! - Limits: a bounded number of scrolls and of buffered hits; a scroll expires when it has not been used for its
//!   `scroll` duration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::cluster::Cluster;
use crate::error::{Result, SearchError};
use crate::find::{Candidate, Lost, Outcome, Scan, SearchRequest, hits_after};

/// Maximum number of hits that a scroll buffers, unless a page has more.
const MAX_BUFFERED_HITS: usize = 50_000;

/// State of the iteration over the hits.
enum Hits {
    /// In index order, a number of hits from every shard per page.
    Scan(Scan),
    /// In sort order.
    Sorted {
        buffered: Vec<Candidate>,
        /// Number of buffered hits that were returned already.
        returned: usize,
        /// Whether there may be hits after the buffered ones.
        more: bool,
    },
}

/// A search with an open cursor.
pub(crate) struct Scroll {
    pub(crate) request: SearchRequest,
    pub(crate) outcome: Outcome,
    /// Number of hits of a page; in a scan, per shard.
    page: usize,
    /// Maximum number of buffered hits.
    capacity: usize,
    hits: Mutex<Hits>,
}

impl Scroll {
    /// Returns the number of hits that a scroll with pages of size `page` buffers, at most `limit`.
    pub(crate) fn capacity(page: usize, limit: usize) -> usize {
        page.max(MAX_BUFFERED_HITS).min(limit)
    }

    /// Creates a scroll in index order.
    pub(crate) fn scan(request: SearchRequest, outcome: Outcome, page: usize) -> Scroll {
        Scroll {
            request,
            outcome,
            page,
            capacity: 0,
            hits: Mutex::new(Hits::Scan(Scan::default())),
        }
    }

    /// Creates a scroll over the hits of an outcome. `more`: there may be hits after them.
    pub(crate) fn sorted(request: SearchRequest, mut outcome: Outcome, page: usize, more: bool) -> Scroll {
        let buffered = std::mem::take(&mut outcome.hits);
        let capacity = buffered.len();
        let hits = Hits::Sorted {
            buffered,
            returned: 0,
            more,
        };
        Scroll {
            request,
            outcome,
            page,
            capacity,
            hits: Mutex::new(hits),
        }
    }

    /// Number of shards that the next page of a scan asks. `None`: it is not a scan.
    pub(crate) fn scanned(&self) -> Option<usize> {
        match &*self.hits.lock() {
            Hits::Scan(scan) => Some(scan.shards(&self.outcome)),
            Hits::Sorted { .. } => None,
        }
    }

    /// Returns the next page, without the hits of the shards in `lost`. `request` is that of the scroll, with the
    /// budget of the request for this page.
    ///
    /// # Errors
    /// A search that exceeds the limits.
    pub(crate) fn next(&self, cluster: &Cluster, request: &SearchRequest, lost: &Lost) -> Result<Vec<Candidate>> {
        match &mut *self.hits.lock() {
            Hits::Scan(scan) => scan.page(request, &self.outcome, self.page, lost),
            Hits::Sorted {
                buffered,
                returned,
                more,
            } => {
                let rest = buffered.iter().enumerate().skip(*returned);
                let available = rest.filter(|(_, hit)| !lost.contains(&hit.index)).take(self.page);
                let (places, mut page): (Vec<usize>, Vec<Candidate>) =
                    available.map(|(at, hit)| (at, hit.clone())).unzip();
                match buffered.last() {
                    Some(last) if *more && page.len() < self.page => {
                        let next = hits_after(cluster, request, (&self.outcome, lost), last, self.capacity)?;
                        let missing = (self.page - page.len()).min(next.len());
                        page.extend(next.iter().take(missing).cloned());
                        (*returned, *more) = (missing, next.len() == self.capacity);
                        *buffered = next;
                    }
                    _ => *returned = places.last().map_or(*returned, |last| last + 1),
                }
                Ok(page)
            }
        }
    }
}

/// An open scroll.
struct Open {
    scroll: Arc<Scroll>,
    /// Names of the indices of the search that were deleted or closed.
    lost: BTreeSet<String>,
    expires: Duration,
}

/// All open scrolls.
pub(crate) struct Scrolls {
    max_scrolls: usize,
    max_hits: usize,
    open: Mutex<(u64, BTreeMap<u64, Open>)>,
}

/// Seconds between removals of expired scrolls.
const REAP_SECONDS: u64 = 60;

/// Returns the time of the last removal of expired scrolls.
fn reaped(now: Duration) -> Duration {
    Duration::from_secs(now.as_secs() / REAP_SECONDS * REAP_SECONDS)
}

impl Scrolls {
    pub(crate) fn new(max_scrolls: usize, max_hits: usize) -> Scrolls {
        Scrolls {
            max_scrolls,
            max_hits,
            open: Mutex::default(),
        }
    }

    /// Opens a scroll and returns its number.
    ///
    /// # Errors
    /// Too many open scrolls or buffered hits.
    pub(crate) fn open(&self, scroll: Arc<Scroll>, keep: Duration, now: Duration) -> Result<u64> {
        let mut open = self.open.lock();
        let (last, scrolls) = &mut *open;
        scrolls.retain(|_, open| open.expires >= reaped(now));
        if scrolls.len() >= self.max_scrolls {
            return Err(SearchError::rejected(format!(
                "there are already {} open scrolls",
                self.max_scrolls
            )));
        }
        let buffered: usize = scrolls.values().map(|open| open.scroll.capacity).sum();
        if buffered.saturating_add(scroll.capacity) > self.max_hits {
            return Err(SearchError::rejected(format!(
                "the open scrolls would buffer more than {} hits",
                self.max_hits
            )));
        }
        *last += 1;
        let expires = now.saturating_add(keep);
        let open = Open {
            scroll,
            lost: BTreeSet::new(),
            expires,
        };
        scrolls.insert(*last, open);
        Ok(*last)
    }

    /// Returns an open scroll, and its shards whose index was deleted or closed. `keep` extends the scroll from `now`
    /// on.
    pub(crate) fn get(&self, number: u64, keep: Option<Duration>, now: Duration) -> Option<(Arc<Scroll>, Lost)> {
        let mut open = self.open.lock();
        let scrolls = &mut open.1;
        scrolls.retain(|_, open| open.expires >= reaped(now));
        let open = scrolls.get_mut(&number)?;
        if let Some(keep) = keep {
            open.expires = now.saturating_add(keep);
        }
        let searched = open.scroll.outcome.searched.iter().enumerate();
        let lost = searched.filter(|(_, searched)| open.lost.contains(&searched.index.name));
        Some((open.scroll.clone(), lost.map(|(at, _)| at).collect()))
    }

    /// Handles the deletion or closing of an index: ends the scrolls that have no other index left.
    pub(crate) fn remove_index(&self, index: &str) {
        self.open.lock().1.retain(|_, open| {
            let mut searched = open.scroll.outcome.searched.iter().map(|searched| &searched.index.name);
            if !searched.clone().any(|name| name == index) {
                return true;
            }
            open.lost.insert(index.to_owned());
            searched.any(|name| !open.lost.contains(name))
        });
    }

    /// Closes a scroll. Returns whether it was open.
    pub(crate) fn close(&self, number: u64) -> bool {
        self.open.lock().1.remove(&number).is_some()
    }

    pub(crate) fn close_all(&self) -> usize {
        let scrolls = std::mem::take(&mut self.open.lock().1);
        scrolls.len()
    }
}
