//! A queue with several places, which work that arrives at random goes through in order.

use std::{cmp::Reverse, collections::BinaryHeap};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::results::percentile;

/// Work that arrives at random.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// Arrivals a second.
    pub(super) rate: f64,
    /// Seconds of each piece.
    cost: f64,
    /// Watchers that each arrival goes to; 0 if it goes to none.
    pub(super) watchers: f64,
    pub(super) is_request: bool,
}

/// Watchers that are served as one piece of work.
const PIECE: f64 = 64.0;
/// Pieces that are simulated.
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

    /// Changes, each of which goes to so many watchers.
    pub(super) fn deliveries(rate: f64, watchers: f64, cost: f64) -> Self {
        Self {
            rate,
            cost,
            watchers,
            is_request: false,
        }
    }

    /// Changes of other replicas.
    pub(super) fn applied(rate: f64, cost: f64) -> Self {
        Self {
            rate,
            cost,
            watchers: 0.0,
            is_request: false,
        }
    }

    /// Seconds that an arrival takes.
    pub(super) fn work(&self) -> f64 {
        if self.watchers > 0.0 {
            self.watchers * self.cost
        } else {
            self.cost
        }
    }

    /// How many pieces an arrival is, and the seconds of each.
    fn pieces(&self) -> (usize, f64) {
        let pieces = (self.watchers / PIECE).ceil().max(1.0);
        (pieces as usize, self.work() / pieces)
    }
}

/// Seconds from arrival to the end, which 99 % do not exceed.
pub(super) struct Delays {
    pub(super) request: f64,
    /// Of the last watcher that a change goes to.
    pub(super) delivery: f64,
}

/// Runs streams through a queue with so many places.
pub(super) fn run(streams: &[Stream], places: usize) -> Delays {
    let pieces: f64 = streams
        .iter()
        .map(|stream| stream.rate * stream.pieces().0 as f64)
        .sum();
    let end = PIECES / pieces.max(1.0);
    let mut random = StdRng::seed_from_u64(1);
    // Times are whole nanoseconds, which have an order.
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
    fn a_queue_of_one_place_waits_as_long_as_the_theory_says() {
        // M/D/1 at half load: 99 % wait at most 3.3 times the cost (Erlang's distribution), and then take the cost.
        let delays = run(&[Stream::request(50.0, 0.01)], 1);
        assert!((0.041..0.045).contains(&delays.request), "{}", delays.request);
    }

    #[test]
    fn more_places_wait_less_and_a_change_is_split_among_them() {
        let change = [Stream::deliveries(1.0, 640.0, 0.001)];
        let (one, eight) = (run(&change, 1), run(&change, 8));
        assert!(one.delivery > 2.0 * eight.delivery);
        assert!((0.12..0.4).contains(&eight.delivery), "{}", eight.delivery);
    }
}
