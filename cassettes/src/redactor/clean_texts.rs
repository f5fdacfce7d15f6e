//! Texts in which no rule finds a secret, so that one that comes again is not searched again: lists repeat labels, images and times.
//!
//! Bounded: [`PLACES`] texts of up to [`LONGEST`] bytes. A text takes the place of another with the same hash. Texts are compared as a whole.

use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// How many texts have a place.
const PLACES: usize = 4096;

/// A longer text is not kept.
const LONGEST: usize = 63;

/// A text after its length; 0 for none.
type Place = [u8; LONGEST + 1];

/// Texts without a secret.
#[derive(Debug, Default)]
pub(super) struct CleanTexts {
    hasher: RandomState,
    /// Empty until the first text.
    places: Vec<Place>,
}

impl CleanTexts {
    /// Whether a text is kept.
    pub(super) fn has(&self, text: &[u8]) -> bool {
        let place = self.places.get(self.place(text));
        let is_kept =
            |[length, kept @ ..]: &Place| usize::from(*length) == text.len() && kept.get(..text.len()) == Some(text);
        !text.is_empty() && place.is_some_and(is_kept)
    }

    /// Keeps a text.
    pub(super) fn add(&mut self, text: &[u8]) {
        if self.places.is_empty() {
            self.places = vec![[0; LONGEST + 1]; PLACES];
        }
        let place = self.place(text);
        let (Ok(length), Some([first, kept @ ..])) = (u8::try_from(text.len()), self.places.get_mut(place)) else {
            return;
        };
        if let Some(kept) = kept.get_mut(..text.len()) {
            *first = length;
            kept.copy_from_slice(text);
        }
    }

    fn place(&self, text: &[u8]) -> usize {
        usize::try_from(self.hasher.hash_one(text) % PLACES as u64).unwrap_or_default()
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
    fn it_is_bounded() {
        let mut texts = CleanTexts::default();
        let long = [b'a'; LONGEST + 1];
        texts.add(&long);
        assert!(!texts.has(&long));
        for n in 0..4 * PLACES {
            texts.add(n.to_string().as_bytes());
        }
        assert_eq!(texts.places.len(), PLACES);
        assert!(texts.has((4 * PLACES - 1).to_string().as_bytes()));
    }
}
