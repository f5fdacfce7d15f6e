//! Placeholders of secrets: `redacted-N`, padded with `~` to the length of the secret. The same secret has the same
//! number in the whole cassette.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::ops::Range;

const PREFIX: &str = "redacted-";

/// Maximum length of a padded placeholder.
const MAX_LENGTH: usize = 64 << 10;

/// The placeholder with this number for a secret of this length in bytes. It is longer than a secret shorter than the
/// number.
pub(crate) fn placeholder(number: u64, length: usize) -> String {
    let mut text = format!("{PREFIX}{number}");
    let missing = length.min(MAX_LENGTH).saturating_sub(text.len());
    text.extend(std::iter::repeat_n('~', missing));
    text
}

/// The ranges of plain placeholders in a text.
pub(crate) fn placeholders(text: &str) -> Vec<Range<usize>> {
    text.match_indices(PREFIX)
        .filter_map(|(at, prefix)| {
            let rest = text.get(at + prefix.len()..)?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let filled = rest.bytes().skip(digits).take_while(|byte| *byte == b'~').count();
            (digits > 0).then(|| at..at + prefix.len() + digits + filled)
        })
        .collect()
}

/// Whether the whole text is a placeholder, plain or in base64 as in the data of a Secret.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let plain = |text: &str| matches!(placeholders(text).as_slice(), [range] if range.len() == text.len());
    let decoded = || {
        STANDARD
            .decode(text)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
    };
    plain(text) || (text.starts_with("cmVkYWN0ZWQt") && decoded().is_some_and(|text| plain(&text)))
}

/// Whether a plain placeholder can be that of a secret of this length.
pub(crate) fn is_of_length(placeholder: &str, length: usize) -> bool {
    match placeholder.len() {
        MAX_LENGTH => length >= MAX_LENGTH,
        kept if placeholder.ends_with('~') => length == kept,
        // The secret may have been shorter.
        kept => length <= kept,
    }
}

/// The number of a placeholder.
pub(crate) fn number(text: &str) -> Option<u64> {
    text.strip_prefix(PREFIX)?.trim_end_matches('~').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("redacted-12", true)]
    #[case("redacted-12~~~", true)]
    #[case("cmVkYWN0ZWQtMTI=", true)]
    #[case("redacted-", false)]
    #[case("redacted-12~x", false)]
    #[case("a redacted-12", false)]
    #[case("c2VjcmV0", false)]
    fn a_placeholder_is_known_by_its_form(#[case] text: &str, #[case] is: bool) {
        assert_eq!(is_placeholder(text), is);
    }

    #[test]
    fn placeholders_are_found_within_a_text() {
        let text = "user:redacted-1@host redacted-x redacted-22~~.";
        let found: Vec<&str> = placeholders(text)
            .into_iter()
            .filter_map(|range| text.get(range))
            .collect();
        assert_eq!(found, ["redacted-1", "redacted-22~~"]);
        assert_eq!(number("redacted-22~~"), Some(22));
    }

    #[test]
    fn a_placeholder_has_the_length_of_its_secret() {
        assert_eq!(placeholder(7, 14), "redacted-7~~~~");
        assert_eq!(placeholder(7, 3), "redacted-7");
    }

    #[rstest]
    #[case(14, 14, true)]
    #[case(14, 13, false)]
    #[case(14, 15, false)]
    #[case(3, 5, true)]
    #[case(3, 11, false)]
    #[case(MAX_LENGTH + 9, MAX_LENGTH + 1, true)]
    #[case(MAX_LENGTH + 9, MAX_LENGTH - 1, false)]
    fn a_placeholder_says_how_long_its_secret_was(#[case] length: usize, #[case] live: usize, #[case] is: bool) {
        assert_eq!(is_of_length(&placeholder(7, length), live), is);
    }
}
