//! Work queue of keys.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    hash::Hash,
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::clock::Clock;

/// Delay of the first rate-limited retry of a key. Each further retry doubles it.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(5);
/// Maximum delay of a rate-limited retry.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(1000);

/// Queue of keys. Each key is processed by at most one worker at a time.
///
/// - Adding a key that is queued has no effect. A key that is added while it is processed is queued again when it is
///   done.
/// - Delays are measured on the cluster's clock.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// use stuntdouble_simulator::{WorkQueue, Clock};
///
/// let queue = WorkQueue::new(Clock::real());
/// queue.add("a");
/// queue.add("a");
/// let key = queue.next().await;
/// queue.add("a");
/// assert_eq!(queue.len(), 0);
/// queue.done(&key);
/// assert_eq!(queue.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WorkQueue<K> {
    clock: Clock,
    state: Mutex<State<K>>,
    changed: Notify,
}

struct State<K> {
    /// Ready keys that go before the others.
    first: VecDeque<K>,
    ready: VecDeque<K>,
    queued: BTreeSet<K>,
    processing: BTreeSet<K>,
    delayed: BTreeMap<(Timestamp, u64), K>,
    due: HashMap<K, (Timestamp, u64)>,
    number: u64,
    failures: HashMap<K, u32>,
}

impl<K: Clone + Ord + Hash> State<K> {
    fn add(&mut self, key: K) {
        if self.queued.insert(key.clone()) && !self.processing.contains(&key) {
            self.ready.push_back(key);
        }
    }

    /// Adds a key before the others, after those added so earlier.
    fn add_first(&mut self, key: K) {
        if self.processing.contains(&key) || self.first.contains(&key) {
            return self.add(key);
        }
        if !self.queued.insert(key.clone()) {
            self.ready.retain(|ready| *ready != key);
        }
        self.first.push_back(key);
    }

    fn take(&mut self) -> Option<K> {
        self.first.pop_front().or_else(|| self.ready.pop_front())
    }

    fn len(&self) -> usize {
        self.first.len() + self.ready.len()
    }

    /// Adds the keys whose delay has passed.
    fn add_due(&mut self, now: Timestamp) {
        while let Some(first) = self.delayed.first_entry()
            && first.key().0 <= now
        {
            let key = first.remove();
            self.due.remove(&key);
            self.add(key);
        }
    }
}

