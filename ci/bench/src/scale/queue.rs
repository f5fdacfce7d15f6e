//! A first-come, first-served queue with several places and random arrivals.

use std::{cmp::Reverse, collections::BinaryHeap};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::statistics::percentile;

/// Work that arrives at random times.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// Arrivals per second.
    pub(super) rate: f64,
    /// Seconds of work per arrival, or per watcher.
    cost: f64,
    /// Watchers that each arrival is delivered to; 0 for other work.
    pub(super) watchers: f64,
    pub(super) is_request: bool,
}

/// Number of watchers that are served as one piece of work.
const WATCHERS_PER_PIECE: f64 = 64.0;
/// Number of pieces that are simulated.
const PIECES: f64 = 400_000.0;
const NANOSECONDS: f64 = 1e9;

impl Stream {
    pub(super) fn request(rate: f64, cost: f64) -> Self {
        Self {
            rate,
            cost,
            watchers: 0.0,
            is_request: true,
        }
    }

    /// Changes, each delivered to this many watchers.
    pub(super) fn deliveries(rate: f64, watchers: f64, cost: f64) -> Self {
        Self {
            rate,
            cost,
            watchers,
            is_request: false,
        }
    }

    /// Changes of other replicas that are applied.
    pub(super) fn applied(rate: f64, cost: f64) -> Self {
        Self {
            rate,
            cost,
            watchers: 0.0,
            is_request: false,
        }
    }

    /// Returns the seconds of work of an arrival.
    pub(super) fn work(&self) -> f64 {
        if self.watchers > 0.0 {
            self.watchers * self.cost
        } else {
            self.cost
        }
    }

    /// Returns the number of pieces of an arrival, and the seconds of each.
    fn pieces(&self) -> (usize, f64) {
        let pieces = (self.watchers / WATCHERS_PER_PIECE).ceil().max(1.0);
        (pieces as usize, self.work() / pieces)
    }
}

/// 99th percentile of the seconds from arrival to completion.
pub(super) struct Delays {
    pub(super) request: f64,
    /// For the last watcher of a change.
    pub(super) delivery: f64,
}

/// Simulates a queue with this many places.
pub(super) fn run(streams: &[Stream], places: usize) -> Delays {
    let pieces: f64 = streams
        .iter()
        .map(|stream| stream.rate * stream.pieces().0 as f64)
        .sum();
    let end = PIECES / pieces.max(1.0);
    let mut random = StdRng::seed_from_u64(1);
    // Times are integers (nanoseconds), because a heap needs a total order.
    let mut pause = move |rate: f64| -((1.0 - random.random::<f64>()).ln()) / rate;
    let nanoseconds = |seconds: f64| (seconds * NANOSECONDS) as u64;
    let mut arrivals: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (at, stream) in streams.iter().enumerate().filter(|(_, stream)| stream.rate > 0.0) {
        arrivals.push(Reverse((nanoseconds(pause(stream.rate)), at)));
    }
    let mut free: BinaryHeap<Reverse<u64>> = (0..places).map(|_| Reverse(0)).collect();
    let (mut requests, mut deliveries) = (Vec::new(), Vec::new());
    while let Some(Reverse((now, at))) = arrivals.pop().filter(|next| next.0.0 < nanoseconds(end)) {
        let (count, cost) = streams[at].pieces();
        let mut done = now;
        for _ in 0..count {
            let begun = free.pop().map_or(now, |Reverse(free)| free.max(now));
            let ended = begun + nanoseconds(cost);
            free.push(Reverse(ended));
            done = done.max(ended);
        }
        let delay = (done - now) as f64 / NANOSECONDS;
        if streams[at].is_request {
            requests.push(delay);
        } else if streams[at].watchers > 0.0 {
            deliveries.push(delay);
        }
        arrivals.push(Reverse((now + nanoseconds(pause(streams[at].rate)), at)));
    }
    Delays {
        request: percentile(&requests, 0.99),
        delivery: percentile(&deliveries, 0.99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_one_place_waits_as_long_as_theory_predicts() {
        // M/D/1 at half load: 99 % wait at most 3.3 times the cost (Erlang's distribution), and then take the cost.
        let delays = run(&[Stream::request(50.0, 0.01)], 1);
        assert!((0.041..0.045).contains(&delays.request), "{}", delays.request);
    }

    #[test]
    fn more_places_wait_less_and_share_a_change() {
        let change = [Stream::deliveries(1.0, 640.0, 0.001)];
        let (one, eight) = (run(&change, 1), run(&change, 8));
        assert!(one.delivery > 2.0 * eight.delivery);
        assert!((0.12..0.4).contains(&eight.delivery), "{}", eight.delivery);
    }
}
