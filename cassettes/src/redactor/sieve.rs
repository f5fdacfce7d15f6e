//! Where needles may be in a text: most of it is passed over without a look.
//!
//! Source: Wu and Manber, "A fast algorithm for multi-pattern searching" (1994): the last three bytes of a window as long as
//! the shortest needle say how far it can move on.

use std::ops::Range;

/// How many bytes say how far a window moves on.
const BLOCK: usize = 3;

/// How many places the table of moves has.
const PLACES: usize = 1 << 15;

/// With more blocks than this many windows would stop for nothing.
const MOST_BLOCKS: usize = PLACES / 4;

/// Finds where any of some needles may be.
#[derive(Debug)]
pub(super) struct Sieve {
    shortest: usize,
    longest: usize,
    /// How far a window moves on, by the hash of its last bytes.
    moves: Vec<u8>,
}

impl Sieve {
    /// A sieve for needles; none if there are too many, or one is too short.
    pub(super) fn new<'a>(needles: impl Iterator<Item = &'a [u8]> + Clone) -> Option<Self> {
        let lengths = || needles.clone().map(<[u8]>::len);
        let (shortest, longest) = (lengths().min()?.min(usize::from(u8::MAX)), lengths().max()?);
        if shortest < 2 * BLOCK || lengths().count() * shortest > MOST_BLOCKS {
            return None;
        }
        let most = u8::try_from(shortest - BLOCK + 1).unwrap_or(u8::MAX);
        let mut moves = vec![most; PLACES];
        for needle in needles.clone() {
            let window = needle.get(..shortest).unwrap_or_default();
            for (far, block) in (0..).zip(window.windows(BLOCK).rev()) {
                if let Some(place) = moves.get_mut(place(block)) {
                    *place = far.min(*place);
                }
            }
        }
        Some(Self {
            shortest,
            longest,
            moves,
        })
    }

    /// The parts of a text that any needle in it is within: in order, and apart from each other.
    pub(super) fn parts(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut end = self.shortest;
        while let Some(block) = text.get(end - BLOCK..end) {
            let far = self.moves.get(place(block)).copied().unwrap_or_default();
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

fn place(block: &[u8]) -> usize {
    let hash = block.iter().fold(0, |hash: u32, byte| (hash << 8) | u32::from(*byte));
    // Knuth's multiplier spreads them over the table.
    (hash.wrapping_mul(2_654_435_769) >> (u32::BITS - PLACES.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn too_many_needles_have_no_sieve() {
        let needles: Vec<Vec<u8>> = (0..MOST_BLOCKS).map(|n| format!("{n:08}").into_bytes()).collect();
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