impl<K: Clone + Ord + Hash> WorkQueue<K> {
    /// Creates an empty queue on this clock.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            state: Mutex::new(State {
                first: VecDeque::new(),
                ready: VecDeque::new(),
                queued: BTreeSet::new(),
                processing: BTreeSet::new(),
                delayed: BTreeMap::new(),
                due: HashMap::new(),
                number: 0,
                failures: HashMap::new(),
            }),
            changed: Notify::new(),
        }
    }

    /// Adds a key.
    pub fn add(&self, key: K) {
        self.state.lock().add(key);
        self.changed.notify_one();
    }

    /// Adds a key before the keys that are ready. A key that is being processed is added as by [`add`](Self::add).
    pub(crate) fn add_first(&self, key: K) {
        self.state.lock().add_first(key);
        self.changed.notify_one();
    }

    /// Adds several keys.
    pub fn extend(&self, keys: impl IntoIterator<Item = K>) {
        keys.into_iter().for_each(|key| self.add(key));
    }

    /// Adds a key after a delay. If a key has several delays, the shortest applies.
    pub fn add_after(&self, key: K, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        let due = self.clock.now().saturating_add(delay).unwrap_or(Timestamp::MAX);
        let mut state = self.state.lock();
        match state.due.get(&key).copied() {
            Some((sooner, _)) if sooner <= due => return,
            Some(later) => drop(state.delayed.remove(&later)),
            None => {}
        }
        state.number += 1;
        let place = (due, state.number);
        state.due.insert(key.clone(), place);
        state.delayed.insert(place, key);
        drop(state);
        self.changed.notify_one();
    }

    /// Adds a key after a delay that doubles with each call, until [`forget`](Self::forget).
    pub fn add_rate_limited(&self, key: K) {
        let failures = {
            let mut state = self.state.lock();
            let failures = state.failures.entry(key.clone()).or_default();
            *failures += 1;
            *failures - 1
        };
        let delay = MIN_RETRY_DELAY.saturating_mul(2_u32.saturating_pow(failures));
        self.add_after(key, delay.min(MAX_RETRY_DELAY));
    }

    /// Resets the retry delay of a key.
    pub fn forget(&self, key: &K) {
        self.state.lock().failures.remove(key);
    }

    /// Returns the next key. The caller must call [`done`](Self::done) after processing it. Cancel safe.
    pub async fn next(&self) -> K {
        loop {
            let first = {
                let mut state = self.state.lock();
                state.add_due(self.clock.now());
                if let Some(key) = state.take() {
                    state.queued.remove(&key);
                    state.processing.insert(key.clone());
                    return key;
                }
                state.delayed.first_key_value().map(|((due, _), _)| *due)
            };
            match first {
                None => self.changed.notified().await,
                Some(due) => tokio::select! {
                    biased;
                    () = self.changed.notified() => {}
                    () = self.clock.sleep_until(due) => {}
                },
            }
        }
    }

    /// Ends the processing of a key. If the key was added meanwhile, it is queued again.
    pub fn done(&self, key: &K) {
        let mut state = self.state.lock();
        state.processing.remove(key);
        if state.queued.contains(key) {
            state.ready.push_back(key.clone());
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Number of keys that are ready.
    pub fn len(&self) -> usize {
        self.state.lock().len()
    }

    /// Whether no key is ready or being processed.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state.lock();
        state.len() == 0 && state.processing.is_empty()
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn queue() -> (Clock, WorkQueue<&'static str>) {
        let clock = Clock::frozen("2016-03-01T00:00:00Z".parse().unwrap());
        (clock.clone(), WorkQueue::new(clock))
    }

    #[test]
    fn a_key_is_processed_once_at_a_time_and_queued_again_if_added_meanwhile() {
        let (_, queue) = queue();
        queue.add("a");
        queue.add("b");
        queue.add("a");
        assert_eq!(queue.next().now_or_never(), Some("a"));
        queue.add("a");
        assert_eq!(queue.next().now_or_never(), Some("b"));
        assert_eq!(queue.next().now_or_never(), None);
        queue.done(&"a");
        assert_eq!(queue.next().now_or_never(), Some("a"));
    }

    #[test]
    fn keys_added_first_go_before_the_others_in_their_order() {
        let (_, queue) = queue();
        queue.extend(["a", "b", "c"]);
        queue.add_first("c");
        queue.add_first("d");
        queue.add_first("c");
        let order: Vec<_> = std::iter::from_fn(|| queue.next().now_or_never()).collect();
        assert_eq!(order, ["c", "d", "a", "b"]);
        queue.add_first("a");
        assert_eq!(queue.next().now_or_never(), None);
        queue.done(&"a");
        assert_eq!(queue.next().now_or_never(), Some("a"));
    }

    #[test]
    fn a_delayed_key_is_ready_when_the_clock_reaches_its_time() {
        let (clock, queue) = queue();
        queue.add_after("later", Duration::from_secs(10));
        queue.add_after("sooner", Duration::from_secs(5));
        assert_eq!(queue.next().now_or_never(), None);
        clock.step(Duration::from_secs(5));
        assert_eq!(queue.next().now_or_never(), Some("sooner"));
        clock.step(Duration::from_secs(5));
        assert_eq!(queue.next().now_or_never(), Some("later"));
    }

    #[test]
    fn each_failure_doubles_the_delay_until_forget() {
        let (clock, queue) = queue();
        for delay in [5, 10, 20] {
            queue.add_rate_limited("a");
            clock.step(Duration::from_millis(delay - 1));
            assert_eq!(queue.next().now_or_never(), None);
            clock.step(Duration::from_millis(1));
            assert_eq!(queue.next().now_or_never(), Some("a"));
            queue.done(&"a");
        }
        queue.forget(&"a");
        queue.add_rate_limited("a");
        clock.step(Duration::from_millis(5));
        assert_eq!(queue.next().now_or_never(), Some("a"));
    }
}
