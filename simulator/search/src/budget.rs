//! Budget of one request: its deadline, its cancellation, and its limits.
//!
//! Guarantees:
//! - A limit covers the whole request, regardless of its number of queries, shards and segments.
//! - Loops over documents and terms call [`Budget::check`], so the work ends soon after the deadline or after the
//!   client closes the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::options::{Limits, Options};

/// Number of calls of [`Budget::check`] between two reads of the clock.
const CHECK_INTERVAL: usize = 1_024;

/// Maximum number of JSON objects in the queries of one request, as a multiple of the clauses of a boolean query. A
/// clause has at least two objects.
const CLAUSE_FACTOR: usize = 16;

/// Budget of one request.
#[derive(Debug)]
pub(crate) struct Budget {
    cancelled: AtomicBool,
    exceeded: AtomicBool,
    deadline: Instant,
    time: Duration,
    steps: AtomicUsize,
    clauses: Counter,
    text: usize,
    terms: Counter,
    buckets: Counter,
    elements: Counter,
    failure: Arc<Mutex<Option<SearchError>>>,
}

/// Counter with a limit.
#[derive(Debug)]
struct Counter {
    used: AtomicUsize,
    limit: usize,
}

impl Counter {
    fn of(limit: usize) -> Counter {
        Counter {
            used: AtomicUsize::new(0),
            limit,
        }
    }

    /// Adds `number`; returns whether the limit still holds.
    fn add(&self, number: usize) -> bool {
        self.used.fetch_add(number, Ordering::Relaxed).saturating_add(number) <= self.limit
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::of(&Limits::default())
    }
}

/// Cancels a budget when it is dropped.
pub(crate) struct CancelOnDrop(Arc<Budget>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Budget {
    pub(crate) fn new(options: &Options) -> Arc<Budget> {
        Arc::new(Budget::of(&options.limits))
    }

    fn of(limits: &Limits) -> Budget {
        Budget {
            cancelled: AtomicBool::new(false),
            exceeded: AtomicBool::new(false),
            deadline: Instant::now() + limits.time,
            time: limits.time,
            steps: AtomicUsize::new(0),
            clauses: Counter::of(limits.clauses.saturating_mul(CLAUSE_FACTOR)),
            text: limits.text,
            terms: Counter::of(limits.terms),
            buckets: Counter::of(limits.buckets),
            elements: Counter::of(limits.elements),
            failure: Arc::default(),
        }
    }

    /// Whether a limit was exceeded: the request then fails as a whole, not on one shard.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }

    fn exceed(&self, error: SearchError) -> SearchError {
        self.exceeded.store(true, Ordering::Relaxed);
        error
    }

    /// Slot in which a scorer reports that it failed on a document.
    pub(crate) fn failure(&self) -> &Arc<Mutex<Option<SearchError>>> {
        &self.failure
    }

    /// Returns a guard that cancels the work when it is dropped: when the client has closed the connection.
    pub(crate) fn cancel_on_drop(self: &Arc<Budget>) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    /// Fails after the deadline or after cancellation. Cheap enough to call for every document.
    ///
    /// # Errors
    /// A request that has taken too long.
    pub(crate) fn check(&self) -> Result<()> {
        if self
            .steps
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(CHECK_INTERVAL)
        {
            self.check_time()?;
        }
        Ok(())
    }

    /// As [`Budget::check`], but reads the clock on every call.
    ///
    /// # Errors
    /// A request that has taken too long.
    pub(crate) fn check_time(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(self.exceed(SearchError::rejected("the client closed the connection")));
        }
        if Instant::now() > self.deadline {
            let reason = format!("the request took longer than {} ms", self.time.as_millis());
            return Err(self.exceed(SearchError::new(503, Exception::ElasticsearchTimeout, reason)));
        }
        Ok(())
    }

    /// Counts the JSON objects of a query.
    ///
    /// # Errors
    /// More objects than the queries of one request may have, or a text that is too long.
    pub(crate) fn query(&self, body: &Value) -> Result<()> {
        match body {
            Value::Object(members) => {
                if !self.clauses.add(1) {
                    let limit = self.clauses.limit;
                    let reason = format!("the queries of one request have more than {limit} parts");
                    return Err(self.exceed(SearchError::new(400, Exception::TooManyClauses, reason)));
                }
                members.values().try_for_each(|member| self.query(member))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.query(item)),
            Value::String(text) => self.text(text),
            _ => Ok(()),
        }
    }

    /// Checks the length of a text that is to be analyzed.
    ///
    /// # Errors
    /// A text that is too long.
    pub(crate) fn text(&self, text: &str) -> Result<()> {
        if text.len() <= self.text {
            return Ok(());
        }
        let limit = self.text;
        Err(self.exceed(SearchError::illegal(format!(
            "a text of a query is longer than {limit} bytes"
        ))))
    }

    /// Counts the terms that a pattern is compared with or expands to.
    ///
    /// # Errors
    /// More terms than one request may visit.
    pub(crate) fn terms(&self, number: usize) -> Result<()> {
        self.check()?;
        if self.terms.add(number) {
            return Ok(());
        }
        let reason = format!("the patterns of one request visit more than {} terms", self.terms.limit);
        Err(self.exceed(SearchError::new(400, Exception::TooManyClauses, reason)))
    }

    /// Counts buckets of aggregations.
    ///
    /// # Errors
    /// More buckets than one answer may have.
    pub(crate) fn buckets(&self, number: usize) -> Result<()> {
        if self.buckets.add(number) {
            return Ok(());
        }
        let reason = format!("the answer would have more than {} buckets", self.buckets.limit);
        Err(self.exceed(SearchError::new(400, Exception::AggregationExecution, reason)))
    }

    /// Counts elements of a request: aggregations, patterns of a source filter, fields.
    ///
    /// # Errors
    /// More elements than one request may have.
    pub(crate) fn elements(&self, what: &str, number: usize) -> Result<()> {
        if self.elements.add(number) {
            return Ok(());
        }
        Err(self.exceed(SearchError::illegal(format!(
            "one request has more than {} elements such as {what}",
            self.elements.limit
        ))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_covers_the_whole_request() {
        let budget = Budget::of(&Limits {
            buckets: 3,
            ..Limits::default()
        });
        assert!(budget.buckets(2).is_ok());
        assert_eq!(budget.buckets(2).unwrap_err().kind, Exception::AggregationExecution);
    }

    #[test]
    fn work_ends_after_its_deadline_and_when_the_client_disconnects() {
        let late = Budget::of(&Limits {
            time: Duration::ZERO,
            ..Limits::default()
        });
        assert_eq!(late.check().unwrap_err().status, 503);
        let left = Arc::new(Budget::default());
        drop(left.cancel_on_drop());
        assert_eq!(left.check().unwrap_err().status, 429);
    }
}
