//! The standard tokenizer: splits text into words by UAX #29.
//!
//! Guarantees:
//! - Time is linear in the text.
//! - Offsets are byte offsets on character boundaries.
//! - Positions count words. A word that is too long is divided.
//!
//! Source: Lucene 4.10's StandardTokenizer (rules WB4 to WB13b; a Han or Hiragana character is a word; a Southeast
//! Asian run is a word).

use super::word_class::{WordClass, word_class};

/// Default of the maximum length of a word, in UTF-16 units.
pub(super) const MAX_WORD_LENGTH: usize = 255;

/// A word of a text: its byte range and its position, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) position: u32,
}

/// Calls `sink` with each word of `text`. A word of more than `max` UTF-16 units ends where the text would end after
/// so many. Returns the position after the last word.
pub(crate) fn each_word(text: &str, max: usize, mut sink: impl FnMut(Word)) -> u32 {
    let mut scanner = Scanner { text, at: 0, max };
    let mut position = 0;
    while let Some((start, mut end)) = scanner.next_word() {
        if let Some(limit) = limit(text, start, end, max) {
            let text = text.get(..limit).unwrap_or(text);
            let mut window = Scanner { text, at: start, max };
            end = window.next_word().map_or(limit, |(_, end)| end);
            scanner.at = end;
        }
        sink(Word { start, end, position });
        position += 1;
    }
    position
}

/// Returns the offset after the first `max` UTF-16 units of a part of the text, if the part is longer.
pub(super) fn limit(text: &str, start: usize, end: usize, max: usize) -> Option<usize> {
    if end - start <= max {
        return None;
    }
    let mut units = 0;
    let mut letters = text.get(start..end)?.char_indices();
    let (at, _) = letters.find(|(_, c)| {
        units += c.len_utf16();
        units > max
    })?;
    Some(start + at.max(1))
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Maximum length of a word, in UTF-16 units.
    max: usize,
}

