//! Injected randomness. Nothing else in the crate draws random numbers.
//!
//! The same seed gives the same sequence.

use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Seeded generator of UIDs, suffixes of generated names, and choices.
#[derive(Debug)]
pub struct Rng(Mutex<StdRng>);

impl Rng {
    /// A generator with a seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// A new uid: a version-4 UUID.
    pub fn uid(&self) -> String {
        let bits: u128 = self.0.lock().random();
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

    /// Five characters to append to a generated name.
    pub fn name_suffix(&self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz0123456789";
        let mut rng = self.0.lock();
        (0..5)
            .map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())]))
            .collect()
    }

    /// A number below `bound`; 0 where `bound` is 0.
    pub fn below(&self, bound: usize) -> usize {
        if bound == 0 {
            0
        } else {
            self.0.lock().random_range(0..bound)
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
}
