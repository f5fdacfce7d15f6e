//! Scrolls: searches whose hits are fetched page by page.
//!
//! Guarantees: the pages are of one moment, whatever is written between them; a page that fails can be fetched again.
//! Limits: a bounded number of scrolls and of the hits that they keep, each ended when it has not been used for as long as it was asked to be kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::cluster::Cluster;
use crate::error::{Result, SearchError};
use crate::find::{Candidate, Lost, Outcome, Scan, SearchRequest, hits_after};

/// Most hits that a scroll keeps at a time, unless a page has more.
const KEPT_HITS: usize = 50_000;

/// How the hits of a scroll are found.
enum Hits {
    /// In the order of the index, a number of every shard at a time.
    Scan(Scan),
    /// In their order: those that are kept, and how many of them were returned.
    Sorted {
        kept: Vec<Candidate>,
        returned: usize,
        /// Whether others may come after them.
        more: bool,
    },
}

/// A search that is kept open.
pub(crate) struct Scroll {
    pub(crate) request: SearchRequest,
    pub(crate) outcome: Outcome,
    /// Number of hits of a page; in a scan, of every shard.
    page: usize,
    /// Most hits that it keeps.
    room: usize,
    hits: Mutex<Hits>,
}

impl Scroll {
    /// Number of hits that a scroll with pages of a size keeps, of at most `limit`.
    pub(crate) fn room(page: usize, limit: usize) -> usize {
        page.max(KEPT_HITS).min(limit)
    }

    /// A scroll in the order of the index.
    pub(crate) fn scan(request: SearchRequest, outcome: Outcome, page: usize) -> Scroll {
        Scroll {
            request,
            outcome,
            page,
            room: 0,
            hits: Mutex::new(Hits::Scan(Scan::default())),
        }
    }

    /// A scroll over the hits of an outcome; with `more`, others may come after them.
    pub(crate) fn sorted(request: SearchRequest, mut outcome: Outcome, page: usize, more: bool) -> Scroll {
        let kept = std::mem::take(&mut outcome.hits);
        let room = kept.len();
        let hits = Hits::Sorted {
            kept,
            returned: 0,
            more,
        };
        Scroll {
            request,
            outcome,
            page,
            room,
            hits: Mutex::new(hits),
        }
    }

    /// The next page, without the hits of the shards in `lost`. `request` is the scroll's, with the limits of the request
    /// for the page.
    ///
    /// # Errors
    /// A search that exceeds the limits.
    pub(crate) fn next(&self, cluster: &Cluster, request: &SearchRequest, lost: &Lost) -> Result<Vec<Candidate>> {
        match &mut *self.hits.lock() {
            Hits::Scan(scan) => scan.page(request, &self.outcome, self.page, lost),
            Hits::Sorted { kept, returned, more } => {
                let rest = kept.iter().enumerate().skip(*returned);
                let there = rest.filter(|(_, hit)| !lost.contains(&hit.index)).take(self.page);
                let (places, mut page): (Vec<usize>, Vec<Candidate>) = there.map(|(at, hit)| (at, hit.clone())).unzip();
                match kept.last() {
                    Some(last) if *more && page.len() < self.page => {
                        let next = hits_after(cluster, request, (&self.outcome, lost), last, self.room)?;
                        let missing = (self.page - page.len()).min(next.len());
                        page.extend(next.iter().take(missing).cloned());
                        (*returned, *more) = (missing, next.len() == self.room);
                        *kept = next;
                    }
                    _ => *returned = places.last().map_or(*returned, |last| last + 1),
                }
                Ok(page)
            }
        }
    }
}

/// An open scroll, and when it ends.
struct Open {
    scroll: Arc<Scroll>,
    /// Names of its indices that were deleted or closed.
    lost: BTreeSet<String>,
    expires: Duration,
}

/// The scrolls that are open.
pub(crate) struct Scrolls {
    most: usize,
    most_hits: usize,
    open: Mutex<(u64, BTreeMap<u64, Open>)>,
}

impl Scrolls {
    pub(crate) fn new(most: usize, most_hits: usize) -> Scrolls {
        Scrolls {
            most,
            most_hits,
            open: Mutex::default(),
        }
    }

    /// Opens a scroll; returns its number.
    pub(crate) fn open(&self, scroll: Arc<Scroll>, keep: Duration, now: Duration) -> Result<u64> {
        let mut open = self.open.lock();
        let (last, scrolls) = &mut *open;
        scrolls.retain(|_, open| open.expires >= now);
        if scrolls.len() >= self.most {
            return Err(SearchError::rejected(format!(
                "there are {} open scrolls already",
                self.most
            )));
        }
        let kept: usize = scrolls.values().map(|open| open.scroll.room).sum();
        if kept.saturating_add(scroll.room) > self.most_hits {
            return Err(SearchError::rejected(format!(
                "the open scrolls would keep more than {} hits",
                self.most_hits
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

    /// An open scroll, which stays open for `keep` from now on, and its shards whose index was deleted or closed.
    pub(crate) fn get(&self, number: u64, keep: Option<Duration>, now: Duration) -> Option<(Arc<Scroll>, Lost)> {
        let mut open = self.open.lock();
        let scrolls = &mut open.1;
        scrolls.retain(|_, open| open.expires >= now);
        let open = scrolls.get_mut(&number)?;
        if let Some(keep) = keep {
            open.expires = now.saturating_add(keep);
        }
        let searched = open.scroll.outcome.searched.iter().enumerate();
        let lost = searched.filter(|(_, searched)| open.lost.contains(&searched.index.name));
        Some((open.scroll.clone(), lost.map(|(at, _)| at).collect()))
    }

    /// Ends the scrolls that have no other index than one that was deleted or closed.
    pub(crate) fn lose(&self, index: &str) {
        self.open.lock().1.retain(|_, open| {
            let mut searched = open.scroll.outcome.searched.iter().map(|searched| &searched.index.name);
            if !searched.clone().any(|name| name == index) {
                return true;
            }
            open.lost.insert(index.to_owned());
            searched.any(|name| !open.lost.contains(name))
        });
    }

    /// Ends a scroll; true if it was open.
    pub(crate) fn close(&self, number: u64) -> bool {
        self.open.lock().1.remove(&number).is_some()
    }

    pub(crate) fn close_all(&self) -> usize {
        let scrolls = std::mem::take(&mut self.open.lock().1);
        scrolls.len()
    }
}
