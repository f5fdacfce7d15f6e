//! Seeded randomness. No other code in the crate draws random numbers.
//!
//! The same seed gives the same sequence.

use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Seeded generator of UIDs, name suffixes and choices.
#[derive(Debug)]
pub(crate) struct Rng {
    /// Seed of the sequence.
    seed: [u8; 32],
    sequence: Mutex<StdRng>,
}

impl Rng {
    /// Creates a generator with a seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        let mut whole = [0; 32];
        whole[..8].copy_from_slice(&seed.to_le_bytes());
        Self {
            seed: whole,
            sequence: Mutex::new(StdRng::seed_from_u64(seed)),
        }
    }

    /// Creates the generator of a cluster that was started `starts` times before. It differs from the earlier ones,
    /// because a restored cluster still has their UIDs.
    pub(crate) fn restarted(seed: u64, starts: u64) -> Self {
        if starts == 0 {
            return Self::seeded(seed);
        }
        let mut whole = [0; 32];
        whole[..8].copy_from_slice(&seed.to_le_bytes());
        whole[8..16].copy_from_slice(&starts.to_le_bytes());
        Self::of(whole)
    }

    /// Creates the generator of a copy of the cluster at `revision`. Copies of the same revision draw the same
    /// sequence.
    pub(crate) fn fork(&self, revision: u64) -> Self {
        let mut whole = self.seed;
        for (byte, mixed) in whole[16..24].iter_mut().zip((revision + 1).to_le_bytes()) {
            *byte ^= mixed;
        }
        Self::of(StdRng::from_seed(whole).random())
    }

    fn of(seed: [u8; 32]) -> Self {
        Self {
            seed,
            sequence: Mutex::new(StdRng::from_seed(seed)),
        }
    }

    /// Returns a new UID: a version-4 UUID.
    pub(crate) fn uid(&self) -> String {
        let bits: u128 = self.sequence.lock().random();
        let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }

    /// Returns five characters to append to a generated name.
    pub(crate) fn name_suffix(&self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz0123456789";
        let mut rng = self.sequence.lock();
        (0..5)
            .map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())]))
            .collect()
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub(crate) fn below(&self, bound: usize) -> usize {
        if bound == 0 {
            0
        } else {
            self.sequence.lock().random_range(0..bound)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_uids() {
        let (a, b) = (Rng::seeded(7), Rng::seeded(7));
        let uid = a.uid();
        assert_eq!(uid, b.uid());
        assert_ne!(uid, a.uid());
        assert_eq!(uid.len(), 36);
        assert_eq!(uid.as_bytes()[14], b'4');
    }

    #[test]
    fn copies_of_one_moment_draw_the_same_and_others_do_not() {
        let rng = Rng::seeded(7);
        let drawn = [
            rng.fork(3),
            rng.fork(3),
            rng.fork(4),
            rng.fork(3).fork(3),
            Rng::seeded(7),
        ]
        .map(|rng| rng.uid());
        assert_eq!(drawn[0], drawn[1]);
        let mut others = drawn[1..].to_vec();
        others.sort();
        others.dedup();
        assert_eq!(others.len(), 4);
    }

    #[test]
    fn no_start_repeats_the_uids_of_another() {
        let mut uids: Vec<String> = (0..4).map(|starts| Rng::restarted(7, starts).uid()).collect();
        assert_eq!(uids[0], Rng::seeded(7).uid());
        assert_eq!(uids[3], Rng::restarted(7, 3).uid());
        uids.sort();
        uids.dedup();
        assert_eq!(uids.len(), 4);
    }
}
