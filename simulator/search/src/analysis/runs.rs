//! Tokens that are runs of characters of some classes.
//!
//! Limits: Thai text is not divided into words; supplementary characters are classified as a whole.
//! Source: Lucene 4.10's `CharTokenizer`, `ThaiTokenizer` and `ChineseTokenizer`.

use std::sync::{Arc, OnceLock};

use regex::Regex;

use crate::java_pattern::JavaPattern;

use super::words::MAX_WORD_LENGTH;

/// Returns whether a character is a letter, but not a mark or a letter number.
pub(super) fn is_letter(c: char) -> bool {
    static LETTER: OnceLock<Option<Regex>> = OnceLock::new();
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    let letter = LETTER.get_or_init(|| Regex::new(r"^\p{L}").ok());
    c.is_alphabetic()
        && letter
            .as_ref()
            .is_some_and(|letter| letter.is_match(c.encode_utf8(&mut [0; 4])))
}

/// Returns the pattern of the words of the `thai` tokenizer, which joins words at hyphens and points.
pub(super) fn thai_words() -> Option<Arc<JavaPattern>> {
    let letter = r"[\p{L}\p{M}\x{200D}&&[^\p{IsThai}\p{IsHan}\p{IsHiragana}\p{IsKatakana}]]";
    let word =
        format!(r"(?:{letter}|\p{{Nd}})+(?:[-.'·]{letter}(?:{letter}|\p{{Nd}})*|[.,]\p{{Nd}}(?:{letter}|\p{{Nd}})*)*");
    let pattern = format!(r"{word}|\p{{IsThai}}+|\p{{IsHan}}+|\p{{IsHiragana}}+|[\p{{IsKatakana}}ー]+");
    JavaPattern::new(&pattern, 0).ok().map(Arc::new)
}

/// Returns the pattern of the words of the `chinese` analyzer, which are its group 1: single ideographs, and words of
/// several letters.
pub(super) fn chinese_words() -> Option<Arc<JavaPattern>> {
    const WORD: &str = r"[\p{Lu}\p{Ll}\p{Nd}]";
    let pattern = format!(r"\p{{Nd}}{WORD}*|(\p{{Lo}}|[\p{{Lu}}\p{{Ll}}]{WORD}+)");
    JavaPattern::new(&pattern, 0).ok().map(Arc::new)
}

/// Calls `emit` with the byte offsets and the position of each run of characters. A run has at most 255 UTF-16 units.
/// Returns the position after the last run.
pub(super) fn runs(text: &str, is_token_char: impl Fn(char) -> bool, emit: &mut impl FnMut(usize, usize, u32)) -> u32 {
    let mut position = 0;
    let mut emit = |start: usize, end: usize| {
        emit(start, end, position);
        position += 1;
    };
    let mut start = None;
    // Length of the run, in UTF-16 units.
    let mut length = 0;
    for (at, c) in text.char_indices() {
        if !is_token_char(c) {
            if let Some(from) = start.take() {
                emit(from, at);
            }
            continue;
        }
        if let Some(from) = start.filter(|_| length >= MAX_WORD_LENGTH) {
            emit(from, at);
            start = None;
        }
        if start.is_none() {
            (start, length) = (Some(at), 0);
        }
        length += c.len_utf16();
    }
    if let Some(from) = start {
        emit(from, text.len());
    }
    position
}
