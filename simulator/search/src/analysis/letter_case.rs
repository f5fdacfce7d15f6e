//! Lower and upper case.
//!
//! Source: Java's simple case mapping, one character to one.

/// Returns `text` in lower case; each character maps to one character.
pub(crate) fn lowercase(text: &str) -> String {
    let mut text = text.to_owned();
    lowercase_in_place(&mut text);
    text
}

/// Converts `text` to lower case; each character maps to one character.
pub(super) fn lowercase_in_place(text: &mut String) {
    if text.is_ascii() {
        text.make_ascii_lowercase();
    } else {
        *text = text
            .chars()
            .map(|c| if c == 'İ' { 'i' } else { single(c, c.to_lowercase()) })
            .collect();
    }
}

/// Returns `text` in upper case; each character maps to one character.
pub(super) fn uppercase(text: &str) -> String {
    text.chars().map(|c| single(c, c.to_uppercase())).collect()
}

/// Returns the case mapping of a character if it is a single character, else the character.
fn single(c: char, mut mapped: impl ExactSizeIterator<Item = char>) -> char {
    if mapped.len() == 1 {
        mapped.next().unwrap_or(c)
    } else {
        c
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("GRÖSSE Größe", "grösse größe")]
    #[case("МИР", "мир")]
    #[case("İstanbul", "istanbul")]
    #[case("ΟΔΟΣ", "οδοσ")]
    fn lower_case_maps_each_character_to_one(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(lowercase(text), expected);
    }
}