impl Scanner<'_> {
    fn class_at(&self, at: usize) -> Option<(WordClass, usize)> {
        let byte = *self.text.as_bytes().get(at)?;
        if byte < 0x80 {
            return Some((word_class(byte as char), 1));
        }
        let c = self.text.get(at..)?.chars().next()?;
        Some((word_class(c), c.len_utf8()))
    }

    /// Returns the end of the run of extending characters that starts at `at`.
    fn after_extenders(&self, mut at: usize) -> usize {
        // No ASCII character extends another.
        if self.text.as_bytes().get(at).is_none_or(u8::is_ascii) {
            return at;
        }
        while let Some((WordClass::Extend, len)) = self.class_at(at) {
            at += len;
        }
        at
    }

    fn next_word(&mut self) -> Option<(usize, usize)> {
        loop {
            let start = self.at;
            let (class, len) = self.class_at(start)?;
            let (start, end) = match class {
                WordClass::Han | WordClass::Hiragana => (start, self.after_extenders(start + len)),
                WordClass::SoutheastAsian => (start, self.run_end(start, class, self.most(start))),
                WordClass::Letter | WordClass::Hebrew | WordClass::Numeric | WordClass::Katakana => {
                    (start, self.word_end(start))
                }
                WordClass::ExtendNumLet => {
                    let end = self.run_end(start, class, usize::MAX);
                    let Some(start) = self.before_word(start, end) else {
                        self.at = end;
                        continue;
                    };
                    (start, self.word_end(start))
                }
                _ => {
                    self.at = start + len;
                    continue;
                }
            };
            self.at = end;
            return Some((start, end));
        }
    }

    /// Returns the offset after which a word that starts at `start` is not read: UTF-16 units have up to three bytes.
    fn most(&self, start: usize) -> usize {
        start.saturating_add(self.max.saturating_mul(3))
    }

    /// Returns the end of the run of characters of a class, and of those that extend them, that starts at `at`. The
    /// run ends after the offset `most` at the latest.
    fn run_end(&self, mut at: usize, class: WordClass, most: usize) -> usize {
        let is_own = |own: WordClass| own == class || own == WordClass::Extend;
        while let Some((_, len)) = self.class_at(at).filter(|(own, _)| at <= most && is_own(*own)) {
            at += len;
        }
        at
    }

    /// Returns where a word with connectors such as `_` in front starts, or none if no letter or digit follows them.
    fn before_word(&self, start: usize, end: usize) -> Option<usize> {
        use WordClass::{Hebrew, Katakana, Letter, Numeric};
        self.class_at(end)
            .filter(|(class, _)| matches!(class, Letter | Hebrew | Numeric | Katakana))?;
        let connectors = self.text.get(start..end)?.char_indices().rev();
        let kept = connectors.scan(1, |units, (at, c)| {
            *units += c.len_utf16();
            (*units <= self.max).then_some(at)
        });
        Some(kept.last().map_or(end, |at| start + at))
    }

    /// Returns the end of the word that starts at `start`.
    fn word_end(&self, start: usize) -> usize {
        use WordClass::*;
        let Some((mut last, len)) = self.class_at(start) else {
            return start;
        };
        let mut at = self.after_extenders(start + len);
        let most = self.most(start);
        while at <= most {
            // ASCII letters and digits are all joined.
            if matches!(last, Letter | Hebrew | Numeric | ExtendNumLet) {
                let rest = self.text.as_bytes().get(at..).unwrap_or_default();
                let run = rest
                    .iter()
                    .take((most - at).saturating_add(1))
                    .take_while(|byte| byte.is_ascii_alphanumeric())
                    .count();
                if let Some(end) = run.checked_sub(1).and_then(|last| rest.get(last)) {
                    last = word_class(char::from(*end));
                    at = self.after_extenders(at + run);
                }
            }
            let Some((class, len)) = self.class_at(at) else {
                break;
            };
            let after = self.after_extenders(at + len);
            let joins = match class {
                Letter | Hebrew | Numeric => {
                    matches!(last, Letter | Hebrew | Numeric | ExtendNumLet)
                }
                Katakana => matches!(last, Katakana | ExtendNumLet),
                ExtendNumLet => true,
                MidLetter | MidNumLet | SingleQuote | MidNum | DoubleQuote => {
                    let next = self.class_at(after).map(|(class, _)| class);
                    let between_letters = class != MidNum
                        && class != DoubleQuote
                        && matches!(last, Letter | Hebrew)
                        && matches!(next, Some(Letter | Hebrew));
                    let between_digits =
                        !matches!(class, MidLetter | DoubleQuote) && last == Numeric && next == Some(Numeric);
                    let hebrew =
                        last == Hebrew && (class == SingleQuote || class == DoubleQuote && next == Some(Hebrew));
                    if !(between_letters || between_digits || hebrew) {
                        break;
                    }
                    at = after;
                    if !(between_letters || between_digits) && class == SingleQuote {
                        // A Hebrew letter keeps a following apostrophe, even at the end of the word.
                        last = Hebrew;
                    }
                    continue;
                }
                _ => false,
            };
            if !joins {
                break;
            }
            last = class;
            at = after;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn words(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        each_word(text, MAX_WORD_LENGTH, |word| found.push(&text[word.start..word.end]));
        found
    }

    #[rstest]
    #[case("GET /api/v1/items HTTP/1.1", &["GET", "api", "v1", "items", "HTTP", "1.1"])]
    #[case("user_id=23, it's can't", &["user_id", "23", "it's", "can't"])]
    #[case("10.0.1.2 v1.2.3 3,000;5 a.b", &["10.0.1.2", "v1.2.3", "3,000;5", "a.b"])]
    #[case("retry:queue 12:30 x:1", &["retry:queue", "12", "30", "x", "1"])]
    #[case("_ __ _a a_ _1_", &["_a", "a_", "_1_"])]
    #[case("日志 ひらがな カタカナ 한국어", &["日", "志", "ひ", "ら", "が", "な", "カタカナ", "한국어"])]
    #[case("état Größe мир e\u{301}tat", &["état", "Größe", "мир", "e\u{301}tat"])]
    #[case("cafe\u{301}s _1\u{301} x\u{301}.y a日", &["cafe\u{301}s", "_1\u{301}", "x\u{301}.y", "a", "日"])]
    #[case("ภาษาไทย 1", &["ภาษาไทย", "1"])]
    #[case("'quoted' end. 5. .5", &["quoted", "end", "5", "5"])]
    #[case("", &[])]
    #[case("... --- !!", &[])]
    #[case("2015-06-22T08:00:00+00:00", &["2015", "06", "22T08", "00", "00", "00", "00"])]
    fn words_are_split_by_the_standard(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(words(text), expected);
    }

    #[rstest]
    #[case("a xxxxxxx b", 4, &["a", "xxxx", "xxx", "b"])]
    #[case("ab.cdefg abcd.ef", 4, &["ab.c", "defg", "abcd", "ef"])]
    #[case("état", 2, &["ét", "at"])]
    #[case("____ a____b _____c", 4, &["a___", "_b", "___c"])]
    #[case("ขขขขขข x", 4, &["ขขขข", "ขข", "x"])]
    fn too_long_words_are_divided(#[case] text: &str, #[case] max: usize, #[case] expected: &[&str]) {
        let mut found = Vec::new();
        let end = each_word(text, max, |word| found.push(&text[word.start..word.end]));
        assert_eq!(found, expected);
        assert_eq!(end as usize, expected.len());
    }
}
