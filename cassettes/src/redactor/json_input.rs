//! A piece of JSON as it is read.

use super::secret_index::SecretIndex;
use memchr::memchr2;
use std::collections::VecDeque;
use std::ops::Range;

/// A search for the end of a shorter string takes longer to begin than to look at each byte.
const SHORT: usize = 16;

/// How much is searched for known secrets at least, where something is read.
const SEARCHED: usize = 4 << 10;

/// How much is checked at least to be UTF-8, where something is read.
const CHECKED: usize = 4 << 10;

/// A piece of the input.
pub(super) struct Input<'a> {
    pub(super) bytes: &'a [u8],
    /// A part that is valid UTF-8, and where it begins.
    text: &'a str,
    text_at: usize,
    /// Start of what was not copied yet.
    pub(super) begin: usize,
    /// Start of a string that does not end in the piece.
    pub(super) end: Option<usize>,
    /// How far it was searched for known secrets, but for what was passed over.
    searched: usize,
    /// The places of known secrets up to there, in order.
    found: VecDeque<Range<usize>>,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            text: "",
            text_at: 0,
            begin: 0,
            end: None,
            searched: 0,
            found: VecDeque::new(),
        }
    }

    /// The text at a place. Returns none if it is not valid UTF-8.
    pub(super) fn text(&mut self, place: &Range<usize>) -> Option<&'a str> {
        if place.start < self.text_at || place.end > self.text_at + self.text.len() {
            let end = self.bytes.len().min(place.end + CHECKED);
            let checked = self.bytes.get(place.start..end).unwrap_or_default();
            self.text_at = place.start;
            self.text = valid(checked);
        }
        self.text.get(place.start - self.text_at..place.end - self.text_at)
    }

    /// Whether a known secret, or a part of one, is at a place behind those that were looked at before.
    pub(super) fn has_secret(&mut self, place: &Range<usize>, secrets: &mut SecretIndex) -> bool {
        if place.end > self.searched {
            self.search(place, secrets);
        }
        while self.found.front().is_some_and(|found| found.end <= place.start) {
            self.found.pop_front();
        }
        self.found.front().is_some_and(|found| found.start < place.end)
    }

    /// Searches on: a place, and more of what follows it than a search reaches beyond it. All that begins before
    /// `searched` is found.
    fn search(&mut self, place: &Range<usize>, secrets: &mut SecretIndex) {
        let longest = secrets.longest();
        let begin = self.searched.max(place.start.saturating_sub(longest));
        let most = self.bytes.len();
        self.searched = most.min(place.end.max(begin) + SEARCHED.max(4 * longest));
        let end = most.min(self.searched + longest);
        let found = secrets.places(self.bytes.get(begin..end).unwrap_or_default());
        self.found
            .extend(found.into_iter().map(|found| begin + found.start..begin + found.end));
    }
}

/// The beginning of a text, as far as it is valid UTF-8.
fn valid(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
    }
}

/// The input is not JSON from here on.
#[derive(Debug)]
pub(super) struct Broken {
    /// What was not taken.
    pub(super) rest: Vec<u8>,
}

/// The length of a string up to its quote; none if there is an escape in it or no quote.
pub(super) fn plain_length(bytes: &[u8]) -> Option<usize> {
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\\');
    let (head, rest) = bytes.split_at(bytes.len().min(SHORT));
    // Most strings are short.
    let end = match head.iter().position(is_end) {
        Some(end) => end,
        None => SHORT + memchr2(b'"', b'\\', rest)?,
    };
    (bytes.get(end) == Some(&b'"')).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_secret_is_found_at_every_place_that_it_touches(
            lengths in proptest::collection::vec(8_usize..3_000, 1..4),
            parts in proptest::collection::vec((0_usize..9_000, 0_usize..4), 1..12),
            places in proptest::collection::vec((0_usize..9_000, 1_usize..300), 1..40),
        ) {
            let needles: Vec<String> = ('A'..).zip(lengths).map(|(letter, length)| format!("0_{letter}").repeat(length / 3 + 1)).collect();
            let mut secrets = SecretIndex::default();
            for needle in &needles {
                secrets.number(needle.as_bytes(), true);
            }
            let (mut text, mut found) = (String::new(), Vec::new());
            for (length, needle) in parts {
                text.push_str(&"x ".repeat(length / 2));
                if let Some(needle) = needles.get(needle) {
                    found.push(text.len()..text.len() + needle.len());
                    text.push_str(needle);
                }
            }
            let mut input = Input::new(text.as_bytes());
            let mut at = 0;
            for (passed, length) in places {
                let place = at + passed..at + passed + length;
                if place.end > text.len() {
                    break;
                }
                let touched = found.iter().any(|found| found.start < place.end && place.start < found.end);
                prop_assert_eq!(input.has_secret(&place, &mut secrets), touched, "{:?} of {:?}", place, &found);
                at = place.end;
            }
        }
    }
}
