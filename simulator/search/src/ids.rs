//! Generated ids.

use std::sync::atomic::{AtomicU64, Ordering};

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Encodes a number as 22 characters.
pub(crate) fn text_id(number: u128) -> String {
    encode(number, 22)
}

/// Encodes the lowest bits of a number as `length` characters of six bits each, the highest first.
fn encode(number: u128, length: u32) -> String {
    (0..length)
        .rev()
        .map(|place| {
            LETTERS
                .get((number >> (place * 6) & 63) as usize)
                .map_or('A', |letter| char::from(*letter))
        })
        .collect()
}

/// Generates document ids of 20 characters: the time at which the server started, then a counter.
pub(crate) struct IdSource {
    started: u128,
    next: AtomicU64,
}

impl IdSource {
    /// Creates a source for a server that was started `starts` times before, maybe at the same time.
    pub(crate) fn new(started: i64, starts: u64) -> IdSource {
        IdSource {
            started: u128::from(started.unsigned_abs()) << 76 | u128::from(starts & 0xFFFF) << 60,
            next: AtomicU64::new(0),
        }
    }

    pub(crate) fn next(&self) -> String {
        let number = self.started | u128::from(self.next.fetch_add(1, Ordering::Relaxed));
        encode(number, 20)
    }
}
