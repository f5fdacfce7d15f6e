//! A filter before the search for needles, which skips most of a text.
//!
//! Source: Wu and Manber, "A fast algorithm for multi-pattern searching" (1994). A window as long as the shortest
//! needle is shifted by a distance that a table gives for its last three bytes.

use std::ops::Range;

/// Number of bytes that are looked up in the shift table.
const BLOCK: usize = 3;

/// Size of the shift table.
const TABLE_SIZE: usize = 1 << 15;

/// Maximum number of blocks of all needles. With more, too many windows would stop by chance.
const MAX_BLOCKS: usize = TABLE_SIZE / 4;

/// A shift table for a set of needles.
#[derive(Debug)]
pub(super) struct Sieve {
    shortest: usize,
    longest: usize,
    /// Shift of the window, by the hash of its last bytes.
    shifts: Vec<u8>,
}

impl Sieve {
    /// Builds the table. Returns none if there are too many needles or one is too short.
    pub(super) fn new<'a>(needles: impl Iterator<Item = &'a [u8]> + Clone) -> Option<Self> {
        let lengths = || needles.clone().map(<[u8]>::len);
        let (shortest, longest) = (lengths().min()?.min(usize::from(u8::MAX)), lengths().max()?);
        if shortest < 2 * BLOCK || lengths().count() * shortest > MAX_BLOCKS {
            return None;
        }
        let most = u8::try_from(shortest - BLOCK + 1).unwrap_or(u8::MAX);
        let mut shifts = vec![most; TABLE_SIZE];
        for needle in needles.clone() {
            let window = needle.get(..shortest).unwrap_or_default();
            for (far, block) in (0..).zip(window.windows(BLOCK).rev()) {
                if let Some(shift) = shifts.get_mut(slot(block)) {
                    *shift = far.min(*shift);
                }
            }
        }
        Some(Self {
            shortest,
            longest,
            shifts,
        })
    }

    /// The parts of a text that contain every needle in it, in order and disjoint.
    pub(super) fn parts(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut end = self.shortest;
        while let Some(block) = text.get(end - BLOCK..end) {
            let far = self.shifts.get(slot(block)).copied().unwrap_or_default();
            if far > 0 {
                end += usize::from(far);
                continue;
            }
            let start = end - self.shortest;
            let part = start..text.len().min(start + self.longest);
            match parts.last_mut().filter(|last| part.start <= last.end) {
                Some(last) => last.end = part.end,
                None => parts.push(part),
            }
            end += 1;
        }
        parts
    }
}

fn slot(block: &[u8]) -> usize {
    let hash = block.iter().fold(0, |hash: u32, byte| (hash << 8) | u32::from(*byte));
    // Knuth's multiplicative hash.
    (hash.wrapping_mul(2_654_435_769) >> (u32::BITS - TABLE_SIZE.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn too_many_needles_have_no_sieve() {
        let needles: Vec<Vec<u8>> = (0..MAX_BLOCKS).map(|n| format!("{n:08}").into_bytes()).collect();
        assert!(Sieve::new(needles.iter().map(Vec::as_slice)).is_none());
        assert!(Sieve::new([&b"short"[..]].into_iter()).is_none());
        assert!(Sieve::new(std::iter::empty()).is_none());
    }

    proptest! {
        #[test]
        fn every_needle_is_within_a_part(
            needles in proptest::collection::vec("[ab]{6,12}", 1..20),
            text in "[abc]{0,200}",
        ) {
            let sieve = Sieve::new(needles.iter().map(String::as_bytes)).expect("few needles");
            let parts = sieve.parts(text.as_bytes());
            prop_assert!(parts.windows(2).all(|two| two[0].end < two[1].start));
            for needle in &needles {
                for at in (0..text.len()).filter(|at| text[*at..].starts_with(needle.as_str())) {
                    let found = at..at + needle.len();
                    prop_assert!(
                        parts.iter().any(|part| part.start <= found.start && found.end <= part.end),
                        "{found:?} in {parts:?}"
                    );
                }
            }
        }
    }
}
