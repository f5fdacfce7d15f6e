//! Scrolls: searches whose hits are fetched page by page.
//!
//! Guarantees: the pages are of one moment, whatever is written between them.
//! Limits: a bounded number of scrolls and of their hits, each ended when it has not been used for as long as it was asked to be kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::error::{Result, SearchError};
use crate::find::{Outcome, SearchRequest};

/// A search and how far it has been fetched.
pub(crate) struct Scroll {
    pub(crate) request: SearchRequest,
    pub(crate) outcome: Arc<Outcome>,
    at: usize,
    /// Number of hits of a page.
    page: usize,
    expires: Duration,
}

/// The scrolls that are open.
pub(crate) struct Scrolls {
    most: usize,
    most_hits: usize,
    open: Mutex<(u64, BTreeMap<u64, Scroll>)>,
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
    pub(crate) fn open(
        &self,
        request: SearchRequest,
        outcome: Arc<Outcome>,
        next: std::ops::Range<usize>,
        keep: Duration,
        now: Duration,
    ) -> Result<u64> {
        let mut open = self.open.lock();
        let (last, scrolls) = &mut *open;
        scrolls.retain(|_, scroll| scroll.expires >= now);
        if scrolls.len() >= self.most {
            return Err(SearchError::rejected(format!(
                "there are {} open scrolls already",
                self.most
            )));
        }
        let kept: usize = scrolls.values().map(|scroll| scroll.outcome.hits.len()).sum();
        if kept.saturating_add(outcome.hits.len()) > self.most_hits {
            return Err(SearchError::rejected(format!(
                "the open scrolls would keep more than {} hits",
                self.most_hits
            )));
        }
        *last += 1;
        scrolls.insert(
            *last,
            Scroll {
                request,
                outcome,
                at: next.start,
                page: next.len(),
                expires: now.saturating_add(keep),
            },
        );
        Ok(*last)
    }

    /// The next page of a scroll: the search, and from where to where its hits go.
    pub(crate) fn next(
        &self,
        number: u64,
        keep: Option<Duration>,
        now: Duration,
    ) -> Option<(SearchRequest, Arc<Outcome>, std::ops::Range<usize>)> {
        let mut open = self.open.lock();
        let scrolls = &mut open.1;
        scrolls.retain(|_, scroll| scroll.expires >= now);
        let scroll = scrolls.get_mut(&number)?;
        if let Some(keep) = keep {
            scroll.expires = now.saturating_add(keep);
        }
        let from = scroll.at.min(scroll.outcome.hits.len());
        let to = from.saturating_add(scroll.page).min(scroll.outcome.hits.len());
        scroll.at = to;
        Some((scroll.request.clone(), scroll.outcome.clone(), from..to))
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
