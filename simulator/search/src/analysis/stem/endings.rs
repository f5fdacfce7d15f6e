//! Rules that remove or replace the endings of words.
//!
//! All lengths are in characters.

/// An ending, the length that the word must exceed, and the replacement of the ending.
pub(super) type Rule = (&'static str, usize, &'static str);

/// The length that the word must exceed, and endings that are separated by spaces.
pub(super) type Endings = (usize, &'static str);

pub(super) fn length(word: &str) -> usize {
    word.chars().count()
}

/// Applies the first rule that matches. Returns whether one did.
pub(super) fn replace(word: &mut String, rules: &[Rule]) -> bool {
    let length = length(word);
    let rule = rules
        .iter()
        .find(|(ending, longer_than, _)| length > *longer_than && word.ends_with(ending));
    if let Some((ending, _, replacement)) = rule {
        word.truncate(word.len() - ending.len());
        word.push_str(replacement);
    }
    rule.is_some()
}

/// Returns the first ending of the word.
pub(super) fn ending(word: &str, endings: &[Endings]) -> Option<&'static str> {
    let length = length(word);
    let long = endings.iter().filter(|(longer_than, _)| length > *longer_than);
    long.flat_map(|(_, endings)| endings.split(' '))
        .find(|ending| word.ends_with(ending))
}

/// Removes the first ending that the word has. Returns whether it has one.
pub(super) fn strip(word: &mut String, endings: &[Endings]) -> bool {
    let found = ending(word, endings);
    cut(word, found.map_or(0, str::len));
    found.is_some()
}

/// Removes this number of bytes from the end.
pub(super) fn cut(word: &mut String, bytes: usize) {
    word.truncate(word.len() - bytes);
}

/// Returns the character at this place from the end, from 0.
pub(super) fn nth_last(word: &str, place: usize) -> Option<char> {
    word.chars().rev().nth(place)
}

/// Removes the last letter if it is one of `letters` and the word is longer than `longer_than`.
pub(super) fn drop_last(word: &mut String, longer_than: usize, letters: &[char]) {
    if length(word) > longer_than && word.ends_with(letters) {
        word.pop();
    }
}

/// Removes the last letter if it equals the one before it.
pub(super) fn drop_double(word: &mut String) {
    let last = nth_last(word, 0).filter(|last| last.is_alphabetic());
    if last.is_some() && last == nth_last(word, 1) {
        word.pop();
    }
}

/// Returns a word with its characters replaced.
pub(super) fn mapped(word: &str, letter: impl Fn(char) -> char) -> String {
    word.chars().map(letter).collect()
}
