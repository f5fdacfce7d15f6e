//! The piece of JSON that is being parsed.

use super::secret_index::SecretIndex;
use memchr::memchr2;
use std::collections::VecDeque;
use std::ops::Range;

/// For shorter strings a loop is faster than `memchr2`.
const SHORT_STRING: usize = 16;

/// Minimum number of bytes of a search for known secrets.
const SEARCH_WINDOW: usize = 4 << 10;

/// Number of bytes after a string that are validated as UTF-8 with it.
const UTF8_WINDOW: usize = 4 << 10;

/// A piece of the input, and the results of searches in it.
pub(super) struct Input<'a> {
    pub(super) bytes: &'a [u8],
    /// The last part that was validated as UTF-8.
    text: &'a str,
    /// Start of `text` in the piece.
    text_at: usize,
    /// End of the part that was copied or replaced.
    pub(super) begin: usize,
    /// Start of a string that does not end in the piece.
    pub(super) end: Option<usize>,
    /// End of the part that was searched for known secrets, apart from skipped objects.
    searched: usize,
    /// Known secrets up to there, in order.
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

    /// The text at a range. Returns none if it is not valid UTF-8.
    pub(super) fn text(&mut self, place: &Range<usize>) -> Option<&'a str> {
        if place.start < self.text_at || place.end > self.text_at + self.text.len() {
            let end = self.bytes.len().min(place.end + UTF8_WINDOW);
            let checked = self.bytes.get(place.start..end).unwrap_or_default();
            self.text_at = place.start;
            self.text = valid_prefix(checked);
        }
        self.text.get(place.start - self.text_at..place.end - self.text_at)
    }

    /// Whether a range overlaps a known secret. Ranges must be in order.
    pub(super) fn has_secret(&mut self, place: &Range<usize>, secrets: &mut SecretIndex) -> bool {
        if place.end > self.searched {
            self.search(place, secrets);
        }
        while self.found.front().is_some_and(|found| found.end <= place.start) {
            self.found.pop_front();
        }
        self.found.front().is_some_and(|found| found.start < place.end)
    }

    /// Continues the search up to the end of the window after a range. Afterwards all secrets that start before
    /// `searched` are found.
    fn search(&mut self, place: &Range<usize>, secrets: &mut SecretIndex) {
        let longest = secrets.longest();
        let begin = self.searched.max(place.start.saturating_sub(longest));
        let most = self.bytes.len();
        self.searched = most.min(place.end.max(begin) + SEARCH_WINDOW.max(4 * longest));
        let end = most.min(self.searched + longest);
        let found = secrets.ranges(self.bytes.get(begin..end).unwrap_or_default());
        self.found
            .extend(found.into_iter().map(|found| begin + found.start..begin + found.end));
    }
}

/// The longest prefix that is valid UTF-8.
fn valid_prefix(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
    }
}

/// Syntax error.
#[derive(Debug)]
pub(super) struct SyntaxError {
    /// The input from the error on.
    pub(super) rest: Vec<u8>,
}

/// Length of a string up to its closing quote. None if it has an escape or does not end.
pub(super) fn plain_length(bytes: &[u8]) -> Option<usize> {
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\\');
    let (head, rest) = bytes.split_at(bytes.len().min(SHORT_STRING));
    let end = match head.iter().position(is_end) {
        Some(end) => end,
        None => SHORT_STRING + memchr2(b'"', b'\\', rest)?,
    };
    (bytes.get(end) == Some(&b'"')).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_secret_is_found_in_every_range_that_it_overlaps(
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
