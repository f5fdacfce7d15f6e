//! Texts of the terms of a batch, each once.
//!
//! A text of up to 15 bytes is kept as one number, so that it is found, ordered and written without the batch.

use foldhash::HashMap;

/// Length of the longest text that its key contains, in bytes.
const MAX_SHORT: usize = 15;

/// The first 15 bytes of a text, from the highest byte on, then its length. Keys have the order of their texts, except
/// that longer texts with the same beginning share one.
type Key = u128;

/// The last byte of the key of a long text.
const LONG: Key = 0xFF;

/// A text. Its order is that of the bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text<'a> {
    key: Key,
    /// The whole text, if it is longer than its key.
    long: &'a str,
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Text<'a> {
        let bytes = text.as_bytes();
        if let Some(start) = bytes.first_chunk().filter(|_| bytes.len() > MAX_SHORT) {
            let key = Key::from_be_bytes(*start) | LONG;
            return Text { key, long: text };
        }
        // The first and the last bytes of a text overlap; where they do, they are the same.
        let last = 8 * (MAX_SHORT + 1).saturating_sub(bytes.len());
        let key = if let (Some(start), Some(end)) = (bytes.first_chunk(), bytes.last_chunk()) {
            Key::from(u64::from_be_bytes(*start)) << 64 | Key::from(u64::from_be_bytes(*end)) << last
        } else if let (Some(start), Some(end)) = (bytes.first_chunk(), bytes.last_chunk()) {
            Key::from(u32::from_be_bytes(*start)) << 96 | Key::from(u32::from_be_bytes(*end)) << last
        } else if let [first, .., end] = bytes {
            let middle = bytes.get(1).copied().unwrap_or_default();
            Key::from(*first) << 120 | Key::from(middle) << 112 | Key::from(*end) << last
        } else {
            bytes.first().map_or(0, |only| Key::from(*only) << 120)
        };
        let key = key | bytes.len() as Key;
        Text { key, long: "" }
    }

    /// Appends the text.
    pub(super) fn append_to(self, bytes: &mut Vec<u8>) {
        if self.long.is_empty() {
            let [start @ .., length] = self.key.to_be_bytes();
            bytes.extend_from_slice(start.get(..usize::from(length)).unwrap_or(&start));
        } else {
            bytes.extend_from_slice(self.long.as_bytes());
        }
    }
}

/// Texts with their numbers, in the order of insertion.
#[derive(Default)]
pub(super) struct Texts<'a> {
    short: HashMap<Key, u32>,
    long: HashMap<&'a str, u32>,
    all: Vec<Text<'a>>,
}

impl<'a> Texts<'a> {
    /// Number of the texts.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of a text, which may be new.
    pub(super) fn insert(&mut self, text: &'a str) -> u32 {
        let next = self.all.len() as u32;
        let own = Text::new(text);
        let number = match own.long {
            "" => *self.short.entry(own.key).or_insert(next),
            long => *self.long.entry(long).or_insert(next),
        };
        if number == next {
            self.all.push(own);
        }
        number
    }

    /// Returns the texts and their numbers, in the order of their bytes.
    pub(super) fn ordered(&self) -> Vec<(Text<'a>, u32)> {
        let mut ordered: Vec<(Text, u32)> = self.all.iter().copied().zip(0..).collect();
        ordered.sort_unstable();
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_one_number_each_and_the_order_of_their_bytes() {
        let letters: String = ('a'..='z').collect();
        let starts = (0..=letters.len()).filter_map(|length| letters.get(..length));
        let words: Vec<String> = starts
            .flat_map(|start| ["", "\0", "\0\0", "A", "z", "ß", "\u{10FFFF}"].map(|end| format!("{start}{end}")))
            .collect();
        let mut texts = Texts::default();
        let numbers: Vec<u32> = words.iter().map(|word| texts.insert(word)).collect();
        let again: Vec<u32> = words.iter().map(|word| texts.insert(word)).collect();
        assert_eq!(numbers, again);
        let ordered = texts.ordered().into_iter().map(|(text, number)| {
            let mut bytes = Vec::new();
            text.append_to(&mut bytes);
            (String::from_utf8(bytes).unwrap(), number)
        });
        let ordered: Vec<(String, u32)> = ordered.collect();
        let mut expected: Vec<(String, u32)> = words.iter().cloned().zip(numbers).collect();
        expected.sort();
        expected.dedup();
        assert_eq!(ordered, expected);
    }
}
