//! Cache of texts in which no rule finds a secret, such as the repeated labels, images and times of a list.
//!
//! Limits: [`SLOTS`] texts of up to [`MAX_LENGTH`] bytes. A text replaces another with the same hash. Whole texts are
//! compared.

use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// Number of slots.
const SLOTS: usize = 4096;

/// Maximum length of a cached text.
const MAX_LENGTH: usize = 63;

/// A text after its length, which is 0 for an empty slot.
type Slot = [u8; MAX_LENGTH + 1];

/// The cache.
#[derive(Debug, Default)]
pub(super) struct CleanTexts {
    hasher: RandomState,
    /// Empty until the first text.
    slots: Vec<Slot>,
}

impl CleanTexts {
    /// Whether a text is in the cache.
    pub(super) fn has(&self, text: &[u8]) -> bool {
        let slot = self.slots.get(self.slot(text));
        let is_kept =
            |[length, kept @ ..]: &Slot| usize::from(*length) == text.len() && kept.get(..text.len()) == Some(text);
        !text.is_empty() && slot.is_some_and(is_kept)
    }

    /// Adds a text.
    pub(super) fn add(&mut self, text: &[u8]) {
        if self.slots.is_empty() {
            self.slots = vec![[0; MAX_LENGTH + 1]; SLOTS];
        }
        let slot = self.slot(text);
        let (Ok(length), Some([first, kept @ ..])) = (u8::try_from(text.len()), self.slots.get_mut(slot)) else {
            return;
        };
        if let Some(kept) = kept.get_mut(..text.len()) {
            *first = length;
            kept.copy_from_slice(text);
        }
    }

    fn slot(&self, text: &[u8]) -> usize {
        usize::try_from(self.hasher.hash_one(text) % SLOTS as u64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_only_as_a_whole() {
        let mut texts = CleanTexts::default();
        assert!(!texts.has(b"a text") && !texts.has(b""));
        texts.add(b"a text");
        assert!(texts.has(b"a text"));
        assert!(!texts.has(b"a tex") && !texts.has(b"a text ") && !texts.has(b""));
    }

    #[test]
    fn the_cache_is_bounded() {
        let mut texts = CleanTexts::default();
        let long = [b'a'; MAX_LENGTH + 1];
        texts.add(&long);
        assert!(!texts.has(&long));
        for n in 0..4 * SLOTS {
            texts.add(n.to_string().as_bytes());
        }
        assert_eq!(texts.slots.len(), SLOTS);
        assert!(texts.has((4 * SLOTS - 1).to_string().as_bytes()));
    }
}
