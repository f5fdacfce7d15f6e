//! Clock that advances only when it is stepped, and its sleepers.

use std::{
    collections::BTreeMap,
    task::{Poll, Waker},
};

use jiff::Timestamp;
use parking_lot::Mutex;

/// Time of a stepped clock.
#[derive(Debug)]
pub(super) struct Stepped(Mutex<State>);

#[derive(Debug)]
struct State {
    now: Timestamp,
    sleepers: BTreeMap<(Timestamp, u64), Waker>,
    last: u64,
}

impl Stepped {
    pub(super) fn new(now: Timestamp) -> Self {
        Self(Mutex::new(State {
            now,
            sleepers: BTreeMap::new(),
            last: 0,
        }))
    }

    pub(super) fn now(&self) -> Timestamp {
        self.0.lock().now
    }

    /// Advances to `to`, unless that is in the past, and wakes the sleepers whose deadline has passed.
    pub(super) fn move_to(&self, to: Timestamp) {
        let woken = {
            let mut state = self.0.lock();
            let now = state.now.max(to);
            state.now = now;
            let later = state.sleepers.split_off(&(now, u64::MAX));
            std::mem::replace(&mut state.sleepers, later)
        };
        woken.into_values().for_each(Waker::wake);
    }

    /// Deadline of the first sleeper, if it is not after `end`.
    pub(super) fn next_until(&self, end: Timestamp) -> Option<Timestamp> {
        let (first, _) = *self.0.lock().sleepers.first_key_value()?.0;
        (first <= end).then_some(first)
    }

    /// Waits until the clock reaches `deadline`.
    pub(super) async fn sleep_until(&self, deadline: Timestamp) {
        let mut sleeper = Sleeper {
            clock: self,
            deadline,
            number: None,
        };
        std::future::poll_fn(|context| sleeper.poll(context.waker())).await;
    }
}

struct Sleeper<'a> {
    clock: &'a Stepped,
    deadline: Timestamp,
    number: Option<u64>,
}

impl Sleeper<'_> {
    fn poll(&mut self, waker: &Waker) -> Poll<()> {
        let mut state = self.clock.0.lock();
        if state.now >= self.deadline {
            return Poll::Ready(());
        }
        let number = *self.number.get_or_insert_with(|| {
            state.last += 1;
            state.last
        });
        state.sleepers.insert((self.deadline, number), waker.clone());
        Poll::Pending
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.clock.0.lock().sleepers.remove(&(self.deadline, number));
        }
    }
}
