//! Bit set of documents.

/// A growable set of document numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
    len: u32,
}

impl Bits {
    /// Creates an empty set with capacity for the numbers below `max_doc`.
    pub(crate) fn with_capacity(max_doc: u32) -> Bits {
        Bits {
            words: vec![0; max_doc.div_ceil(64) as usize],
            len: 0,
        }
    }

    /// Creates the set of all numbers below `max_doc`.
    pub(crate) fn full(max_doc: u32) -> Bits {
        let mut words = vec![u64::MAX; (max_doc / 64) as usize];
        if !max_doc.is_multiple_of(64) {
            words.push((1 << (max_doc % 64)) - 1);
        }
        Bits { words, len: max_doc }
    }

    /// Creates a set from its words, the lowest first.
    pub(crate) fn of_words(words: Vec<u64>) -> Bits {
        let len = words.iter().map(|word| word.count_ones()).sum();
        Bits { words, len }
    }

    /// Returns the intersection.
    pub(crate) fn and(&self, other: &Bits) -> Bits {
        Bits::of_words(self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect())
    }

    /// Returns the number of members above `doc`.
    pub(crate) fn count_above(&self, doc: u32) -> u32 {
        let (at, bit) = ((doc / 64) as usize, doc % 64);
        let first = self
            .words
            .get(at)
            .map_or(0, |word| (word & (u64::MAX << bit) & !(1 << bit)).count_ones());
        first
            + self
                .words
                .iter()
                .skip(at + 1)
                .map(|word| word.count_ones())
                .sum::<u32>()
    }

    /// Number of members.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) fn contains(&self, doc: u32) -> bool {
        self.words
            .get((doc / 64) as usize)
            .is_some_and(|word| word >> (doc % 64) & 1 == 1)
    }

    #[inline]
    pub(crate) fn insert(&mut self, doc: u32) {
        let at = (doc / 64) as usize;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        if let Some(word) = self.words.get_mut(at) {
            let bit = 1 << (doc % 64);
            self.len += u32::from(*word & bit == 0);
            *word |= bit;
        }
    }

    pub(crate) fn remove(&mut self, doc: u32) {
        if let Some(word) = self.words.get_mut((doc / 64) as usize) {
            let bit = 1 << (doc % 64);
            self.len -= u32::from(*word & bit != 0);
            *word &= !bit;
        }
    }

    /// Returns the first member that is at least `from`.
    #[inline]
    pub(crate) fn next(&self, from: u32) -> Option<u32> {
        let mut at = (from / 64) as usize;
        let mut word = self.words.get(at)? & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        u32::try_from(at).ok().map(|at| at * 64 + word.trailing_zeros())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut from = 0;
        std::iter::from_fn(move || {
            let doc = self.next(from)?;
            from = doc + 1;
            Some(doc)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_inserted_removed_and_counted() {
        let mut set = Bits::with_capacity(10);
        for doc in [3, 64, 200, 3] {
            set.insert(doc);
        }
        set.remove(64);
        set.remove(65);
        assert_eq!((set.iter().collect::<Vec<_>>(), set.len()), (vec![3, 200], 2));
        assert_eq!(
            (
                set.count_above(0),
                set.count_above(3),
                set.count_above(200),
                set.count_above(900)
            ),
            (2, 1, 0, 0)
        );
        assert_eq!(
            (
                Bits::full(70).iter().count(),
                Bits::full(70).len(),
                Bits::full(64).next(64)
            ),
            (70, 70, None)
        );
    }
}
